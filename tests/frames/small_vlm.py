"""A vision-language model of a few kilobytes, in the folder layout of ONNX Runtime GenAI (gemma3).

It says one of two sentences, word after word. The picture decides which: the mean of its samples, against a
half. So what the model says proves that the picture was decoded and scaled, and that it reached the model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DARK: Final = ("Dark", " and", " blocky", ".")
BRIGHT: Final = ("Bright", " with", " ringing", ".")
_SPECIAL: Final = (
    *("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_image>", "<image_soft_token>", "<end_of_image>"),
    *("<start_of_turn>", "<end_of_turn>"),
)
_TEMPLATE: Final = (
    "{{ bos_token }}{%- for message in messages -%}{{ '<start_of_turn>' + message['role'] }}"
    "{%- for item in message['content'] -%}{%- if item['type'] == 'image' -%}{{ '<start_of_image>' }}"
    "{%- elif item['type'] == 'text' -%}{{ item['text'] }}{%- endif -%}{%- endfor -%}"
    "{{ '<end_of_turn>' }}{%- endfor -%}{{ '<start_of_turn>' }}"
)
_SIDE: Final = 16  # samples of the scaled picture of gemma3
_TOKENS: Final = 256  # that GenAI puts in for a picture of Gemma 3
_SURE: Final = 50.0


def write_small_vlm(
    folder: Path, dark: Sequence[str] = DARK, bright: Sequence[str] = BRIGHT, *, endless: bool = False
) -> Path:
    """Write the model that says these words; a word is followed by the same one in both sentences.

    `endless`: it repeats its last word for ever.
    """
    folder.mkdir(parents=True)
    names = list(dict.fromkeys([*_SPECIAL, *dark, *bright]))
    vocabulary = len(names)
    following = np.zeros((vocabulary + 2, vocabulary), np.float32)
    for row, words in enumerate((dark, bright), vocabulary):
        ids = [names.index(word) for word in words]
        assert len({*ids}) == len(ids)
        following[row, ids[0]] = 10 * _SURE
        for one, another in pairwise([*ids, ids[-1] if endless else names.index("<eos>")]):
            following[one, another] = _SURE
    _save(_vision(vocabulary), folder / "vision.onnx")
    _save(_embedding(vocabulary), folder / "embedding.onnx")
    _save(_decoder(following), folder / "decoder.onnx")
    for name, document in (
        ("genai_config", _config(vocabulary)),
        ("processor_config", _processor()),
        ("tokenizer", _tokenizer(names)),
        ("tokenizer_config", _TOKENIZER),
    ):
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


def _save(graph: onnx.GraphProto, path: Path) -> None:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def _info(name: str, kind: int, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))


def _vision(vocabulary: int) -> onnx.GraphProto:
    """pixel_values → image_features: of two extra columns, the one that the picture's mean chooses is 1."""
    hidden = vocabulary + 2
    dark, bright = np.eye(2, hidden, vocabulary, np.float32)[:, np.newaxis]
    nodes = [
        helper.make_node("ReduceMean", ["pixel_values"], ["mean"], keepdims=0),
        helper.make_node("Greater", ["mean", "zero"], ["is_bright"]),
        helper.make_node("Where", ["is_bright", "bright", "dark"], ["chosen"]),
        helper.make_node("Expand", ["chosen", "shape"], ["image_features"]),
    ]
    values = {"zero": np.float32(0), "dark": dark, "bright": bright, "shape": [_TOKENS, hidden]}
    inputs = [_info("pixel_values", TensorProto.FLOAT, ["images", 3, _SIDE, _SIDE])]
    outputs = [_info("image_features", TensorProto.FLOAT, ["tokens", hidden])]
    return helper.make_graph(nodes, "vision", inputs, outputs, _constants(values))


def _constants(values: dict[str, Any]) -> list[onnx.TensorProto]:
    return [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()]


def _embedding(vocabulary: int) -> onnx.GraphProto:
    """input_ids, image_features → inputs_embeds: a column for each token, and the picture's."""
    hidden = vocabulary + 2
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("ReduceSum", ["image_features", "rows"], ["seen"], keepdims=0),
        helper.make_node("Add", ["words", "seen"], ["inputs_embeds"]),
    ]
    inputs = [
        _info("input_ids", TensorProto.INT32, ["batch", "sequence"]),
        _info("image_features", TensorProto.FLOAT, ["tokens", hidden]),
    ]
    outputs = [_info("inputs_embeds", TensorProto.FLOAT, ["batch", "sequence", hidden])]
    values = {"table": np.eye(vocabulary, hidden, dtype=np.float32), "rows": np.array([0])}
    return helper.make_graph(nodes, "embedding", inputs, outputs, _constants(values))


def _decoder(following: np.ndarray) -> onnx.GraphProto:
    """inputs_embeds → logits by one matrix, with a cache of keys and values that nothing reads."""
    hidden, vocabulary = following.shape
    nodes = [
        helper.make_node("MatMul", ["inputs_embeds", "following"], ["logits"]),
        helper.make_node("Slice", ["inputs_embeds", "starts", "ends", "axis"], ["column"]),
        helper.make_node("Unsqueeze", ["column", "heads"], ["grown"]),
    ]
    inputs = [_info("inputs_embeds", TensorProto.FLOAT, ["batch", "sequence", hidden])]
    outputs = [_info("logits", TensorProto.FLOAT, ["batch", "sequence", vocabulary])]
    for kind in ("key", "value"):
        past, present = f"past_key_values.0.{kind}", f"present.0.{kind}"
        nodes.append(helper.make_node("Concat", [past, "grown"], [present], axis=2))
        inputs.append(_info(past, TensorProto.FLOAT, ["batch", 1, "past", 1]))
        outputs.append(_info(present, TensorProto.FLOAT, ["batch", 1, "total", 1]))
    values = {"following": following, "starts": [0], "ends": [1], "axis": [2], "heads": [1]}
    return helper.make_graph(nodes, "decoder", inputs, outputs, _constants(values))


def _config(vocabulary: int) -> dict[str, Any]:
    return {
        "model": {
            "type": "gemma3",
            "bos_token_id": 2,
            "eos_token_id": 1,
            "pad_token_id": 0,
            "vocab_size": vocabulary,
            "context_length": 4096,
            "decoder": {
                "filename": "decoder.onnx",
                "hidden_size": vocabulary + 2,
                **dict.fromkeys(("head_size", "num_attention_heads", "num_key_value_heads"), 1),
                "num_hidden_layers": 1,
                "session_options": {"provider_options": []},
                "inputs": {
                    "inputs_embeds": "inputs_embeds",
                    "past_key_names": "past_key_values.%d.key",
                    "past_value_names": "past_key_values.%d.value",
                },
                "outputs": {
                    "logits": "logits",
                    "present_key_names": "present.%d.key",
                    "present_value_names": "present.%d.value",
                },
            },
            "embedding": {
                "filename": "embedding.onnx",
                "inputs": {"input_ids": "input_ids", "image_features": "image_features"},
                "outputs": {"inputs_embeds": "inputs_embeds"},
            },
            "vision": {
                "filename": "vision.onnx",
                "config_filename": "processor_config.json",
                "inputs": {"pixel_values": "pixel_values", "image_sizes": "image_sizes"},
                "outputs": {"image_features": "image_features"},
            },
        },
        "search": {
            "do_sample": False,
            "max_length": 4096,
            "num_beams": 1,
            "past_present_share_buffer": False,
        },
    }


def _processor() -> dict[str, Any]:
    steps: list[tuple[str, dict[str, Any]]] = [
        ("DecodeImage", {"color_space": "RGB"}),
        ("Resize", {"interpolation": "CUBIC", "width": _SIDE, "height": _SIDE, "keep_aspect_ratio": 0}),
        ("Rescale", {}),
        ("Normalize", {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}),
        ("Permute3D", {"dims": [2, 0, 1]}),
    ]
    transforms = [
        {"operation": {"name": kind.lower(), "type": kind, **({"attrs": attrs} if attrs else {})}}
        for kind, attrs in steps
    ]
    return {"processor": {"name": "small_image_processing", "transforms": transforms}}


def _tokenizer(names: list[str]) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    unused = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    vocabulary = {name: id for id, name in enumerate(names)}
    unknown = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": False}
    return {
        "version": "1.0",
        **dict.fromkeys(unused),
        "added_tokens": [
            {"id": vocabulary[name], "content": name, **plain, "special": True} for name in _SPECIAL
        ],
        "model": {**unknown, "type": "BPE", "vocab": vocabulary, "merges": []},
    }


_TOKENIZER: Final = {
    **{f"{name}_token": f"<{name}>" for name in ("bos", "eos", "pad", "unk")},
    "model_max_length": 4096,
    "tokenizer_class": "GemmaTokenizer",
    "chat_template": _TEMPLATE,
}

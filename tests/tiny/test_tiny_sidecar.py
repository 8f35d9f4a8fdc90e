"""Sidecars: both spellings, and one sentence with the place for everything that is wrong."""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import ModelError, NameClashError
from acuity.models.document import Section
from acuity.tiny.describe import describe_tiny
from acuity.tiny.feature_input import VOCABULARIES, make_block
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import TinyOptions
from acuity.tiny.picture_input import resize
from acuity.tiny.sidecar import Sidecar, parse_sidecar, read_sidecar, sidecar_path
from acuity.video.picture import Picture, PixelFormat
from tiny_clip_models import measured
from tiny_graphs import ConvNet, Regressor, save

FULL: dict[str, Any] = {
    "id": "net",
    "kind": "fr",
    "opset": 17,
    "sha256": "AB" * 32,
    "input_names": ["features", "codec"],
    "output_names": ["score"],
    "features": ["adm2", "motion2"],
    "feature_mean": [0.5, 3],
    "feature_std": [0.1, 2],
    "norm_mean": 0.5,
    "norm_std": [0.2, 0.2, 0.2],
    "codec_aware": True,
    "encoder_vocab": ["libx264", "unknown"],
    "license": "MIT",
    "training": {"anything": [1, 2]},
    "notes": "made for a test",
}
OTHER_SPELLING = {
    "id": "name",
    "opset": "onnx_opset",
    "input_names": "input_name",
    "output_names": "output_name",
    "features": "feature_order",
    "feature_mean": "input_mean",
    "feature_std": "input_std",
}


def parsed(document: dict[str, Any]) -> Sidecar:
    return parse_sidecar(Section("net.json", "", document))


def test_everything_that_is_said() -> None:
    found = parsed(FULL)
    assert found.name == "net"
    assert found.sha256 == "ab" * 32
    assert found.features == ("adm2", "motion2")
    assert (found.feature_mean, found.feature_std) == ((0.5, 3), (0.1, 2))
    assert (found.norm_mean, found.norm_std) == ((0.5,), (0.2, 0.2, 0.2))
    assert (found.inputs, found.outputs) == (("features", "codec"), ("score",))
    assert (found.codec_aware, found.vocabulary) == (True, ("libx264", "unknown"))
    assert found.facts == {"license": "MIT", "notes": "made for a test"}


def test_the_other_spelling_is_the_same() -> None:
    assert parsed({OTHER_SPELLING.get(key, key): value for key, value in FULL.items()}) == parsed(FULL)
    both = {**FULL, "input_mean": FULL["feature_mean"], "input_std": FULL["feature_std"]}
    assert parsed(both) == parsed(FULL)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"feature_std": [0, 1]}, "bad key 'feature_std': a standard deviation must be greater than 0"),
        ({"norm_std": -1}, "bad key 'norm_std': a standard deviation"),
        ({"feature_mean": None}, "bad key 'feature_std': it comes without 'feature_mean'"),
        ({"norm_std": None}, "bad key 'norm_mean': it comes without 'norm_std'"),
        ({"feature_mean": [1, 2, 3]}, "bad key 'feature_mean': it must hold 2 numbers"),
        ({"feature_mean": [1, "2"]}, "bad key 'feature_mean': it must be a number, not a string"),
        ({"features": ["adm2", 3]}, "bad key 'features': it must hold strings, not a number"),
        ({"features": ["adm2", "adm2"]}, "bad key 'features': it holds 'adm2' twice"),
        ({"features": []}, "bad key 'features': it must hold 1 to"),
        (
            {"feature_order": ["motion2", "adm2"]},
            "'feature_order': it says something else than 'features'",
        ),
        ({"id": 7}, "bad key 'id': it must be a string, not a number"),
        ({"sha256": "abc"}, "bad key 'sha256': 'abc' is no SHA-256"),
        ({"opset": 1.5}, "bad key 'opset': 1.5 should be a whole number from 1 on"),
        ({"min_width": 0}, "bad key 'min_width': 0 should be a whole number from 1 on"),
        ({"min_height": "32"}, "bad key 'min_height': it must be a number, not a string"),
        ({"codec_aware": 1}, "bad key 'codec_aware': it must be true or false, not a number"),
        ({"encoder_vocab": {"libx264": 0}}, "bad key 'encoder_vocab': it must be a list, not an object"),
    ],
)
def test_wrong_values(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError) as caught:
        parsed({**FULL, **change})
    assert words in str(caught.value)
    assert "'net.json'" in str(caught.value)


def test_files(tmp_path: Path) -> None:
    assert read_sidecar(tmp_path / "net.onnx") == Sidecar()
    assert sidecar_path(tmp_path / "net.v2.onnx") == tmp_path / "net.v2.json"
    (tmp_path / "net.json").write_text(json.dumps(FULL))
    assert read_sidecar(tmp_path / "net.onnx").name == "net"
    for text, words in (
        ("[1]", "must hold a JSON object"),
        ("{", "is not valid JSON"),
        ('{"a":1,"a":2}', "twice"),
    ):
        (tmp_path / "net.json").write_text(text)
        with pytest.raises(ModelError, match=words):
            read_sidecar(tmp_path / "net.onnx")


@pytest.mark.parametrize("name", ["net.int8", "net_quantized", "net-FP16", "link"])
def test_the_sidecar_of_another_file_is_neither_read_nor_forgotten(tmp_path: Path, name: str) -> None:
    """A quantised copy, or a link, has the normalisation of the whole model, which its name alone hides."""
    scaled = {"feature_mean": [0.5] * 6, "feature_std": [2] * 6}
    whole = save(Regressor().model(), tmp_path / "net.onnx", scaled)
    copy, own = tmp_path / f"{name}.onnx", tmp_path / f"{name}.json"
    if name == "link":
        copy.symlink_to(whole)
    else:
        copy.write_bytes(whole.read_bytes())
    theirs = f"'{tmp_path / 'net.json'}' is that of 'net.onnx'"
    said = f"'{copy}' has no sidecar of its own, and {theirs}: copy it to"
    with pytest.raises(ModelError, match=re.escape(said)):
        load_tiny_model(copy)
    assert said in str(describe_tiny(copy).problem)
    own.write_bytes((tmp_path / "net.json").read_bytes())
    features = np.full((1, 6), 0.3, np.float32)
    scores = [model.outputs(features)[model.name] for model in map(load_tiny_model, (whole, copy))]
    assert scores[0] == scores[1]
    own.write_text("{}")  # it says that nothing is normalised
    assert load_tiny_model(copy).outputs(features)[name] != scores[0]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(sorted({*FULL, *OTHER_SPELLING.values()}))


@given(st.dictionaries(KEYS | st.text(max_size=6), JSON, max_size=6), st.booleans())
def test_any_document_parses_or_is_one_sentence(changes: dict[str, Any], whole: bool) -> None:
    try:
        found = parsed({**FULL, **changes} if whole else changes)
    except ModelError as error:
        text = str(error)
        assert text.startswith("the model file 'net.json' has a bad key '")
        return
    assert all(math.isfinite(n) and n > 0 for n in (*found.feature_std, *found.norm_std))
    assert len(found.feature_mean) in (0, len(found.feature_std))
    assert len(set(found.features)) == len(found.features)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("off by 9 points", "off by 9 points"),
        (" a\nb\x1b[31m ", "a\\nb\\x1b[31m"),  # anybody's text: no line ends, no colours
        ("", None),
        ({"low": 0}, None),  # somebody else's meaning of the key
    ],
)
def test_limits_are_one_line(said: object, kept: str | None) -> None:
    assert parsed({**FULL, "limits": said}).limits == kept
    assert len(parsed({**FULL, "limits": "word " * 10_000}).limits or "") < 310


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("features_mean", [1, 2], "feature_mean"),
        ("feature_stds", [1, 2], "feature_std"),
        ("featureMean", [1, 2], "feature_mean"),
        ("norm-mean", 0.5, "norm_mean"),
        ("feature", ["adm2"], "features"),
        ("input_stdd", [1], "input_std"),
    ],
)
def test_keys_that_are_nearly_known(key: str, value: Any, right: str) -> None:
    with pytest.raises(ModelError, match=f"has a bad key '{key}': it is not known, and '{right}' is"):
        parsed({key: value})


def test_other_keys_are_ignored() -> None:
    parsed({"feature_set": "vmaf6", "target_mean": 3.0, "inputs": ["a"], "normalized": True, "mean": [1]})
    parsed({"features": ["adm2"], "feature_names": ["ADM"], "input_shape": [1, 6]})


def test_keys_that_a_model_would_not_look_at(tmp_path: Path) -> None:
    numbers = {"norm_mean": [0.5], "norm_std": [0.5]}
    with pytest.raises(ModelError, match="it has 'norm_mean', and the model reads features"):
        load_tiny_model(save(Regressor().model(), tmp_path / "f.onnx", numbers))
    numbers = {"input_mean": [0.5], "input_std": [0.5]}
    with pytest.raises(ModelError, match="it has 'feature_mean', and the model reads pictures"):
        load_tiny_model(save(ConvNet().model(), tmp_path / "p.onnx", numbers))


def test_reports_tell_sidecars_apart(tmp_path: Path) -> None:
    mean, std = [0.5] * 6, [0.25] * 6
    path = save(Regressor().model(), tmp_path / "f.onnx", {"feature_mean": mean, "feature_std": std})
    sidecar = path.with_suffix(".json")
    block = load_tiny_model(path).describe()
    sha256 = hashlib.sha256(sidecar.read_bytes()).hexdigest()
    assert block["sidecar"] == {"path": str(sidecar), "sha256": sha256}
    assert block["normalisation"] == {"features": {"mean": mean, "std": std}}
    json.dumps(block)
    sidecar.unlink()
    block = load_tiny_model(path).describe()
    assert "sidecar" not in block
    assert block["normalisation"]["features"]["std"] == [1.0] * 6


def test_names_that_clash_are_changed_in_the_sidecar(tmp_path: Path) -> None:
    path = save(Regressor().model(), tmp_path / "f.onnx", {"id": "vmaf"})
    with pytest.raises(NameClashError, match="tell them apart by changing 'id' in the sidecar of"):
        measured(["vmaf_v0.6.1", load_tiny_model(path)], [])


def values(size: int, codec: str, preset: str | None = None, crf: int = 0) -> list[float]:
    found = make_block("net", size, None, TinyOptions(codec=codec, preset=preset, crf=crf))
    return [float(value) for value in found.values]


@pytest.mark.parametrize("size", VOCABULARIES)
def test_every_encoder_has_its_place(size: int) -> None:
    for place, encoder in enumerate(VOCABULARIES[size]):
        found = values(size, encoder, crf=63)
        assert len(found) == size
        assert found[:-2] == [float(index == place) for index in range(size - 2)]
        assert found[-2:] == [pytest.approx(5 / 9), 1.0]


@pytest.mark.parametrize(
    ("codec", "preset", "ordinal"),
    [
        ("libx264", "ultrafast", 0),
        ("libx265", "placebo", 9),
        ("h264_qsv", "veryfast", 2),
        ("libsvtav1", "6", 6),
        ("av1", "13", 9),
        ("h264_nvenc", "p1", 0),
        ("av1_nvenc", "p7", 9),
        ("vvc", "faster", 1),
        ("vp9", "realtime", 0),
        ("libx264", "unknown", 5),
        ("libx264", None, 5),
        (" X264 ", "SLOW", 6),
    ],
)
def test_presets(codec: str, preset: str | None, ordinal: int) -> None:
    assert values(14, codec, preset)[-2] == pytest.approx(ordinal / 9)


def test_encoders_without_a_place() -> None:
    assert values(14, "libaom-av1")[11] == 1  # the place of unknown ones
    with pytest.raises(ModelError, match=r"'vp9' is no encoder that the model 'net' knows: .*libx264, "):
        values(18, "vp9")
    with pytest.raises(ModelError, match="tiny_codec='libx246' is no encoder"):
        values(14, "libx246")


def test_presets_that_are_none() -> None:
    with pytest.raises(ModelError, match=r"tiny_preset='p4' is no preset of libx264: .*ultrafast, "):
        values(14, "libx264", "p4")
    with pytest.raises(ModelError, match="knows no presets of h264_amf: leave it out"):
        values(18, "h264_amf", "quality")


def test_vocabularies_of_a_sidecar() -> None:
    options = TinyOptions(codec="two", crf=0)
    assert make_block("net", 5, ("one", "two", "three"), options).values[:3].tolist() == [0, 1, 0]
    with pytest.raises(ModelError, match="its encoder_vocab of 3 encoders makes 5"):
        make_block("net", 6, ("one", "two", "three"), options)
    with pytest.raises(ModelError, match="codec input of 9 values, and only layouts of 14 and 18 are known"):
        make_block("net", 9, None, options)


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ("bilinear", [0.0, 0.25, 0.75, 1.0]),
        ("nearest", [0.0, 0.0, 1.0, 1.0]),
        ("bicubic", [-9 / 128, 26 / 128, 102 / 128, 137 / 128]),  # Catmull-Rom
    ],
)
def test_resizing(filter: str, expected: list[float]) -> None:
    row = np.array([[[0, 1]], [[0, 2]]], np.float32)
    found = resize(row, 1, 4, filter)
    assert found[0, 0] == pytest.approx(expected)
    assert found[1, 0] == pytest.approx([2 * value for value in expected])


@pytest.mark.parametrize("filter", ["bilinear", "nearest", "bicubic"])
def test_a_model_of_a_fixed_size(tmp_path: Path, filter: str) -> None:
    net = ConvNet()
    path = save(net.model(size=(20, 30)), tmp_path / "net.onnx", {"norm_mean": 0.5, "norm_std": 0.25})
    luma = np.random.default_rng(1).integers(0, 1024, (36, 64)).astype(np.uint16)
    picture = Picture((luma,), PixelFormat("400", 10))
    (found,) = load_tiny_model(path, TinyOptions(resize=filter)).score_pictures(picture)
    planes = resize((luma[np.newaxis] / 1023).astype(np.float32), 20, 30, filter)
    assert found == pytest.approx(net.numpy((planes - 0.5) / 0.25), rel=1e-5)


@pytest.mark.parametrize(
    "text", ['{"norm_mean": NaN}', '{"feature_mean": [1e999]}', '{"x": {"y": Infinity}}']
)
def test_numbers_that_are_not_finite(tmp_path: Path, text: str) -> None:
    (tmp_path / "net.json").write_text(text)
    with pytest.raises(ModelError, match="has a number that is not finite in key"):
        read_sidecar(tmp_path / "net.onnx")

"""docs/tiny.md: its tables name what the code has, and its example's sidecar fits the graph it describes."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from acuity.tiny.graph_checks import MAX_BODY, MAX_BYTES, MAX_DEPTH, MAX_TRIPS
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import DEVICES, RESIZES, TinyOptions
from acuity.video.picture import Picture, PixelFormat
from tiny_graphs import constant, graph, save, value

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tiny.md").read_text()
FENCED = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def test_the_python_parses() -> None:
    blocks = FENCED.findall(PAGE)
    assert len(blocks) == 3
    for block in blocks:
        ast.parse(block)


def test_every_option_is_explained() -> None:
    listed = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE.partition("## What a model may read")[0], re.M)
    names = {name for entry in listed for name in re.findall(r"`(\w+)`", entry)}
    spelled = {"verify": "tiny_model_verify"}
    assert {spelled.get(name, f"tiny_{name}") for name in TinyOptions.__dataclass_fields__} <= names
    for word in RESIZES:
        assert f"`{word}`" in PAGE
    for word in DEVICES:
        assert f"`{word}`" in PAGE or f"`-{word.partition('-')[2]}`" in PAGE


def test_the_limits_are_those_of_the_code() -> None:
    for text in (
        f"{MAX_BYTES // 10**6} MB",
        f"at most {MAX_TRIPS} rounds",
        f"than {MAX_BODY} nodes",
        f"than {MAX_DEPTH} deep",
    ):
        assert text in PAGE


def example_sidecar() -> dict[str, Any]:
    tree = ast.parse(next(block for block in FENCED.findall(PAGE) if "torch.onnx.export" in block))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    dump = next(call for call in calls if ast.unparse(call.func) == "json.dump")
    found: dict[str, Any] = ast.literal_eval(dump.args[0])
    return found


def test_the_examples_sidecar_fits_what_it_exports(tmp_path: Path) -> None:
    """The same network in ONNX's operators, because PyTorch isn't installed for tests."""
    random = np.random.default_rng(4)
    k1, k2 = random.normal(size=(16, 1, 3, 3)), random.normal(size=(16, 16, 3, 3)) / 12
    nodes = [
        helper.make_node("Conv", ["luma", "k1"], ["c1"], strides=[2, 2]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "k2"], ["c2"], strides=[2, 2]),
        helper.make_node("Relu", ["c2"], ["r2"]),
        helper.make_node("ReduceMean", ["r2"], ["m"], axes=[2, 3], keepdims=0),
        helper.make_node("Gemm", ["m", "w", "b"], ["score"], transB=1),
    ]
    constants = [
        constant("k1", k1),
        constant("k2", k2),
        constant("w", np.ones((1, 16))),
        constant("b", [3.0]),
    ]
    exported = graph(nodes, [value("luma", ["N", 1, "H", "W"])], [value("score", ["N", 1])], constants)
    model = load_tiny_model(
        save(exported, tmp_path / "quality.onnx", json.loads(json.dumps(example_sidecar())))
    )
    assert (model.name, model.kind, model.no_reference) == ("quality", "nr", True)
    luma = random.integers(0, 256, (270, 480)).astype(np.uint8)
    (found,) = model.score_pictures(Picture((luma,), PixelFormat("400", 8)))

    def conv(planes: np.ndarray[Any, Any], kernels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        windows = np.lib.stride_tricks.sliding_window_view(planes, (3, 3), axis=(1, 2))[:, ::2, ::2]
        return np.maximum(np.einsum("cyxij,kcij->kyx", windows, kernels, optimize=True), 0)

    planes = (luma[None] / 255 - 0.45) / 0.25
    expected = conv(conv(planes, k1), k2).mean(axis=(1, 2)).sum() + 3
    assert found == pytest.approx(expected, rel=1e-4)

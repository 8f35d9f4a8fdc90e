"""docs/tiny.md: its tables name what the code has, and its example's sidecar fits the graph it describes."""

from __future__ import annotations

import ast
import importlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.tiny.feature_input import ALIASES, PRESETS, USUAL, VOCABULARIES
from acuity.tiny.files import MAX_BYTES
from acuity.tiny.graph_checks import MAX_BODY, MAX_DEPTH, MAX_TRIPS
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import DEVICES, RESIZES, TinyOptions
from acuity.video.picture import Picture, PixelFormat
from tiny_graphs import ConvNet, Regressor, save

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tiny.md").read_text()
MEAN = [0.9, 0.4, 0.7, 0.8, 0.9, 4.0]
STD = [0.1, 0.2, 0.15, 0.1, 0.05, 3.0]
FENCED = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def test_the_python_parses() -> None:
    blocks = FENCED.findall(PAGE)
    assert len(blocks) == 4
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


def example_sidecars() -> list[dict[str, Any]]:
    """The sidecars of the examples, with numbers where they are computed."""
    found = []
    for block in FENCED.findall(PAGE):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "sidecar":
                text = ast.unparse(node.value)
                text = text.replace("FEATURES", repr(USUAL)).replace("mean.tolist()", repr(MEAN))
                found.append(ast.literal_eval(text.replace("std.tolist()", repr(STD))))
    return [json.loads(json.dumps(sidecar)) for sidecar in found]


def exported(index: int) -> tuple[list[str], list[str], dict[str, dict[int, str]]]:
    """Names of inputs and outputs and the open axes, as an example exports them."""
    calls = [
        {word.arg: word.value for word in node.keywords}
        for block in FENCED.findall(PAGE)
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.onnx.export"
    ]
    names = ("input_names", "output_names", "dynamic_axes")
    inputs, outputs, axes = (ast.literal_eval(calls[index][name]) for name in names)
    return inputs, outputs, axes


def test_the_example_of_features(tmp_path: Path) -> None:
    """The same network in ONNX's operators, because PyTorch isn't installed for tests."""
    net = Regressor(hidden=16)
    model = net.model()
    assert exported(0) == (["features"], ["score"], {"features": {0: "N"}, "score": {0: "N"}})
    tiny = load_tiny_model(save(model, tmp_path / "quality.onnx", example_sidecars()[0]))
    assert (tiny.name, tiny.kind) == ("quality", "fr")
    rows = np.random.default_rng(0).uniform(size=(3, 6))
    np.testing.assert_allclose(tiny.outputs(rows)["quality"], net.numpy((rows - MEAN) / STD), rtol=1e-5)


def test_the_example_of_pictures(tmp_path: Path) -> None:
    net = ConvNet()
    inputs, outputs, axes = exported(1)
    assert (outputs, axes[inputs[0]]) == (["score"], {0: "N", 2: "H", 3: "W"})
    tiny = load_tiny_model(save(net.model(inputs), tmp_path / "look.onnx", example_sidecars()[1]))
    assert (tiny.name, tiny.kind, tiny.no_reference) == ("look", "nr", True)
    luma = np.random.default_rng(0).integers(0, 256, (270, 480)).astype(np.uint8)
    (found,) = tiny.score_pictures(Picture((luma,), PixelFormat("400", 8)))
    assert found == pytest.approx(net.numpy((luma[None] / 255 - 0.45) / 0.25), rel=1e-4)


def test_what_the_examples_import_exists() -> None:
    for block in FENCED.findall(PAGE):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("acuity"):
                module = importlib.import_module(str(node.module))
                assert all(hasattr(module, name.name) for name in node.names)


def test_the_codec_block_is_that_of_the_code() -> None:
    section = PAGE.partition("## The codec block")[2].partition("\n## ")[0]
    rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")] for line in section.splitlines() if line
    ]
    for column, encoders in enumerate(VOCABULARIES.values(), 1):
        said = [row[column] for row in rows if len(row) == 3 and row[0].isdigit() and row[column]]
        assert said == [*encoders, "preset / 9", "crf / 63"]
    pairs = [line.strip("|").split("|") for line in section.splitlines() if line.count("|") == 3]
    listed = [(re.findall(r"`([^`]+)`", left), right) for left, right in pairs]
    aliases = {
        name: whose[0]
        for whose, right in listed
        for name in re.findall(r"`([^`]+)`(?! \d)", right)
        if len(whose) == 1 and whose[0] in ALIASES.values() and not re.search(r"` \d", right)
    }
    assert aliases == ALIASES
    presets = {
        encoder: {name: int(ordinal) for name, ordinal in found}
        for whose, right in listed
        if (found := re.findall(r"`([^`]+)` (\d)", right))
        for encoder in whose
    }
    assert presets == PRESETS

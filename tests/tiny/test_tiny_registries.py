"""Registries of model folders: what is wrong with one, and what can be used nevertheless."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from acuity.errors import ModelError
from acuity.tiny.evaluate.evaluation import evaluate
from acuity.tiny.files import OWN_FOLDER, find_tiny_model
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import TinyOptions
from rated_tables import columns, write
from tiny_graphs import Regressor, save


def test_a_broken_registry_does_not_block_names_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "registry.json").write_text("{")
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    assert find_tiny_model("acuity_fr_v1") == OWN_FOLDER / "acuity_fr_v1.onnx"
    with pytest.raises(ModelError, match=r"registry.json' is not valid JSON"):
        find_tiny_model("quality")


def test_the_kind_of_a_registry_counts(tmp_path: Path) -> None:
    path = save(Regressor().model(), tmp_path / "m.onnx")
    entry = {
        "id": "m",
        "kind": "nr",
        "onnx": "m.onnx",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    (tmp_path / "registry.json").write_text(json.dumps({"schema_version": 1, "models": [entry]}))
    words = "says kind 'nr' of 'm.onnx', and by what it reads it is 'fr'"
    with pytest.raises(ModelError, match=words):
        load_tiny_model(path)
    with pytest.raises(ModelError, match=words):
        evaluate(path, write(tmp_path / "t.parquet", columns(20)))


def test_a_preset_that_is_not_said_is_presumed(tmp_path: Path) -> None:
    path = save(Regressor(codec=14).model(), tmp_path / "m.onnx")
    said = {"codec": "x264", "crf": 23}
    assert load_tiny_model(path, TinyOptions(**said)).presumes_preset
    assert not load_tiny_model(path, TinyOptions(**said, preset="slow")).presumes_preset

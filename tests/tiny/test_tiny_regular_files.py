"""Files that tiny models read: registries, and that all are regular, because a pipe would block for ever."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from onnx import TensorProto

from acuity.errors import ModelError, PathError
from acuity.tiny.describe import describe_tiny, seems_usable
from acuity.tiny.evaluate.evaluation import evaluate
from acuity.tiny.files import OWN_FOLDER, find_tiny_model, read_registry
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import TinyOptions
from rated_tables import columns, write
from tiny_graphs import Regressor, save

SENTENCE = "is not a regular file: it is a pipe"


def test_model(tmp_path: Path) -> None:
    pipe = tmp_path / "m.onnx"
    os.mkfifo(pipe)
    with pytest.raises(PathError, match=SENTENCE):
        load_tiny_model(pipe)
    assert SENTENCE in str(describe_tiny(pipe).problem)
    assert not seems_usable(pipe)
    with pytest.raises(PathError, match=SENTENCE):
        evaluate(pipe, write(tmp_path / "t.parquet", columns(20)))


def test_device(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").symlink_to("/dev/zero")
    with pytest.raises(PathError, match="is not a regular file: it is a device"):
        load_tiny_model(tmp_path / "m.onnx")


def test_sidecar(tmp_path: Path) -> None:
    model = save(Regressor().model(), tmp_path / "m.onnx")
    os.mkfifo(tmp_path / "m.json")
    with pytest.raises(PathError, match=SENTENCE):
        load_tiny_model(model)


def test_registry(tmp_path: Path) -> None:
    model = save(Regressor().model(), tmp_path / "m.onnx")
    os.mkfifo(tmp_path / "registry.json")
    with pytest.raises(PathError, match=SENTENCE):
        load_tiny_model(model)
    with pytest.raises(PathError, match=SENTENCE):
        read_registry(tmp_path)


def test_weights(tmp_path: Path) -> None:
    network = Regressor().model()
    tensor = network.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    os.mkfifo(tmp_path / "w.bin")
    with pytest.raises(PathError, match=SENTENCE):
        load_tiny_model(save(network, tmp_path / "m.onnx"))


def test_table(tmp_path: Path) -> None:
    model = save(Regressor().model(), tmp_path / "m.onnx", json.loads("{}"))
    os.mkfifo(tmp_path / "t.parquet")
    with pytest.raises(PathError, match=SENTENCE):
        evaluate(model, tmp_path / "t.parquet")
    with pytest.raises(PathError, match="is not a regular file: it is a device"):
        evaluate(model, "/dev/zero")


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

"""Whatever tiny models read must be a regular file: a pipe would block for ever, a device may never end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from onnx import TensorProto

from acuity.errors import PathError
from acuity.tiny.describe import describe_tiny, seems_usable
from acuity.tiny.evaluate.evaluation import evaluate
from acuity.tiny.files import read_registry
from acuity.tiny.load import load_tiny_model
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

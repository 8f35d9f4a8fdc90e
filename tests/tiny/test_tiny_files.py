"""Files that tiny models read: registries, weights in other files, and that all are regular files."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from acuity.errors import ModelError, PathError
from acuity.models.files import list_model_files
from acuity.models.sources import model_files
from acuity.tiny.describe import describe_tiny, seems_usable
from acuity.tiny.evaluate.evaluation import evaluate
from acuity.tiny.files import OWN_FOLDER, find_tiny_model, shipped_models, take_in
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import TinyOptions
from rated_tables import columns, write
from tiny_graphs import ConvNet, Regressor, save


@pytest.mark.parametrize("name", ["m.onnx", "m.json", "registry.json", "w.bin", "t.parquet"])
def test_pipes_are_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    network = Regressor().model()
    if name == "w.bin":
        tensor = network.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=name)
    model, table = save(network, tmp_path / "m.onnx"), write(tmp_path / "t.parquet", columns(20))
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(PathError, match="is not a regular file: it is a pipe"):
        evaluate(model, table)
    if name != "t.parquet":
        with pytest.raises(PathError, match="is not a regular file: it is a pipe"):
            load_tiny_model(model)
    if name == "m.onnx":
        assert "it is a pipe" in str(describe_tiny(model).problem)
        assert not seems_usable(model)


def test_devices_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").symlink_to("/dev/zero")
    with pytest.raises(PathError, match="is not a regular file: it is a device"):
        load_tiny_model(tmp_path / "m.onnx")


def test_a_broken_registry_does_not_block_other_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "registry.json").write_text("{")
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    assert find_tiny_model("acuity_fr_v1") == OWN_FOLDER / "acuity_fr_v1.onnx"
    with pytest.raises(ModelError, match=r"registry.json' is not valid JSON"):
        find_tiny_model("quality")


def test_the_kind_of_a_registry_counts(tmp_path: Path) -> None:
    path = save(Regressor().model(), tmp_path / "m.onnx")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    entry = {"id": "m", "kind": "nr", "onnx": "m.onnx", "sha256": sha256}
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


def test_registries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(ConvNet().model(), tmp_path / "net.onnx")
    entry = {"id": "mine", "kind": "nr", "onnx": "net.onnx", "opset": 17, "license": "MIT"}
    entry["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    registry = tmp_path / "registry.json"

    def write(**changes: Any) -> None:
        registry.write_text(json.dumps({"schema_version": 1, "models": [{**entry, **changes}]}))

    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    write()
    assert find_tiny_model("mine") == path
    mine = next(file for file in shipped_models() if file.name == "mine")
    assert (mine.kind, mine.size, mine.license, mine.opset) == ("nr", path.stat().st_size, "MIT", 17)
    model = load_tiny_model("mine")
    assert (model.name, model.label, model.path) == ("net", "mine", path)
    write(sha256="1" * 64)
    with pytest.raises(ModelError, match=r"registry.json' says 1111"):
        load_tiny_model(path)
    for changes, words in (
        ({"sha256": "abc"}, r"bad key 'models\[0\].sha256': 'abc' is no SHA-256"),
        ({"onnx": "../net.onnx"}, "is no name of a file beside the registry"),
        ({"id": 3}, "it must be a string, not a number"),
    ):
        write(**changes)
        with pytest.raises(ModelError, match=words):
            shipped_models()
    registry.write_text('{"schema_version": 2, "models": []}')
    with pytest.raises(ModelError, match="2 is not known here, only 1"):
        shipped_models()
    registry.unlink()
    with pytest.raises(ModelError, match="there is no tiny model named 'mine'"):
        find_tiny_model("mine")


def test_sidecars_and_registries_are_no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(ConvNet().model(), tmp_path / "net.onnx", {"id": "net"})
    (tmp_path / "registry.json").write_text('{"schema_version": 1, "models": []}')
    (tmp_path / "mine.json").write_text("{}")
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    assert {"net", "registry", "mine"} & set(model_files()) == {"mine"}
    inside = {file.path.name for file in list_model_files().files if file.path.parent == tmp_path}
    assert inside == {"net.onnx", "mine.json"}


# ---- weights in other files


def external(folder: Path) -> Path:
    how = {"save_as_external_data": True, "location": "net.onnx.data", "size_threshold": 0}
    onnx.save(Regressor(hidden=400).model(), folder / "net.onnx", **how)
    return folder / "net.onnx"


def test_weights_in_a_file_beside_the_model(tmp_path: Path) -> None:
    path = external(tmp_path)
    model = load_tiny_model(path)
    rows = np.random.default_rng(0).uniform(size=(5, 6))
    np.testing.assert_allclose(model.outputs(rows)["net"], Regressor(hidden=400).numpy(rows), rtol=1e-5)
    (entry,) = model.describe()["external_data"].items()
    assert entry[0] == "net.onnx.data"
    assert len(entry[1]) == 64


def moved(path: Path, location: str, **others: str) -> None:
    model = ModelProto.FromString(path.read_bytes())
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            entry.value = {"location": location, **others}.get(entry.key, entry.value)
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("location", ["/etc/passwd", "../net.onnx.data", "sub/../../x", "a/b", "", "."])
def test_weights_elsewhere(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    path = external(folder)
    (tmp_path / "net.onnx.data").write_bytes((folder / "net.onnx.data").read_bytes())
    moved(path, location)
    with pytest.raises(ModelError, match=r"may only lie in its own folder|could not be read"):
        load_tiny_model(path)


def test_weights_behind_a_link_that_leads_out(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    path = external(folder)
    (folder / "net.onnx.data").rename(tmp_path / "outside.data")
    (folder / "net.onnx.data").symlink_to(tmp_path / "outside.data")
    with pytest.raises(ModelError, match=r"in 'net.onnx.data', and they may only lie in its own folder"):
        load_tiny_model(path)


def test_weights_that_are_missing_short_or_odd(tmp_path: Path) -> None:
    path = external(tmp_path)
    data = (tmp_path / "net.onnx.data").read_bytes()
    (tmp_path / "net.onnx.data").write_bytes(data[:100])
    with pytest.raises(ModelError, match="and that file has 100: it is truncated or of another model"):
        load_tiny_model(path)
    (tmp_path / "net.onnx.data").unlink()
    with pytest.raises(ModelError, match=r"'net.onnx.data', which could not be read: No such file"):
        load_tiny_model(path)
    moved(path, "net.onnx.data", offset="-5")
    with pytest.raises(ModelError, match="has weights with the offset '-5'"):
        load_tiny_model(path)


def test_one_file_used_many_times_counts_many_times(tmp_path: Path) -> None:
    (tmp_path / "w.data").write_bytes(bytes(1_000_000))
    tensors = []
    for index in range(60):
        tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[250_000])
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="w.data")
        tensors.append(tensor)
    with pytest.raises(ModelError, match="has more than 50 MB"):
        take_in(tmp_path / "m.onnx", 1000, tensors)

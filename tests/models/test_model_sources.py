"""Where models are found by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acuity.errors import ModelError
from acuity.models import find_model, load_model, sources
from acuity.models.describe import list_models

pytestmark = pytest.mark.usefixtures("registry")


def put(folder: Path, name: str, document: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


def test_package_models_load_under_their_names() -> None:
    infos = {info.name: info for info in list_models()}
    for name in ("vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1"):
        assert infos[name].problem is None
        assert infos[name].source == sources.PACKAGE_SOURCE
        assert find_model(name) == infos[name].path
    assert list(infos) == sorted(infos)


def test_a_model_of_unknown_features_loads_and_says_so() -> None:
    infos = {info.name: info for info in list_models()}
    info = infos["vmaf_v1.0.16_3d0h"]
    assert info.problem is None
    assert not info.usable
    assert "Cambi_feature_cambi_score" in info.unknown
    assert load_model("vmaf_v1.0.16_3d0h").unknown_features() == list(info.unknown)


def test_the_users_folders_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    mine = put(first, "vmaf_v0.6.1", document)
    put(second, "vmaf_v0.6.1", document)
    other = put(second, "other", document)
    folders = os.pathsep.join([str(first), str(tmp_path / "missing"), "", str(second)])
    monkeypatch.setenv(sources.FOLDERS_VARIABLE, folders)
    assert find_model("vmaf_v0.6.1") == mine
    assert find_model("other") == other
    info = next(info for info in list_models() if info.name == "other")
    assert (info.source, info.kind, info.usable) == (str(second), "LIBSVMNUSVR", True)


def test_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(ModelError) as caught:
        load_model("vmaf_v0.6.1nge")
    message = str(caught.value)
    assert "vmaf_v0.6.1neg" in message
    assert "acuity models" in message
    assert "\n" not in message


def test_a_name_is_not_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    put(tmp_path, "outside", document)
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv(sources.FOLDERS_VARIABLE, str(tmp_path / "folder"))
    with pytest.raises(ModelError, match="no model named"):
        load_model("version=../outside")


def test_a_folder_that_is_not_one_is_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sources.FOLDERS_VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(ModelError, match="missing', which is not a folder"):
        load_model("no_such_model")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv(sources.FOLDERS_VARIABLE, raising=False)
    assert list_models() == []
    with pytest.raises(ModelError, match=r"ffmpeg-quality-metrics.*not installed"):
        load_model("vmaf_v0.6.1")


def test_the_package_is_found_without_running_it() -> None:
    program = (
        "import sys; from acuity.models import find_model; find_model('vmaf_v0.6.1'); "
        "sys.exit('ffmpeg_quality_metrics' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

"""list_models and describe_model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from acuity.agents.tools import model_list, models
from acuity.features import EXTRACTORS
from acuity.models import find_model
from acuity.models.describe import intended_use
from scoring_room import Asked, put_model
from small_model import small_document


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model folder of the user's, empty."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(folder))
    return folder


def names(document: dict[str, Any]) -> list[str]:
    return [model["name"] for model in document["models"]]


def described(name: str, *roots: Path) -> dict[str, Any]:
    return Asked(models.tools, roots=roots).ask("describe_model", name=name)


def test_every_model_is_listed_in_one_shape() -> None:
    listed = Asked(models.tools).ask("list_models")["models"]
    path = find_model("vmaf_v0.6.1")
    file = {"path": str(path), "format": "json", "size_bytes": path.stat().st_size}
    usual = {"name": "vmaf_v0.6.1", "usable": True, "intended_use": intended_use("vmaf_v0.6.1"), **file}
    assert usual in listed
    shown = {m["name"]: m["intended_use"] for m in listed if m["format"] == "json"}
    assert not [name for name, use in shown.items() if use is not None and "…" in use]
    version_1 = [m["usable"] for m in listed if m["name"].startswith("vmaf_v1.0.16")]
    assert version_1 == [{"cambi", "speed_chroma"} <= set(EXTRACTORS)] * 8
    assert all(set(model) - {"made_from"} == set(usual) for model in listed)
    assert all(model["intended_use"] for model in listed if model["name"].startswith("acuity_"))


def test_a_way_of_watching_is_no_model() -> None:
    error = described("phone")["error"]
    assert error.startswith("model 'phone' not found; run list_models")
    assert "viewing=phone" in error


def test_folders_of_the_user_are_walked(shelf: Path) -> None:
    put_model(shelf / "mine.json")
    put_model(shelf / "tiny" / "net.onnx", "x")
    put_model(shelf / "old" / "forest.pkl", "x")
    put_model(shelf / ".hidden" / "no.json")
    put_model(shelf / "readme.txt", "x")
    put_model(shelf / "a" / "b" / "c" / "d" / "deep.json")
    listed = {m["name"]: m for m in Asked(models.tools).ask("list_models")["models"]}
    assert {"mine", "net", "forest", "vmaf_v0.6.1"} <= set(listed)
    assert not {"no", "readme", "deep"} & set(listed)
    assert (listed["net"]["format"], listed["net"]["usable"]) == ("onnx", False)
    assert listed["forest"]["format"] == "pkl"
    assert listed["mine"]["usable"] is True


def test_links_that_lead_out_of_the_model_folders_are_left_out(shelf: Path, tmp_path: Path) -> None:
    (shelf / "inside.json").symlink_to(put_model(shelf / "mine.json"))
    (shelf / "outside.json").symlink_to(put_model(tmp_path / "secret.json"))
    listed = names(Asked(models.tools).ask("list_models"))
    assert "inside" in listed
    assert "outside" not in listed
    assert "not found" in described("outside")["error"]


async def test_the_list_is_made_once_and_again_when_something_changed(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_list, "_THOROUGH", 0.0)
    reads: list[object] = []
    read = model_list._read
    monkeypatch.setattr(model_list, "_read", lambda more: reads.append(1) or read(more))  # type: ignore[func-returns-value]
    file = put_model(shelf / "mine.json")
    for path in (file, shelf):
        os.utime(path, (1e9, 1e9))  # long ago: what has only just changed is looked at again
    async with Asked(models.tools).playing() as ask:
        first = await ask("list_models")
        assert await ask("list_models") == first
        assert len(reads) == 1
        put_model(shelf / "other.json")  # a new file
        os.utime(shelf / "other.json", (1e9, 1e9))
        assert "other" in names(await ask("list_models"))
        os.utime(shelf, (1e9 + 1, 1e9 + 1))
        await ask("list_models")
        before = len(reads)
        file.write_text("{}")  # another content
        os.utime(file, (1e9, 1e9))
        changed = next(m for m in (await ask("list_models"))["models"] if m["name"] == "mine")
        assert (changed["size_bytes"], changed["usable"]) == (2, False)
        assert len(reads) == before + 1


async def test_files_that_come_and_go_are_noticed_at_once(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_list, "_THOROUGH", 1e9)
    os.utime(shelf, (1e9, 1e9))
    async with Asked(models.tools).playing() as ask:
        assert "mine" not in names(await ask("list_models"))
        file = put_model(shelf / "mine.json")
        for path in (file, shelf):
            os.utime(path, (1e9 + 1, 1e9 + 1))
        assert "mine" in names(await ask("list_models"))
        file.unlink()
        os.utime(shelf, (1e9 + 2, 1e9 + 2))
        assert "mine" not in names(await ask("list_models"))


async def test_what_changed_a_moment_ago_is_looked_at_again(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changes within one tick of the file system's clock look like one."""
    monkeypatch.setattr("acuity.models.files._TICK", 1e9)  # a moment, however slow the machine is
    async with Asked(models.tools).playing() as ask:
        put_model(shelf / "one.json")
        assert "one" in names(await ask("list_models"))
        stamp = shelf.stat().st_mtime_ns
        put_model(shelf / "two.json")
        os.utime(shelf, ns=(stamp, stamp))
        assert "two" in names(await ask("list_models"))


@pytest.mark.parametrize("name", ["vmaf_v0.6.1", "vmaf_v0.6.1.json"])
def test_a_model_by_stem_and_by_file_name(name: str) -> None:
    found = described(name)
    path = find_model("vmaf_v0.6.1")
    assert (found["name"], found["path"]) == ("vmaf_v0.6.1", str(path))
    assert (found["format"], found["size_bytes"]) == ("json", path.stat().st_size)
    assert found["model_type"] == "LIBSVMNUSVR"
    assert found["feature_names"][0] == "VMAF_integer_feature_adm2_score"
    assert len(found["feature_names"]) == 6
    assert (found["score_range"], found["norm_type"]) == ([0.0, 100.0], "linear_rescale")
    assert (found["usable"], found["problem"]) == (True, None)
    assert found["model_argument"] == "version=vmaf_v0.6.1"
    assert "1080p" in found["intended_use"]


def test_a_model_that_this_version_cannot_measure_says_why(shelf: Path) -> None:
    text = json.dumps(small_document()).replace("integer_feature_adm2", "feature_magic")
    put_model(shelf / "odd.json", text)
    found = described("odd")
    assert found["usable"] is False
    assert "VMAF_feature_magic_score" in found["problem"]
    assert found["model_argument"] is None


@pytest.mark.parametrize(
    ("name", "highest", "use"),
    [
        ("vmaf_v1.0.16_3d0h", 100.0, "1080p display seen from 3.0 times its height"),
        ("vmaf_v1.0.16_5d0h", 100.0, "phone"),
        ("vmaf_v1.0.16_hfr_3d0h_2160", 110.0, "4K display seen from 3.0 times its height, high frame rate"),
    ],
)
def test_the_models_of_version_1_are_described(name: str, highest: float, use: str) -> None:
    found = described(name)
    assert found["score_range"] == [0.0, highest]
    assert found["score_transform"] is True
    assert use in found["intended_use"]
    assert found["feature_names"][0] == "Cambi_feature_cambi_score"


@pytest.mark.parametrize(
    "name", ["foo", "vmaf_v0.6", "vmaf_v0.6.1.pkl", "VMAF_V0.6.1", "..", "version=vmaf_v0.6.1"]
)
def test_an_unknown_name(name: str) -> None:
    assert described(name) == {"error": f"model '{name}' not found; run list_models to see available models."}


def test_a_file_anywhere_under_a_root(tmp_path: Path) -> None:
    file = put_model(tmp_path / "own.v1.json")
    found = described(str(file), tmp_path)
    assert (found["name"], found["path"]) == ("own.v1", str(file))
    assert found["model_argument"] == f"path={file}"
    assert found["usable"] is True


def test_a_file_outside_the_roots_is_refused(tmp_path: Path) -> None:
    file = put_model(tmp_path / "own.json")
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "link.json").symlink_to(file)
    for path in (file, allowed / "link.json"):
        sentence = f"path {path} not under an allowlisted root; set VMAF_MCP_ALLOW to extend."
        assert described(str(path), allowed) == {"error": sentence}


@pytest.mark.parametrize(
    ("file_name", "text", "problem"),
    [
        ("broken.json", "{", "not valid JSON"),
        (
            "other.json",
            json.dumps({"model_dict": {"model_type": "RF", "feature_names": ["x"]}}),
            "'RF' is not supported",
        ),
        ("old.pkl", "x", "only JSON and ONNX models"),
        ("net.onnx", "x", "is no ONNX model, or it is truncated"),
    ],
)
def test_files_that_are_no_use_have_a_problem(
    tmp_path: Path, file_name: str, text: str, problem: str
) -> None:
    file = put_model(tmp_path / file_name, text)
    found = described(str(file), tmp_path)
    assert found["usable"] is False
    assert problem in found["problem"]
    assert "/proc/" not in found["problem"]
    kind = ("RF", ["x"]) if file_name == "other.json" else (None, None)
    assert (found["model_type"], found["feature_names"]) == kind


def test_a_huge_file_is_not_looked_into(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as stream:
        stream.truncate(9 << 20)
    assert "8 MiB" in described(str(file), tmp_path)["problem"]


def test_a_video_is_no_model(tmp_path: Path) -> None:
    file = str(put_model(tmp_path / "clip.yuv", "x"))
    sentence = f"'{file}' is no model file: its name must end in .json, .pkl, .onnx"
    assert described(file, tmp_path) == {"error": sentence}

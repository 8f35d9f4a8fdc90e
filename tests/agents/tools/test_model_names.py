"""Models by name: what scores is listed and described, and a name means one model in every tool."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import acuity
from acuity.agents.tools import models
from acuity.models import find_model, load_model
from scoring_clips import FORK_HELP, GEOMETRY, fake_vmaf, raw, runs_of
from scoring_room import Asked, ThreadJobs, ask_once, put_model

MADE = "vmaf_4k_v0.6.1neg"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server is started: clips, and nothing else yet."""
    made = tmp_path / "start"
    made.mkdir()
    raw(made / "ref.yuv", 2)
    raw(made / "dis.yuv", 2, worse=True)
    monkeypatch.chdir(made)
    return made


def score(folder: Path, model: str, binary: Path | None = None, jobs: Any = None) -> dict[str, Any]:
    given = {"ref": str(folder / "ref.yuv"), "dis": str(folder / "dis.yuv"), **GEOMETRY, "model": model}
    return ask_once(folder, "vmaf_score", binary=binary, jobs=jobs, **given)


def describe(name: str) -> dict[str, Any]:
    return Asked(models.tools).ask("describe_model", name=name)


def listed() -> dict[str, list[str]]:
    """Name and paths."""
    found: dict[str, list[str]] = defaultdict(list)
    for model in Asked(models.tools).ask("list_models")["models"]:
        found[model["name"]].append(model["path"])
    return found


def test_everything_that_the_command_can_name_is_listed_and_described() -> None:
    names = {model.name for model in acuity.list_models()}
    assert MADE in names
    assert names <= set(listed())
    for name in names:
        assert describe(name)["name"] == name


def test_a_model_made_from_anothers_file_is_described_as_it_scores(folder: Path) -> None:
    found = describe(MADE)
    assert (found["made_from"], found["usable"]) == (str(find_model("vmaf_4k_v0.6.1")), True)
    assert found["model_argument"] == f"version={MADE}"
    assert "without credit for sharpening" in found["intended_use"]
    options = {feature["name"]: feature["options"] for feature in found["features"]}
    assert "adm_enhn_gain_limit" in options["VMAF_integer_feature_adm2_score"]
    assert describe("vmaf_4k_v0.6.1.json")["name"] == "vmaf_4k_v0.6.1"  # the file is not the made model
    assert score(folder, found["model_argument"])["acuity"]["model"] == MADE
    put_model(folder / "model" / f"{MADE}.json")
    assert describe(MADE)["made_from"] == found["made_from"]


def test_models_in_the_folder_that_is_allowed_by_default(folder: Path) -> None:
    mine = put_model(folder / "model" / "mine.json")
    deep = put_model(folder / "model" / "other" / "deep.json")
    put_model(folder / "model" / "tiny" / "net.onnx", "x")
    found = listed()
    assert (found["mine"], found["deep"]) == ([str(mine)], [str(deep)])
    assert "net" in found
    for name in ("mine", "mine.json", "deep", "other/deep.json"):
        assert describe(name)["usable"] is True
    assert describe("mine")["model_argument"] == f"path={mine}"
    for model in ("version=mine", "mine", "mine.json", "version=deep", "model/mine.json"):
        assert "vmaf" in score(folder, model)["pooled_metrics"], model


def test_a_default_folder_does_not_change_what_a_built_in_name_means(folder: Path) -> None:
    """A folder with old copies of the usual models must not move anybody's scores."""
    copy = put_model(folder / "model" / "vmaf_v0.6.1.json")
    assert describe("vmaf_v0.6.1")["path"] == str(find_model("vmaf_v0.6.1"))
    jobs = ThreadJobs()
    assert "error" not in score(folder, "version=vmaf_v0.6.1", jobs=jobs)
    assert jobs.specs[0].payload["request"]["models"] == ["version=vmaf_v0.6.1"]
    assert str(copy) in listed()["vmaf_v0.6.1"]  # it can be had by its path
    by_path = Asked(models.tools, roots=[copy.parent]).ask("describe_model", name="model/vmaf_v0.6.1.json")
    assert by_path["path"] == str(copy)


@pytest.mark.parametrize("inside", [("a", "b"), (".", "sub")])
def test_two_files_of_one_name(folder: Path, inside: tuple[str, str]) -> None:
    first, second = (put_model(folder / "model" / place / "dup.json") for place in inside)
    first, second = sorted((first.resolve(), second.resolve()))
    sentence = (
        f"model name 'dup' is ambiguous; matched: {[str(first), str(second)]}. Pass an explicit path instead."
    )
    assert describe("dup") == {"error": sentence}
    for model in ("version=dup", "dup", "version=dup:name=mine"):
        assert score(folder, model) == {"error": sentence}
    assert score(folder, f"path={second}")["acuity"]["model"] == str(second)
    assert listed()["dup"] == [str(first), str(second)]


def test_two_folders_of_the_users(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = put_model(tmp_path / "one" / "dup.json"), put_model(tmp_path / "two" / "dup.json")
    monkeypatch.setenv("ACUITY_MODEL_PATH", f"{first.parent}:{second.parent}:{first.parent}")
    assert "is ambiguous" in describe("dup")["error"]
    assert "is ambiguous" in score(folder, "version=dup")["error"]
    assert listed()["dup"] == [str(first), str(second)]
    second.unlink()
    second.symlink_to(first)  # the same file is no other model
    assert describe("dup")["usable"] is True
    assert "vmaf" in score(folder, "version=dup")["pooled_metrics"]


def test_a_file_of_the_users_stands_for_a_built_in_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = put_model(tmp_path / "models" / "vmaf_v0.6.1.json")
    put_model(tmp_path / "models" / "old" / "vmaf_v0.6.1.json")
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(mine.parent))
    assert describe("vmaf_v0.6.1")["path"] == str(mine)
    expected = load_model(f"path={mine}").feature_keys()
    assert set(expected) <= set(score(folder, "version=vmaf_v0.6.1")["pooled_metrics"])


def test_the_json_file_is_meant_where_there_are_other_formats(folder: Path) -> None:
    mine = put_model(folder / "model" / "mine.json")
    put_model(folder / "model" / "mine.pkl", "x")
    assert describe("mine")["path"] == str(mine)
    assert describe("mine.pkl")["format"] == "pkl"
    assert "vmaf" in score(folder, "version=mine")["pooled_metrics"]


@pytest.mark.parametrize("model", ["vmaf_v0.6.1.json", "version=vmaf_v0.6.1.json", "path=vmaf_v0.6.1.json"])
def test_a_file_name_as_describe_model_takes_it(folder: Path, model: str) -> None:
    assert score(folder, model)["acuity"]["model"] == "vmaf_v0.6.1"
    assert score(folder, f"{model}:name=mine")["pooled_metrics"]["mine"]


@pytest.mark.parametrize(
    "model",
    ["version=net", "net", "net.onnx", "model/tiny/net.onnx", "path=model/tiny/net.onnx", "nowhere.onnx"],
)
def test_a_tiny_model_is_no_vmaf_model(folder: Path, model: str) -> None:
    put_model(folder / "model" / "tiny" / "net.onnx", "x")
    error = score(folder, model)["error"]
    assert error.endswith("is a tiny model (ONNX), not a VMAF model: pass it as tiny_model")


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("none.json", "no such file under the allowed folders: {}/none.json; list_models shows the models"),
        ("version=forest", "is a pickled model"),
        ("path={}/../net.onnx", "not under an allowlisted root"),  # and not looked at
    ],
)
def test_models_that_cannot_be_had(folder: Path, model: str, sentence: str) -> None:
    put_model(folder / "model" / "forest.pkl", "x")
    put_model(folder.parent / "net.onnx", "x")
    assert sentence.format(folder) in score(folder, model.format(folder))["error"]


def test_another_binary_is_handed_the_file_behind_a_name(folder: Path, tmp_path: Path) -> None:
    put_model(folder / "model" / "mine.json", '{"mine": true}')
    binary = fake_vmaf(
        tmp_path / "vmaf",
        help=FORK_HELP,
        scoring='report(spec=after("-m"), model=read(after("-m").split(":")[0][5:]).decode())',
    )
    found = score(folder, "version=mine:name=own", binary)
    assert found["model"] == '{"mine": true}'
    assert found["spec"].endswith(":name=own")
    plain = fake_vmaf(tmp_path / "plain", help=FORK_HELP, scoring="report()")
    for name in ("vmaf_v0.6.1", MADE):
        score(folder, f"version={name}", plain)
        argv = runs_of(plain)[-1]
        assert argv[argv.index("-m") + 1] == f"version={name}"  # it has its own

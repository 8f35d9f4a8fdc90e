"""run_search, run_compare, run_ladder and run_tune_per_shot on small encodes, asked by the SDK's client."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import acuity
from acuity.agents.tools.tuning import tools
from acuity.errors import TuneError
from longwire.product.catalog import Arguments
from scoring_room import ThreadJobs, ask_once, services_for
from tune_clips import write_y4m

FRAMES = 30
FAST = {"preset": "ultrafast"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tuning")
    write_y4m(made / "clip.y4m", FRAMES)
    return made


@pytest.fixture(autouse=True)
def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_CACHE", str(folder / "cache"))


def ask(folder: Path, name: str, **arguments: Any) -> dict[str, Any]:
    return ask_once(folder, name, family=tools, **arguments)


def test_a_search_and_its_file(folder: Path) -> None:
    source, output = str(folder / "clip.y4m"), str(folder / "found.mp4")
    found = ask(folder, "run_search", src=source, target_vmaf=85, output=output, **FAST)
    assert found["ok"]
    assert found["vmaf_score"] >= 85
    assert found["crf"] in [point["crf"] for point in found["points"]]
    score = pytest.approx(acuity.score(source, output).score, abs=1e-6)
    assert found["encode"]["vmaf_score"] == found["vmaf_score"] == score
    again = ask(folder, "run_search", src=source, target_vmaf=85, **FAST)
    assert again["encodes"] == 0
    assert (again["crf"], again["bitrate_kbps"]) == (found["crf"], found["bitrate_kbps"])


def test_a_target_that_is_missed_is_no_choice(folder: Path) -> None:
    asked = {"src": str(folder / "clip.y4m"), "target_vmaf": 100, **FAST}
    found = ask(folder, "run_search", **asked, duration=0.4)
    assert (found["ok"], found["crf"], found["vmaf_score"]) == (False, None, None)
    assert found["nearest"]["vmaf_score"] < 100


def test_a_part_of_the_film_is_said_by_every_tool(folder: Path) -> None:
    asked = {"src": str(folder / "clip.y4m"), "duration": 0.4, **FAST}
    ladder = {"resolutions": "160x96,80x48", "target_vmafs": "80,60"}
    answers = [
        ask(folder, "run_search", target_vmaf=80, **asked),
        ask(folder, "run_compare", target_vmaf=80, encoders="libx264", **asked),
        ask(folder, "run_ladder", **ladder, **asked)["manifest"],
        ask(folder, "run_ladder", format="hls", **ladder, **asked),
        ask(folder, "run_tune_per_shot", target_vmaf=80, **asked),
    ]
    for found in answers:
        assert (found["range"]["end_frame"], found["range"]["end_seconds"]) == (10, 0.4)
        assert not found["range"]["whole"]
        assert found["notes"][0].startswith("only the first 0.4 s of ")
        assert [note for note in found["notes"] if "is made for a 1080p display" in note]


def test_how_it_is_watched_and_other_metrics_can_be_asked_for(folder: Path) -> None:
    asked = {"src": str(folder / "clip.y4m"), "duration": 0.1, **FAST}
    phone = ask(folder, "run_search", target_vmaf=60, viewing="phone", **asked)
    assert phone["model"] == "vmaf_v1.0.16_5d0h"
    for tool in ("run_search", "run_compare", "run_tune_per_shot"):
        extra = {"encoders": "libx264"} if tool == "run_compare" else {}
        found = ask(folder, tool, metric="psnr", target=30, **extra, **asked)
        assert "error" not in found or found["error"] is None
    displayed = ask(folder, "run_search", target_vmaf=60, display="1080p", **asked)
    assert not [note for note in displayed["notes"] if "display" in note]


def test_comparisons_of_one_and_of_several_targets(folder: Path) -> None:
    source = str(folder / "clip.y4m")
    one = ask(folder, "run_compare", src=source, target_vmaf=80, encoders="libx264,libx265,nope", **FAST)
    assert "schema_version" not in one
    assert one["target_vmaf"] == 80
    assert [row["codec"] for row in one["rows"]][-1] == "nope"
    assert "there is no encoder 'nope'" in one["rows"][-1]["error"]
    good = [row for row in one["rows"] if row["ok"]]
    assert len(good) == 2
    assert good[0]["bitrate_kbps"] <= good[1]["bitrate_kbps"]
    assert all(row["vmaf_score"] >= 80 for row in good)
    several = ask(folder, "run_compare", src=source, target_vmafs="70,80", encoders="libx264", **FAST)
    assert (several["schema_version"], several["target_vmafs"]) == (2, [70, 80])
    assert [row["target_vmaf"] for row in several["rows"]] == [70, 80]


def test_ladders(folder: Path) -> None:
    asked = {"src": str(folder / "clip.y4m"), "resolutions": "160x96,80x48", "target_vmafs": "80,40", **FAST}
    found = ask(folder, "run_ladder", **asked)
    assert found["format"] == "json"
    rungs = found["manifest"]["rungs"]
    assert rungs == found["manifest"]["renditions"]
    assert 1 <= len(rungs) <= 5
    assert {"width", "height", "bitrate_kbps", "vmaf", "crf"} <= set(rungs[0])
    hls = ask(folder, "run_ladder", format="hls", **asked)
    assert hls["manifest"].startswith("#EXTM3U")
    assert hls["manifest"].count("#EXT-X-STREAM-INF") == len(rungs)
    dash = ask(folder, "run_ladder", format="dash", **asked)
    assert ET.fromstring(dash["manifest"]).tag.endswith("MPD")


def test_plans_by_shot(folder: Path) -> None:
    source, output = str(folder / "clip.y4m"), str(folder / "stitched.mkv")
    found = ask(folder, "run_tune_per_shot", src=source, target_vmaf=80, output=output, **FAST)
    assert found["shots"][0]["start_frame"] == 0
    assert found["shots"][-1]["end_frame"] == FRAMES
    measured = acuity.score(source, output)
    assert measured.pairs == FRAMES
    assert measured.score == pytest.approx(found["measured"]["score"], abs=1e-6)
    table = ask(folder, "run_tune_per_shot", src=source, target_vmaf=80, format="csv", **FAST)
    rows = list(csv.DictReader(io.StringIO(table["plan"])))
    assert [int(row["crf"]) for row in rows] == [shot["crf"] for shot in found["shots"]]
    assert not {"shots", "segment_commands", "concat_command"} & set(table), "they are in the plan's text"
    assert ["x264-params", "cpu-independent=1:stitchable=1"] in found["settings"]["options"]
    script = ask(folder, "run_tune_per_shot", src=source, target_vmaf=80, format="shell", **FAST)
    assert script["plan"].startswith("#!/bin/sh")


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("run_search", {"src": "/etc/passwd"}, "not under an allowlisted root"),
        ("run_search", {"output": "/etc/new.mkv"}, "not under an allowlisted root"),
        ("run_search", {"output": "{folder}/clip.y4m"}, "exists already"),
        ("run_search", {"output": "{folder}/no/such/folder.mkv"}, "does not exist"),
        ("run_search", {"vmaf_model": "path=/etc/passwd"}, "not under an allowlisted root"),
        ("run_search", {"encoder": "nope"}, "there is no encoder 'nope'"),
        ("run_search", {"preset": "warp"}, "has no preset 'warp'"),
        ("run_search", {"target_vmaf": 90, "target_bitrate": 100}, "there are two targets"),
        ("run_search", {"target_vmaf": 101}, "target_vmaf=101 should be 100 or less"),
        ("run_search", {"duration": -1}, "duration=-1 should be 0 or more"),
        ("run_search", {"pix_fmt": "x" * 5000}, "is longer than 4096 characters"),
        ("run_search", {"preset": ""}, "has no preset ''"),
        ("run_compare", {"encoders": ",".join(f"x{n}" for n in range(33))}, "give at most 32 with encoders="),
        ("run_compare", {"encoders": "a,b,c,d,e,f", "target_vmafs": "1,2,3,4,5,6,7"}, "42 rows are too many"),
        ("run_ladder", {"resolutions": "64x64", "target_vmafs": "9," * 40 + "x"}, "'x' is no number"),
        ("run_compare", {"target_vmafs": "ninety"}, "is no number"),
        ("run_compare", {"target_vmafs": "120"}, "is no VMAF score"),
        ("run_ladder", {"resolutions": "big", "target_vmafs": "90"}, "is no size"),
        ("run_tune_per_shot", {"output": "/etc/new.mkv"}, "not under an allowlisted root"),
    ],
)
def test_bad_arguments(folder: Path, tool: str, arguments: dict[str, Any], sentence: str) -> None:
    given = {"src": "{folder}/clip.y4m", **arguments}
    given = {
        key: value.format(folder=folder) if isinstance(value, str) else value for key, value in given.items()
    }
    answer = ask(folder, tool, **given)
    assert list(answer) == ["error"]
    assert sentence in answer["error"]
    assert "\n" not in answer["error"]


async def test_plans_refuse_wrong_options_and_say_what_part_is_meant(folder: Path) -> None:
    """A tool's plan raises them, so that submit_job refuses at once."""
    services = services_for(folder, ThreadJobs())
    plans = {tool.name: tool.plan for tool in tools(services)}
    for name, given in (
        ("run_search", {"encoder": "nope"}),
        ("run_search", {"preset": "warp"}),
        ("run_ladder", {"resolutions": "0x0", "target_vmafs": "90"}),
        ("run_tune_per_shot", {"target_vmaf": 500}),
    ):
        with pytest.raises(TuneError):
            await plans[name](Arguments({"src": str(folder / "clip.y4m"), **given}))
    spec = await plans["run_search"](Arguments({"src": str(folder / "clip.y4m"), "duration": 0.4}))
    assert spec.title == "search of clip.y4m, first 0.4 s", "which get_job and list_jobs show"

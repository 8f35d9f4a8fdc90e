"""The commands of vmaf-tune: what they print and write, their exit codes, and what they refuse."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from acuity.cli.main import main as acuity_main
from acuity.cli.tune import COMMANDS, main
from acuity.cli.tune.shared import TuneProgress
from acuity.tune.progress import Progress
from cli_helpers import Terminal
from tune_clips import write_y4m

pytestmark = pytest.mark.usefixtures("prepared_workers")

FAST = ("--preset", "ultrafast", "-q")
LADDER = ("--resolutions", "160x96,80x48", "--target-vmafs", "75,40", *FAST)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_y4m(tmp_path_factory.mktemp("tune") / "clip.y4m", 20))


@pytest.fixture(autouse=True)
def own_cache(clip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_CACHE", os.path.join(os.path.dirname(clip), "cache"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert out.startswith(f"usage: vmaf-tune {command}")
    assert acuity_main(["tune", command, "--help"]) == 0
    assert capsys.readouterr().out.replace("acuity tune", "vmaf-tune") == out


def test_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys)
    assert code == 0
    assert all(f"  {name} " in out for name in COMMANDS)
    code, _, err = run(capsys, "serch")
    assert code == 1
    assert "'serch' is no command: use one of search, compare" in err


def test_encoders(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "encoders", "--json")
    listed = {entry["name"]: entry for entry in json.loads(out)["encoders"]}
    assert code == 0
    assert {"libx264", "libx265", "libsvtav1", "libvpx-vp9"} <= set(listed)
    assert [listed["libx264"][key] for key in ("knob", "best", "worst")] == ["crf", 0, 51]
    assert "libx265" in run(capsys, "encoders")[1]


def test_a_search_in_every_format(capsys: pytest.CaptureFixture[str], clip: str, tmp_path: Path) -> None:
    asked = ("search", clip, "--target-vmaf", "75", *FAST)
    code, out, _ = run(capsys, *asked, "--format", "json")
    found = json.loads(out)
    assert (code, found["ok"], found["schema"]) == (0, True, "acuity.tune.search/1")
    code, out, _ = run(capsys, *asked)
    assert out.startswith(f"libx264 crf {found['crf']}: VMAF {found['vmaf_score']:.2f} at ")
    assert "remembered" in out
    assert "0 encodes made" in out
    table = tmp_path / "points.csv"
    code, out, _ = run(capsys, *asked, "--format", "csv", "-o", str(table))
    assert (code, out) == (0, "")
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [int(row["crf"]) for row in rows] == [point["crf"] for point in found["points"]]


def test_a_comparison_in_every_format(capsys: pytest.CaptureFixture[str], clip: str, tmp_path: Path) -> None:
    asked = ("compare", "--src", clip, "--target-vmafs", "75,60", "--encoders", "x264,hevc,nope", *FAST)
    code, out, _ = run(capsys, *asked, "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert [row["codec"] for row in found["rows"]][-1] == "nope"
    text = run(capsys, *asked)[1]
    assert "there is no encoder 'nope'" in text
    assert "BD-rate" in text
    markdown = run(capsys, *asked, "--format", "markdown")[1].splitlines()
    assert markdown[0].startswith("# Encoders compared on clip.y4m")
    assert markdown[3].startswith("|---|")
    rows = list(csv.DictReader(io.StringIO(run(capsys, *asked, "--format", "csv")[1])))
    assert [row["codec"] for row in rows] == [row["codec"] for row in found["rows"]]
    both = run(capsys, *asked, "--format", "both")[1]
    assert both.startswith("# Encoders")
    assert json.loads(both.split("```json")[1].split("```")[0])["rows"][0]["ok"]
    page = tmp_path / "page.html"
    assert run(capsys, *asked, "--format", "html", "-o", str(page))[0] == 0
    drawn = page.read_text()
    svg = ET.fromstring(drawn[drawn.index("<svg") : drawn.index("</svg>") + 6])
    points = sum(len(curve["points"]) for curve in found["curves"])
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}title"))) == points
    data = json.loads(drawn.split('id="page-data">')[1].split("</script>")[0])
    assert data["kind"] == "tune"
    assert [curve["name"] for curve in data["rates"]] == ["libx264", "libx265"]
    kbps = [point["bitrate_kbps"] for curve in found["curves"] for point in curve["points"]]
    assert [point["kbps"] for curve in data["rates"] for point in curve["points"]] == kbps
    assert data["tables"][0]["titles"][-1] == "error"
    command = shlex.join(["vmaf-tune", *asked, "--format", "html", "-o", str(page)])
    assert ["command", command] in data["facts"]


def test_a_ladder_in_every_format(capsys: pytest.CaptureFixture[str], clip: str) -> None:
    code, out, _ = run(capsys, "ladder", clip, *LADDER, "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert found["schema"] == "vmaf-tune-ladder/v1"
    text = run(capsys, "ladder", clip, *LADDER)[1]
    assert all(f"{rung['width']}x{rung['height']}" in text for rung in found["rungs"])
    assert run(capsys, "ladder", clip, *LADDER, "--format", "hls")[1].startswith("#EXTM3U")
    assert ET.fromstring(run(capsys, "ladder", clip, *LADDER, "--format", "dash")[1]).tag.endswith("MPD")
    page = run(capsys, "ladder", clip, *LADDER, "--format", "html")[1]
    assert 'aria-label="VMAF over bitrate. ' in page
    assert 'data-kind="tune"' in page
    code, _, err = run(capsys, "ladder", clip, *LADDER, "--target-vmafs", "99.99", "--crf-min", "30")
    assert code == 1
    assert "no sample reaches VMAF 99.99" in err
    assert "pass --display 1080p to score both videos" in err
    code, _, err = run(capsys, "ladder", clip, "--target-vmafs", "75,40")
    assert code == 1
    assert "--resolutions is missing" in err


def test_a_plan_in_every_format(capsys: pytest.CaptureFixture[str], clip: str, tmp_path: Path) -> None:
    asked = ("tune-per-shot", clip, "--target-vmaf", "75", *FAST)
    out = str(tmp_path / "stitched.mkv")
    code, printed, _ = run(capsys, *asked, "--format", "json", "--output", out)
    found = json.loads(printed)
    assert code == 0
    assert found["measured"]["frames"] == found["shots"][-1]["end_frame"] == 20
    text = run(capsys, *asked, "--output", out, "--overwrite")[1]
    assert f"20 frames, {os.path.getsize(out):,} bytes, VMAF " in text
    assert "predicted" in text
    assert run(capsys, *asked, "--format", "shell")[1].startswith("#!/bin/sh")
    plan = tmp_path / "plan.csv"
    assert run(capsys, *asked, "--format", "csv", "--plan-out", str(plan))[:2] == (0, "")
    assert len(plan.read_text().splitlines()) == 1 + len(found["shots"])


def test_what_is_finished_is_replaced_only_on_request(
    capsys: pytest.CaptureFixture[str], clip: str, tmp_path: Path
) -> None:
    video, answer = tmp_path / "done.mp4", tmp_path / "done.json"
    target = ("--target-vmaf", "75", *FAST)
    asked: list[tuple[Path, tuple[str, ...]]] = [
        (video, ("search", clip, *target, "--encode", str(video))),
        (video, ("tune-per-shot", clip, *target, "--output", str(video))),
        (answer, ("search", clip, *target, "-o", str(answer))),
        (answer, ("tune-per-shot", clip, *target, "--plan-out", str(answer))),
    ]
    for file, words in asked:
        file.write_bytes(b"finished")
        code, out, err = run(capsys, *words)
        assert (code, out) == (1, "")
        assert f"'{file}' exists already: name another file, or replace it with --overwrite" in err
        assert file.read_bytes() == b"finished"
        assert run(capsys, *words, "--overwrite")[0] == 0
        assert file.stat().st_size > 100


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("search", "nowhere.mkv"), "'nowhere.mkv' does not exist"),
        (("search",), "the source is missing"),
        (("search", "a.mkv", "--src", "b.mkv"), "the source is given twice"),
        (("search", "{clip}", "--encoder", "nope"), "there is no encoder 'nope': use libx264"),
        (("search", "{clip}", "--preset", "warp"), "has no preset 'warp': use one of ultrafast"),
        (("search", "{clip}", "--target-vmaf", "101"), "'101' should be a number from 0 to 100"),
        (("search", "{clip}", "--target-vmaf", "90", "--target-bitrate", "9"), "two targets"),
        (("search", "{clip}", "--target-size", "many"), "'many' is no size in bytes"),
        (("search", "{clip}", "--pool", "middle"), "unknown pooling 'middle'"),
        (("search", "{clip}", "--neg", "--vmaf-model", "vmaf_v0.6.1"), "another is named with --vmaf-model"),
        (("search", "{clip}", "--encoder-options", "bf"), "write it as name=value"),
        (("search", "{clip}", "--encode", "/nowhere/x.mkv"), "the folder '/nowhere' does not exist"),
        (("search", "{clip}", "--encode", "x.doc"), "'x.doc' doesn't say its format"),
        (("search", "{clip}", "-o", "/nowhere/x.json"), "the folder '/nowhere' does not exist"),
        (("search", "{clip}", "-o", "{clip}"), "would overwrite the source"),
        (("search", "{clip}", "--duration", "0.001"), "less than one frame"),
        (("compare", "{clip}", "--no-bisect"), "pass --crf-sweep, as 20,25,30,35"),
        (("compare", "{clip}", "--no-bisect", "--crf-sweep", "20,inf"), "'inf' is no number"),
        (("search", "{clip}", "--crf-min", "23.5", "-e", "vp9"), "libvpx-vp9 takes whole values of crf only"),
        (("compare", "{clip}", "--target-vmafs", "95,x"), "give numbers with --target-vmafs"),
        (("ladder", "{clip}", "--resolutions", "big", "--target-vmafs", "90"), "'big' is no size"),
        (("tune-per-shot", "{clip}", "--scene-threshold", "2"), "'2' should be a number from 0 to 1"),
        (("tune-per-shot", "{clip}", "--sample", "2"), "every shot is probed, and all of it: leave out"),
    ],
)
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], clip: str, arguments: tuple[str, ...], sentence: str
) -> None:
    code, out, err = run(capsys, *(word.format(clip=clip) for word in arguments), "-q")
    assert (code, out) == (1, "")
    first, *rest = err.splitlines()
    assert first.startswith("vmaf-tune: ")
    assert sentence in first
    assert rest in ([], [f"Try 'vmaf-tune {arguments[0]} --help'."])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_encoders_and_leaves_no_file(tmp_path: Path, number: signal.Signals) -> None:
    source = write_y4m(tmp_path / "long.y4m", 150, 256, 144)
    code = "import sys; from acuity.cli.tune import main; sys.exit(main(sys.argv[1:]))"
    asked = ["search", str(source), "--crf-min", "23", "--crf-max", "23", "--preset", "placebo"]
    running = subprocess.Popen(
        [sys.executable, "-c", code, *asked, "--target-vmaf", "1", "--encode", str(tmp_path / "out.mkv")],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "ACUITY_CACHE": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert running.stderr is not None
    running.stderr.readline()  # the first line of progress: the encoder runs
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert out == ""
    assert err.splitlines()[-1] == "vmaf-tune: interrupted"
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) in (["cache", "long.y4m"], ["long.y4m"])


def test_progress_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    stream = Terminal()
    now = iter(range(10))
    display = TuneProgress(stream, lambda: next(now))
    display(Progress("libx265 crf 28", 2, 5, 120, 480, 84.2, 4.0, "crf 27: VMAF 93.4"))
    display.done()
    line = stream.getvalue().split("\033")[0].lstrip("\r")
    assert line == "2 of 5 encodes"
    assert stream.getvalue().endswith("\r\033[K")


def test_progress_in_a_log_is_a_line_for_each_encode() -> None:
    stream = io.StringIO()
    display = TuneProgress(stream, lambda: 0.0)
    for done in (0, 0, 1, 1, 2):
        display(Progress("libx264 crf 20", done, 3))
    assert stream.getvalue().splitlines() == [f"{done} of 3 encodes, libx264 crf 20" for done in range(3)]

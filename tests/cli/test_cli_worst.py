"""acuity worst: its table, its files, its refusals, and what is left after Ctrl-C."""

from __future__ import annotations

import argparse
import json
import signal
from pathlib import Path

import pytest

from acuity.cli.score_options import GROUPS
from acuity.cli.worst import configure
from acuity.frames.request import WorstProgress
from cli_helpers import Cli, Ran, moving, y4m

SIZE = {"width": 96, "height": 64}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("worst")
    for name, noise in (("ref", 0), ("dis", 20)):
        (folder / f"{name}.y4m").write_bytes(y4m(moving(4, noise=noise, **SIZE), **SIZE))
    return str(folder / "ref.y4m"), str(folder / "dis.y4m")


@pytest.fixture
def worst(cli: Cli, pair: tuple[str, str], tmp_path: Path):  # type: ignore[no-untyped-def]
    def run(*options: str, videos: tuple[str, str] = pair) -> Ran:
        return cli.acuity("worst", *videos, "-o", str(tmp_path / "out"), *options)

    return run


def refused(ran: Ran, out: Path) -> str:
    assert ran.code == 1
    assert ran.out == ""
    assert not out.exists()
    sentences = [line for line in ran.err.splitlines() if not line.startswith(("  ", "Try '"))]
    assert len(sentences) == 1, ran.err
    return sentences[0]


def test_the_table(worst, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    ran = worst("-n", "2", "--apart", "0.04")
    assert ran.code == 0
    document = json.loads((tmp_path / "out" / "worst.json").read_text())
    assert len(document["frames"]) == 2
    lines = ran.out.splitlines()
    assert lines[1].split() == ["VMAF", f"{document['score']:.2f}", "vmaf_v0.6.1"]
    assert lines[3].split() == ["frame", "time", "score", "picture", "what", "is", "wrong"]
    for line, frame in zip(lines[4:6], document["frames"], strict=True):
        cells = line.split()
        assert cells[0] == str(frame["frame_index"])
        assert cells[1] == f"0:{frame['time']:06.3f}"
        assert cells[2] == f"{frame['vmaf']:.2f}"
        assert cells[3] == Path(frame["png"]).name
        assert " ".join(cells[4:]) == frame["description"]
    assert lines[-1] == f"  all of them: {tmp_path / 'out' / 'contact_sheet.png'}"
    assert "reading once more" in ran.err


def test_json_and_quiet(worst, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    ran = worst("--json", "-n", "1")
    assert json.loads(ran.out) == json.loads((tmp_path / "out" / "worst.json").read_text())
    assert ran.err == ""
    ran = worst("-q", "-n", "1", "--region")
    assert ran.out == f"{tmp_path / 'out' / 'contact_sheet.png'}\n"
    assert ran.err == ""


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-n", "0"], "argument -n: '0' should be a whole number from 1 to 32"),
        (["-n", "33"], "argument -n: '33' should be a whole number from 1 to 32"),
        (["-n", "x"], "'x' should be a whole number from 1 to 32"),
        (["--apart", "-1"], "'-1' should be a number of seconds from 0 to 86400"),
        (["--apart", "nan"], "'nan' should be a number of seconds"),
        (["--metrics", "psnr"], "unknown option '--metrics'"),
        (["--resume", "x.json"], "unknown option '--resume'"),
        (["--size", "10x10", "--width", "3"], "leave out --width and --height"),
        (["--vlm", "/nowhere"], "/nowhere"),
    ],
)
def test_options_that_are_refused(worst, tmp_path: Path, options: list[str], says: str) -> None:  # type: ignore[no-untyped-def]
    assert says in refused(worst(*options), tmp_path / "out")


@pytest.mark.parametrize("stage", ["scoring", "drawing"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(worst, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stage: str, number: int) -> None:  # type: ignore[no-untyped-def]
    before = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}
    shown = WorstProgress.__init__

    def interrupted(self: WorstProgress, at: str, done: int, *rest: object) -> None:
        shown(self, at, done, *rest)  # type: ignore[arg-type]
        if at == stage and done:
            signal.raise_signal(number)

    monkeypatch.setattr(WorstProgress, "__init__", interrupted)
    ran = worst("-n", "1")
    assert ran.code == 128 + number
    assert ran.out == ""
    assert ran.err.splitlines()[-1] == "acuity: interrupted"
    assert not (tmp_path / "out").exists()
    assert {which: signal.getsignal(which) for which in before} == before


def test_the_page_names_every_option_and_entry(worst, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page = (Path(__file__).resolve().parents[2] / "docs" / "worst-frames.md").read_text()
    parser = argparse.ArgumentParser()
    configure(parser)
    shared = {name for names, _ in (entry for group in GROUPS.values() for entry in group) for name in names}
    own = [name for action in parser._actions for name in action.option_strings if name not in shared]
    assert {"--apart", "--region", "--vlm", "-n"} <= set(own)
    missing = [name for name in own if name not in ("-h", "--help") and f"`{name}" not in page]
    document = json.loads(worst("--json", "-n", "1").out)
    frame = document["frames"][0]
    keys = [*document, *frame, *frame["artefacts"][0], *frame["region"]]
    missing += [key for key in keys if f"`{key}`" not in page]
    assert missing == []


def test_a_freeze_is_shown_unless_frames_must_match(worst, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    data = moving(36, **SIZE)
    size = len(data) // 36
    frames = [data[start : start + size] for start in range(0, len(data), size)]
    frozen = [frames[14] if 14 < number < 26 else frame for number, frame in enumerate(frames)]
    videos = []
    for name, pictures in (("moves", frames), ("freezes", frozen)):
        path = tmp_path / f"{name}.y4m"
        path.write_bytes(y4m(b"".join(pictures), **SIZE))
        videos.append(str(path))
    ran = worst("-n", "1", "--align", "refuse", videos=tuple(videos))
    assert "freezes.y4m" in refused(ran, tmp_path / "out")
    ran = worst("-n", "1", "--json", videos=tuple(videos))
    assert ran.code == 0, ran.err
    (frame,) = json.loads(ran.out)["frames"]
    assert 14 < frame["frame_index"] < 26
    assert "frozen since frame 14" in frame["description"]

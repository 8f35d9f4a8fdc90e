"""How a command ends: interrupted, cut off from its reader, or with an error of each kind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acuity.cli.exits import LIBVMAF_CODES, guarded
from acuity.cli.getopt import UsageError
from acuity.errors import (
    AcuityError,
    BackendError,
    InputError,
    ModelError,
    NameClashError,
    NoFilterError,
    NoFramesError,
    OutputError,
    PairingError,
    ScoreError,
    UnfitOptionError,
    UnfitPictureError,
    to_set,
)
from acuity.measure import BoundarySnapshot, Measurement
from cli_helpers import FRAMES, Ran, Runner, environment, moving, start, y4m
from prepared_programs import starter


def raising(error: BaseException) -> Callable[[], int]:
    def fail() -> int:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("what?"), 1, "vmaf: what?\nTry 'vmaf --help'.\n"),
        (AcuityError("no"), 1, "vmaf: no\n"),
        (InputError("no"), 1, "vmaf: no\n"),
        (OutputError("no"), 1, "vmaf: no\n"),
        (PairingError("pass ", to_set("rate", "by-index"), "."), 1, "vmaf: pass --rate by-index.\n"),
        (NoFramesError("none"), 101, "vmaf: none\n"),
        (BackendError("gone"), 100, "vmaf: gone\n"),
        (FileNotFoundError(2, "No such file", "a.yuv"), 1, "vmaf: a.yuv: No such file\n"),
        (MemoryError(), 1, "vmaf: not enough memory: use fewer threads or smaller pictures\n"),
        (KeyboardInterrupt(), 130, "vmaf: interrupted\n"),
    ],
)
def test_an_error_becomes_a_sentence_and_a_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    assert guarded("vmaf", raising(error)) == code
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("what?"), 1),
        (NameClashError("no"), 1),
        (OutputError("no"), 1),
        (InputError("no"), 255),
        (ModelError("no"), 255),
        (PairingError("no"), 255),
        (ScoreError("no"), 255),
        (UnfitPictureError("no"), 234),
        (UnfitOptionError("no"), 234),
        (NoFilterError("no"), 1),
        (NoFramesError("none"), 101),
        (BackendError("gone"), 100),
    ],
)
def test_codes_of_libvmaf(capsys: pytest.CaptureFixture[str], error: Exception, code: int) -> None:
    assert guarded("vmaf", raising(error), LIBVMAF_CODES) == code
    assert capsys.readouterr().err.startswith(f"vmaf: {error}\n")


@pytest.mark.parametrize(
    ("module", "closed"),
    [("main", ">&-"), ("main", "2>&-"), ("vmaf", "<&-"), ("main", "<&- >&- 2>&-"), ("vmaf", "<&- >&- 2>&-")],
)
def test_streams_that_were_closed_before(module: str, closed: str, clips: Path, tmp_path: Path) -> None:
    """Nothing that is opened may get the place of standard output and be written into."""
    ref, dis, out = clips / "ref.y4m", clips / "dis.y4m", tmp_path / "out.csv"
    files = f"-r {ref} -d {dis} --csv" if module == "vmaf" else f"score {ref} {dis}"
    line = f"{sys.executable} -m acuity.cli.{module} {files} -o {out} {closed}"
    ran = subprocess.run(line, shell=True, capture_output=True, text=True, env=environment(), timeout=60)
    # The report is there; a summary that nobody gets is an error all the same.
    assert ran.returncode == (1 if module == "main" and " >&-" in f" {closed}" else 0), ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(out.read_text().splitlines()) == FRAMES + 1


@pytest.mark.parametrize(
    ("module", "line"),
    [("main", ["features", "--json"]), ("vmaf", ["--help"])],
)
def test_a_reader_that_goes_away(module: str, line: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    ran = start(module, line, stdout=write_end)
    os.close(write_end)
    assert ran.returncode == 141
    assert ran.stderr == ""


# ---- Ctrl-C and SIGTERM: what was measured is kept and marked, and --resume goes on f ----


PARTIAL = "partial: 2 of 5 frames"
PROGRAMS = ("vmaf", "acuity")
Killed = Callable[..., Ran]


@pytest.fixture
def killed(listened: Runner) -> Iterator[Killed]:
    """Runs a command, and sends a signal to it after a number of frames."""

    def run(
        program: str, *options: str, after: int | None = 2, number: int = signal.SIGINT, times: int = 1
    ) -> Ran:
        def kill(_: Measurement, at: BoundarySnapshot) -> None:
            for _turn in range(times if at.frames_fed == after else 0):
                signal.raise_signal(number)

        return listened(program, *options, listen=kill)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield run
    assert {number: signal.getsignal(number) for number in before} == before


def timeless(path: Path) -> str:
    """A report without what depends on time, and without the command that made it."""
    text = re.sub(r'("(fps|seconds)": |fps=")[^,"]*', r"\1", path.read_text())
    return re.sub(r'(\bcommand"?[:=] ?)"(\\.|[^"\\])*"', r"\1", text)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_acuity_keeps_the_frames_done(killed: Killed, tmp_path: Path, number: int, code: int) -> None:
    out = tmp_path / "out.json"
    ran = killed("acuity", "-o", str(out), number=number)
    assert ran.code == code
    assert f"warning: {PARTIAL}" in ran.out
    assert "VMAF" in ran.out
    assert ran.err.splitlines()[-1] == f"acuity: interrupted: --resume {out} goes on from there"
    report = json.loads(out.read_text())
    assert [frame["frameNum"] for frame in report["frames"]] == [0, 1]
    assert report["acuity"]["partial"] == {"frames": 2, "of": FRAMES, "why": "interrupted"}
    assert "steering" not in report["acuity"]
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("format", "number", "code"),
    [("xml", signal.SIGINT, 130), ("json", signal.SIGTERM, 143), ("csv", signal.SIGINT, 130)],
)
def test_vmaf_keeps_them_too(killed: Killed, tmp_path: Path, format: str, number: int, code: int) -> None:
    out = tmp_path / "out"
    ran = killed("vmaf", "-q", f"--{format}", "-o", str(out), number=number)
    assert ran.code == code
    assert ran.err.startswith(f"vmaf: warning: {PARTIAL}")
    assert ran.err.count("\n") == 1
    text = out.read_text()
    assert ("partial" in text) is (format in ("xml", "json"))
    assert "resume" not in text
    loud = killed("vmaf", number=number)
    assert "vmaf_v0.6.1: " in loud.err.splitlines()[-1]


def test_a_signal_that_comes_twice_at_once_counts_once(killed: Killed, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert killed("acuity", "-o", str(out), times=2).code == 130
    assert json.loads(out.read_text())["acuity"]["partial"]["frames"] == 2


def test_a_second_signal_ends_at_once(
    killed: Killed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acuity.cli.exits.REPEAT", 0.0)
    for program in PROGRAMS:
        ran = killed(program, "-o", str(tmp_path / "out.json"), times=2)
        assert ran.code == 130
        assert ran.out == ""
        assert ran.err.endswith(f"{program}: interrupted\n")
    assert list(tmp_path.iterdir()) == []


# ---- going on ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [[], ["--subsample", "2"], ["--metrics", "psnr,vmaf", "--precision", "max"]]
)
def test_going_on_gives_the_whole_report(killed: Killed, tmp_path: Path, options: list[str]) -> None:
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    assert killed("acuity", *options, "-o", str(whole), after=None).code == 0
    for after in (1, FRAMES - 2):
        assert killed("acuity", *options, "-o", str(part), after=after).code == 130
        ran = killed("acuity", *options, "--resume", str(part), after=None)  # completes the file itself
        assert ran.code == 0
        assert timeless(part) == timeless(whole)


def test_refusals_in_the_commands_own_words(killed: Killed, tmp_path: Path) -> None:
    part = tmp_path / "part.json"
    killed("acuity", "-o", str(part))
    ran = killed("acuity", "--resume", str(part), "-m", "vmaf_v0.6.1neg", after=None)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith("was measured without --model: leave it out, or measure anew\n")
    killed("acuity", "--metrics", "psnr", "--metrics", "ssim", "-o", str(part))
    ran = killed("acuity", "--resume", str(part), after=None)
    assert "was measured with --metrics psnr,ssim: pass that, or measure anew\n" in ran.err


# ---- as processes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "number", "code"), [("vmaf", signal.SIGINT, 130), ("main", signal.SIGTERM, -signal.SIGTERM)]
)
def test_before_the_first_frame_a_signal_ends_it(
    module: str, number: signal.Signals, code: int, clips: Path, tmp_path: Path
) -> None:
    """A pipe that stays open keeps the command waiting for its first frame until the signal comes."""
    pipe, dis, out = tmp_path / "pipe.y4m", str(clips / "dis.y4m"), str(tmp_path / "out.json")
    os.mkfifo(pipe)
    videos = ["-r", str(pipe), "-d", dis] if module == "vmaf" else ["score", str(pipe), dis]
    process = subprocess.Popen(
        [*starter(), "-m", f"acuity.cli.{module}", *videos, "-o", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    with pipe.open("wb") as writer:  # waits until the command has opened its end
        writer.write(y4m(moving(1))[:-1])
        writer.flush()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert number == signal.SIGTERM or err.splitlines()[-1].endswith(": interrupted")
    assert "Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["pipe.y4m"]

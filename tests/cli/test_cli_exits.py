"""How a command ends: interrupted, cut off from its reader, or with an error of each kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acuity.cli.exits import as_options, describe, guarded
from acuity.cli.getopt import UsageError
from acuity.errors import AcuityError, BackendError, InputError, NoFramesError, OutputError, PairingError
from cli_helpers import environment, moving, y4m


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("what?"), 1, "vmaf: what?\nTry 'vmaf --help'.\n"),
        (AcuityError("no"), 1, "vmaf: no\n"),
        (InputError("no"), 1, "vmaf: no\n"),
        (OutputError("no"), 1, "vmaf: no\n"),
        (
            PairingError("pass rate=by-index or hdr=ignore."),
            1,
            "vmaf: pass --rate by-index or --hdr ignore.\n",
        ),
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
    def fail() -> int:
        raise error

    assert guarded("vmaf", fail) == code
    assert capsys.readouterr().err == said


def test_a_mistake_of_ours_is_not_hidden() -> None:
    def fail() -> int:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        guarded("vmaf", fail)


def test_words_that_are_no_options_stay() -> None:
    assert as_options("the bitrate=high and scale=2.0 of x") == "the bitrate=high and scale=2.0 of x"
    assert describe(OSError("odd")) == "odd"


@pytest.mark.parametrize("module", ["vmaf", "main"])
def test_interrupt(module: str, clips: Path, tmp_path: Path) -> None:
    """A pipe that stays open keeps the command waiting for frames until the signal comes."""
    pipe, out = tmp_path / "pipe.y4m", tmp_path / "out.json"
    os.mkfifo(pipe)
    dis = str(clips / "dis.y4m")
    line = {
        "vmaf": ["-r", str(pipe), "-d", dis, "-o", str(out)],
        "main": ["score", str(pipe), dis, "-o", str(out)],
    }[module]
    process = subprocess.Popen(
        [sys.executable, "-m", f"acuity.cli.{module}", *line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    with pipe.open("wb") as writer:  # waits until the command has opened its end
        writer.write(y4m(moving(2)))
        writer.flush()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1].endswith(": interrupted")
    assert "Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["pipe.y4m"]


@pytest.mark.parametrize(
    ("module", "line"),
    [("main", ["features", "--json"]), ("main", ["models", "--json"]), ("vmaf", ["--help"])],
)
def test_a_reader_that_goes_away(module: str, line: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    ran = subprocess.run(
        [sys.executable, "-m", f"acuity.cli.{module}", *line],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        timeout=60,
    )
    os.close(write_end)
    assert ran.returncode == 141
    assert ran.stderr == ""

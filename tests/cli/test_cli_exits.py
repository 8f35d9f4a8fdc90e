"""How a command ends: interrupted, cut off from its reader, or with an error of each kind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
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
from cli_helpers import FRAMES, environment


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
        (
            PairingError("pass ", to_set("rate", "by-index"), " or ", to_set("hdr", "ignore"), "."),
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


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("module", ["vmaf", "main"])
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

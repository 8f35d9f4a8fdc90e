"""Small clips, and running the commands without a new process."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import pytest

import video_clips
from acuity.cli.main import main as acuity_main
from acuity.cli.vmaf import main as vmaf_main

WIDTH, HEIGHT, FRAMES = 54, 36, 5  # larger than what libvmaf measures by chance
GEOMETRY = ("-w", str(WIDTH), "-h", str(HEIGHT), "-p", "420", "-b", "8")
FRAME_BYTES = WIDTH * HEIGHT * 3 // 2


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def refused(self) -> bool:
        """Whether what was given was refused, in the code of the command that says so."""
        return self.code == (255 if re.search(r"^vmaf: ", self.err, re.MULTILINE) else 1)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


# The fixture `score`: scores two files with one of the commands, which has to refuse.
Runner = Callable[..., Ran]


def moving(frames: int = FRAMES, *, noise: int = 0, width: int = WIDTH, height: int = HEIGHT) -> bytes:
    """4:2:0 8-bit frames of a texture that drifts; `noise` is how far samples may be off."""
    rng = np.random.default_rng(7)
    field = rng.integers(30, 220, (height + frames, width + frames)).astype(np.int16)
    off = np.random.default_rng(8)
    data = []
    for n in range(frames):
        luma = field[n : n + height, n : n + width]
        if noise:
            luma = luma + off.integers(-noise, noise + 1, luma.shape)
        data.append(np.clip(luma, 0, 255).astype(np.uint8).tobytes())
        data.append(bytes([128]) * (2 * ((width + 1) // 2) * ((height + 1) // 2)))
    return b"".join(data)


def y4m(data: bytes, *, width: int = WIDTH, height: int = HEIGHT) -> bytes:
    size = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
    frames = [b"FRAME\n" + data[i : i + size] for i in range(0, len(data), size)]
    return f"YUV4MPEG2 W{width} H{height} F25:1 Ip C420jpeg\n".encode() + b"".join(frames)


def encode(path: Path, data: bytes, *, codec: str = "libx264", **options: str) -> Path:
    """Frames of 4:2:0 8-bit samples in a container."""
    samples = np.frombuffer(data, np.uint8).reshape(-1, HEIGHT * 3 // 2, WIDTH)
    frames = [av.VideoFrame.from_ndarray(rows, format="yuv420p") for rows in samples]
    return video_clips.clip(path, frames, codec=codec, pix_fmt="yuv420p", options=options)


class Cli:
    """Runs the commands in this process. The fixture `cli` is one."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def vmaf(self, *argv: str) -> Ran:
        return Ran(vmaf_main(list(argv)), *self._capsys.readouterr())

    def acuity(self, *argv: str) -> Ran:
        return Ran(acuity_main(list(argv)), *self._capsys.readouterr())

    def score(self, command: str, ref: object, dis: object, *options: str) -> Ran:
        """Score two files with the command of that name."""
        if command == "vmaf":
            return self.vmaf("-r", str(ref), "-d", str(dis), *options)
        return self.acuity("score", str(ref), str(dis), *options)


def start(module: str, argv: Sequence[str], **settings: object) -> subprocess.CompletedProcess[str]:
    """Run `vmaf` or `acuity` as a process of its own."""
    command = [sys.executable, "-m", f"acuity.cli.{module}", *argv]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment(), **settings}
    return subprocess.run(command, text=True, timeout=60, **given)  # type: ignore[call-overload,no-any-return]


def environment() -> dict[str, str]:
    """The test's own, with the package where the test found it."""
    import acuity

    home = str(Path(acuity.__file__).resolve().parents[1])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])]),
    }

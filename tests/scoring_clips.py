"""Small pairs of videos as files, and a stand-in for a `vmaf` binary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from moving_pictures import HEIGHT, WIDTH, luma

FRAMES = 6
GEOMETRY: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "pixfmt": "420", "bitdepth": 8}


def samples(frames: int = FRAMES, *, worse: bool = False) -> bytes:
    """Frames of 4:2:0 8-bit samples with grey chroma."""
    grey = bytes([128]) * (WIDTH * HEIGHT // 2)
    return b"".join(luma(index, worse=worse).tobytes() + grey for index in range(frames))


def raw(path: Path, frames: int = FRAMES, *, worse: bool = False) -> Path:
    path.write_bytes(samples(frames, worse=worse))
    return path


def y4m(path: Path, frames: int = FRAMES, *, worse: bool = False) -> Path:
    data = samples(frames, worse=worse)
    size = len(data) // frames
    body = b"".join(b"FRAME\n" + data[at : at + size] for at in range(0, len(data), size))
    path.write_bytes(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip C420jpeg\n".encode() + body)
    return path


def container(
    path: Path,
    frames: int = FRAMES,
    *,
    worse: bool = False,
    codec: str = "ffv1",
    rate: int = 25,
    half: bool = False,
) -> Path:
    """The same in a container; `half` has every second row and column, less one to keep the size even."""
    import av

    import video_clips

    columns, lines = (slice(0, 68, 2), slice(0, 52, 2)) if half else (slice(None), slice(None))
    shown = []
    for index in range(frames):
        rows = luma(index, worse=worse)[lines, columns]
        grey = np.full((rows.shape[0] // 2, rows.shape[1]), 128, np.uint8)
        # from_ndarray wants the three planes below each other, as wide as luma.
        shown.append(av.VideoFrame.from_ndarray(np.vstack([rows, grey]).astype(np.uint8), format="yuv420p"))
    return video_clips.clip(path, shown, codec=codec, pix_fmt="yuv420p", rate=rate)


def run_until(request: Any, stop: int | None = None) -> Any:
    """The report of a request; it is interrupted when `stop` frames were fed."""
    from acuity.scoring.run import run_request

    measurements: list[Any] = []

    def progress(*_: object) -> None:
        if measurements[0].frames == stop:
            measurements[0].interrupt()

    return run_request(request, progress=progress, watch=measurements.append)


HELP = """\
Usage: vmaf [options]
 --reference/-r $path:        path to reference
 --distorted/-d $path:        path to distorted
 --threads $unsigned:         number of threads to use
 --feature $string:           additional feature
 --frame_cnt $unsigned:       maximum number of frames to process
 --frame_skip_ref $unsigned:  skip the first N frames in reference
 --frame_skip_dist $unsigned: skip the first N frames in distorted
 --subsample: $unsigned       compute scores only every N frames
 --no_prediction/-n:          no prediction
"""
FORK_HELP = HELP + " --precision: digits\n --no_cuda: no CUDA\n --no_sycl: no SYCL\n"

# Answers questions from `answers`; otherwise does what `scoring` says with `argv` at hand.
_SCRIPT = """\
#!{python} -IS
import json, os, sys
argv = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps(argv) + "\\n")
answers = {answers!r}
if argv and argv[0] in answers:
    stream, text, code = answers[argv[0]]
    print(text, file=getattr(sys, stream))
    sys.exit(code)
def after(flag):
    return argv[argv.index(flag) + 1]
def report(**more):
    with open(after("-o"), "w") as out:
        json.dump({{"version": "fake", "fps": 1.0, "frames": [], "pooled_metrics": {{}}, **more}}, out)
def read(path):
    with open(path, "rb") as file:
        return file.read()
{scoring}
"""
_SCORE = """report(seen={"ref": len(read(after("-r"))), "dis": len(read(after("-d")))})"""


def fake_vmaf(
    path: Path,
    *,
    help: str = HELP,
    stream: str = "stdout",
    code: int = 0,
    scoring: str = _SCORE,
    **answers: tuple[str, str, int],
) -> Path:
    """An executable that answers --help, and scores as told; path.log has a line for each time it ran."""
    table = {"--help": (stream, help, code), **{f"--{name}": answer for name, answer in answers.items()}}
    text = _SCRIPT.format(python=sys.executable, log=str(log_of(path)), answers=table, scoring=scoring)
    path.write_text(text)
    path.chmod(0o755)
    return path


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.log")


def runs_of(path: Path) -> list[list[str]]:
    """The arguments of each time it ran."""
    import json

    log = log_of(path)
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

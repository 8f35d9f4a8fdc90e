"""Run a command and say what it cost: wall time, peak memory, and the score it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from clips import Clip


@dataclass(frozen=True)
class Cost:
    seconds: float
    peak_mb: float
    score: float


def score_once(binary: list[str], clip: Clip, threads: int, models: list[str], report: Path) -> Cost:
    """Score a clip with a `vmaf` command line, ours or the reference's."""
    return _measure(binary, str(clip.ref), str(clip.dis), clip, threads, models, report)


def score_stream(binary: list[str], clip: Clip, threads: int, frames: int, folder: Path) -> Cost:
    """Score `frames` frames of a clip played in a loop through named pipes: no file of that length needed."""
    pipes = [folder / "ref.pipe", folder / "dis.pipe"]
    for pipe in pipes:
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
    feeders = [
        threading.Thread(target=_play, args=(source, pipe, clip.frames, frames), daemon=True)
        for source, pipe in zip((clip.ref, clip.dis), pipes, strict=True)
    ]
    for feeder in feeders:
        feeder.start()
    cost = _measure(
        binary, str(pipes[0]), str(pipes[1]), clip, threads, ["version=vmaf_v0.6.1"], folder / "o.json"
    )
    for feeder in feeders:
        feeder.join()
    return cost


def _play(source: Path, pipe: Path, source_frames: int, frames: int) -> None:
    data = source.read_bytes()
    size = len(data) // source_frames
    with pipe.open("wb", buffering=0) as out:
        for index in range(frames):
            at = index % source_frames * size
            view = memoryview(data)[at : at + size]
            while view:
                view = view[out.write(view) :]


def _measure(
    binary: list[str], ref: str, dis: str, clip: Clip, threads: int, models: list[str], report: Path
) -> Cost:
    command = [*binary, "-r", ref, "-d", dis, *clip.geometry, "--threads", str(threads)]
    command += ["-q", "--json", "-o", str(report)]
    for model in models:
        command += ["-m", model]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    message = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"bench: {' '.join(command)} failed: {message.strip()}")
    pooled = json.loads(report.read_text())["pooled_metrics"]
    name = "vmaf" if "vmaf" in pooled else next(reversed(pooled))
    return Cost(seconds, usage.ru_maxrss / 1024, pooled[name]["mean"])

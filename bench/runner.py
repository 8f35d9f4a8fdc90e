"""Runs a command and returns its wall time, peak memory and printed score."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from clips import Clip

USAGE = Path(__file__).with_name("usage.py")


@dataclass(frozen=True)
class Cost:
    seconds: float
    peak_mb: float
    score: float
    said: str = ""  # on stderr


def score_once(binary: list[str], clip: Clip, threads: int, models: list[str], report: Path) -> Cost:
    """Score a clip with a `vmaf` command line, ours or the reference's."""
    wanted = [word for model in models for word in ("-m", model)]
    return run_once(binary, clip, threads, wanted, report)


def run_once(binary: list[str], clip: Clip, threads: int, wanted: list[str], report: Path) -> Cost:
    """Measure what these options ask for."""
    return _measure(binary, str(clip.ref), str(clip.dis), clip, threads, wanted, report)


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
    cost = _measure(binary, *map(str, pipes), clip, threads, ["-m", "version=vmaf_v0.6.1"], folder / "o.json")
    for feeder in feeders:
        feeder.join()
    return cost


def _play(source: Path, pipe: Path, source_frames: int, frames: int) -> None:
    size = source.stat().st_size // source_frames
    with source.open("rb") as file, pipe.open("wb", buffering=0) as out:
        for index in range(frames):
            if index % source_frames == 0:
                file.seek(0)
            view = memoryview(file.read(size))
            while view:
                view = view[out.write(view) :]


def _measure(
    binary: list[str], ref: str, dis: str, clip: Clip, threads: int, wanted: list[str], report: Path
) -> Cost:
    command = [*binary, "-r", ref, "-d", dis, *clip.geometry, "--threads", str(threads)]
    command += ["-q", "--json", "-o", str(report), *wanted]
    done = subprocess.run([sys.executable, str(USAGE), *command], capture_output=True, text=True, check=True)
    usage = json.loads(done.stdout)
    if usage["exit"] != 0:
        sys.exit(f"bench: {' '.join(command)} failed: {done.stderr.strip()}")
    pooled = json.loads(report.read_text())["pooled_metrics"]
    name = "vmaf" if "vmaf" in pooled else next(reversed(pooled))
    return Cost(usage["seconds"], usage["peak_mb"], pooled[name]["mean"], done.stderr)

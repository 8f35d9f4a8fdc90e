"""Whole processes on a card: from raw files, up to the first score, and beside libvmaf's own CUDA program.

They are the parts `file`, `first` and `peer` of bench/cuda.py. Files lie in the page cache, or in /dev/shm.
The fps of a whole process counts its start; the marginal fps is that of the frames by which the longer of
two runs exceeds the shorter one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from clips import Clip, make_clip
from runner import Cost, run_once

MODEL = ["-m", "version=vmaf_v0.6.1"]
_ROUNDS = 3
_MEMORY = Path("/dev/shm")
# What is in the name of a run, width, height, and the part of the frames that is used.
_CLIPS = (("1080p", 1920, 1080, 8, 1), ("1080p 10 bit", 1920, 1080, 10, 2), ("2160p", 3840, 2160, 8, 6))

# Prints the moments of a process as they pass, in seconds since it was started.
_MOMENTS = """
import sys, time
begun, backend, ref, dis, width, height, frames = sys.argv[1:]
def tell(name): print(f"{name}={time.time() - float(begun):.3f}", end=" ", flush=True)
tell("python")
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
tell("imported")
def attach(measurement, total):
    tell("opened")
    seen = set()
    def on_frame(at):
        for name, reached in (("first_fed", at.frames_fed), ("first_done", at.frames_done)):
            if reached and name not in seen:
                seen.add(name); tell(name)
    measurement.boundary.on_frame(on_frame)
request = Request(ref, dis, models=["vmaf_v0.6.1"], width=int(width), height=int(height), pixel_format="420",
                  bitdepth=8, backend=backend, frames=int(frames))
report = run_request(request, attach=attach)
tell("measured")
print(f"score={report.score:.6f}", flush=True)
"""


def file(frames: int, folder: Path | None) -> None:
    """Whole processes that score raw files, and when each of their phases ends."""
    with _clips(folder) as place:
        clip = _clip(place, *_CLIPS[0], frames)
        for backend in ("cuda", "cpu"):
            costs = [_ours(clip, frames, backend, place) for _ in range(_ROUNDS)]
            best = min(costs, key=lambda cost: cost.seconds)
            print(
                f"file    1080p {frames} frames {backend:4} {frames / best.seconds:8.0f} fps  "
                f"{best.seconds:.2f} s  {best.peak_mb:.0f} MB  score {best.score:.6f}",
                flush=True,
            )
            print(f"file    {backend:4} {_moments(clip, frames, backend)}", flush=True)


def first(_: int, folder: Path | None) -> None:
    """From an idle machine to the first score: with nothing compiled yet, and with kernels in the cache."""
    with _clips(folder) as place:
        clip = _clip(place, "first", 1920, 1080, 8, 1, 2)
        cache = place / "cache"
        for backend, kind in (("cuda", "cold"), ("cuda", "cached"), ("cpu", "")):
            took = []
            for _ in range(_ROUNDS):
                if kind == "cold":
                    shutil.rmtree(cache, ignore_errors=True)
                with _variable("ACUITY_CACHE", str(cache)):
                    took.append(_ours(clip, 2, backend, place).seconds)
            print(f"first   {backend:4} {kind:6} {_told(took)}", flush=True)
        with _variable("ACUITY_CACHE", str(cache)):
            print(f"first   cuda cached {_moments(clip, 2, 'cuda')}", flush=True)


def peer(frames: int, folder: Path | None) -> bool:
    """The same files by libvmaf's CUDA program, in turn."""
    reference = os.environ.get("VMAF_CUDA_REFERENCE_BIN")
    if not reference:
        print("peer    left out: name libvmaf's program in VMAF_CUDA_REFERENCE_BIN", flush=True)
        return True
    good = True
    with _clips(folder) as place:
        for name, width, height, depth, part in _CLIPS:
            long = max(12, frames // part)
            clip = _clip(place, name, width, height, depth, part, max(frames, 12 * part))
            good &= _beside(clip, name, (long // 6, long), reference, place)
            if folder is None:
                clip.ref.unlink()
                clip.dis.unlink()
    return good


def _beside(clip: Clip, name: str, lengths: tuple[int, int], reference: str, place: Path) -> bool:
    """Both programs in turn; returns whether both computed on the card."""
    costs: dict[str, list[list[Cost]]] = {"acuity": [], "libvmaf": []}
    for _ in range(_ROUNDS):
        costs["acuity"].append([_ours(clip, count, "cuda", place) for count in lengths])
        costs["libvmaf"].append([_theirs(reference, clip, count, place) for count in lengths])
    marginal = {}
    for program, rounds in costs.items():
        short, long = (min(each, key=lambda cost: cost.seconds) for each in zip(*rounds, strict=True))
        more = long.seconds - short.seconds
        marginal[program] = (lengths[1] - lengths[0]) / more if more > 0 else float("inf")
        print(
            f"peer    {name:12} {program:7} whole {lengths[1] / long.seconds:7.0f} fps "
            f"({long.seconds:.2f} s, {long.peak_mb:.0f} MB)  marginal {marginal[program]:7.0f} fps  "
            f"{lengths[0]} frames {short.seconds:.2f} s  score {long.score:.6f}",
            flush=True,
        )
    # Its program goes on without a card, and says so.
    if any("using CPU" in cost.said for each in costs["libvmaf"] for cost in each):
        print(f"peer    {name:12} NO COMPARISON: libvmaf computed on the CPU", flush=True)
        return False
    print(f"peer    {name:12} marginal {marginal['acuity'] / marginal['libvmaf']:.2f} times", flush=True)
    return True


def _ours(clip: Clip, frames: int, backend: str, place: Path) -> Cost:
    command = [str(Path(sys.executable).parent / "vmaf")]
    wanted = [*MODEL, "--frame_cnt", str(frames), "--backend", backend]
    return run_once(command, clip, _cores(), wanted, place / "ours.json")


def _theirs(reference: str, clip: Clip, frames: int, place: Path) -> Cost:
    wanted = [*MODEL, "--frame_cnt", str(frames)]
    # With threads of the CPU its CUDA path fails: "context could not be synchronized".
    return run_once([reference], clip, 0, wanted, place / "theirs.json")


def _moments(clip: Clip, frames: int, backend: str) -> str:
    """When the phases of one process end, in seconds since it was started."""
    words = [backend, str(clip.ref), str(clip.dis), str(clip.width), str(clip.height), str(frames)]
    begun = time.time()
    command = [sys.executable, "-c", _MOMENTS, repr(begun), *words]
    # Elsewhere bench/cuda.py would hide the package of that name.
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1:]}"
    return f"{done.stdout.strip()} ended={time.time() - begun:.3f}"


def _told(took: Sequence[float]) -> str:
    return f"{min(took):.2f} s ({', '.join(f'{seconds:.2f}' for seconds in took)})"


def _clip(place: Path, name: str, width: int, height: int, depth: int, part: int, frames: int) -> Clip:
    return make_clip(place, name.replace(" ", "_"), width, height, depth, max(2, frames // part))


def _cores() -> int:
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def _clips(folder: Path | None) -> Iterator[Path]:
    """A named folder, which is kept, or one in memory that is removed."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as made:
        yield Path(made)


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before

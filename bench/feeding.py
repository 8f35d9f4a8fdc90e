"""How fast pairs reach a measurement: reading alone, then `psnr` and v0.6.1 beside libvmaf's.

    python bench/feeding.py
    VMAF_REFERENCE_BIN=/path/to/vmaf python bench/feeding.py --threads 1 16

Reading is a pairing that nobody measures, by one thread a video and by several, in turn; its files are in the
page cache. Scoring runs the whole commands in turn, over all frames and over the first few; the difference is
the speed without start-up. The exit code says whether every ratio is what it should be.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pairing import pair_videos
from acuity.video.readers import prefetch
from acuity.video.readers.open import open_video
from clips import Clip, make_clip
from runner import Cost, run_once

OURS = [sys.executable, "-c", "import sys; from acuity.cli.vmaf import main; sys.exit(main())", "--no_cuda"]
FEW = 16  # frames of a run that is start-up, more or less
SIZES = {"1080p": (1920, 1080), "2160p": (3840, 2160)}


class Case(NamedTuple):
    """What is scored, and how many times libvmaf's speed it should have."""

    name: str
    wanted: tuple[str, ...]
    least: float  # with one thread
    least_many: float


CASES = (
    Case("psnr", ("--no_prediction", "--feature", "psnr"), 1.5, 1.5),
    Case("v0.6.1", ("-m", "version=vmaf_v0.6.1"), 2.0, 2.2),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="1080p")
    parser.add_argument("--depth", type=int, choices=(8, 10), default=8)
    parser.add_argument("--frames", type=int, default=600, help="of the clip (default 600)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds in turn (default 3)")
    parser.add_argument("--threads", type=int, nargs="*", help="thread counts (default: 1 and all cores)")
    parser.add_argument("--folder", type=Path, help="keep clips here (default: a temporary folder)")
    parser.add_argument("--only", choices=["reading", *(case.name for case in CASES)], nargs="*")
    args = parser.parse_args()
    threads = args.threads or sorted({1, len(os.sched_getaffinity(0))})
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        clip = make_clip(folder, f"feed_{args.size}_{args.depth}", *SIZES[args.size], args.depth, args.frames)
        print(f"{args.frames} frames of {args.size} at {args.depth} bit, medians of {args.rounds} rounds")
        if not args.only or "reading" in args.only:
            reading(clip, args.rounds)
        for case in CASES:
            if not args.only or case.name in args.only:
                for count in threads:
                    good &= scoring(case, clip, count, args.rounds, folder / "report.json")
    sys.exit(0 if good else 1)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Let at most so many threads read a video."""
    before, prefetch._MOST_THREADS = prefetch._MOST_THREADS, threads  # type: ignore[misc]
    try:
        yield
    finally:
        prefetch._MOST_THREADS = before  # type: ignore[misc]


def reading(clip: Clip, rounds: int) -> None:
    """Pairs a second of reading, without anybody who measures them."""
    many = prefetch._MOST_THREADS
    for luma_only, align in ((True, "refuse"), (False, "refuse"), (False, "off")):
        spent: dict[int, list[float]] = {1: [], many: []}
        for _ in range(rounds):
            for threads, seconds in spent.items():
                with at_most(threads):
                    seconds.append(read_once(clip, luma_only=luma_only, align=align))
        rates = {threads: clip.frames / statistics.median(seconds) for threads, seconds in spent.items()}
        planes = "luma alone" if luma_only else "all planes"
        looked = "" if align != "off" else ", alignment not looked at"
        told = "  ".join(f"{threads} thread(s) a video {rate:7.0f} fps" for threads, rate in rates.items())
        print(f"  reading, {planes + looked:38} {told}  {rates[many] / rates[1]:.2f} times", flush=True)


def read_once(clip: Clip, *, luma_only: bool, align: str) -> float:
    videos = (
        open_video(
            path,
            width=clip.width,
            height=clip.height,
            pixel_format="420",
            bitdepth=clip.depth,
            luma_only=luma_only,
        )
        for path in (clip.ref, clip.dis)
    )
    options = PairOptions(align="off") if align == "off" else PairOptions()
    with pair_videos(*videos, options=options) as pairing:
        begin = time.perf_counter()
        for pair in pairing:
            del pair
        return time.perf_counter() - begin


def scoring(case: Case, clip: Clip, threads: int, rounds: int, report: Path) -> bool:
    """Run both programs in turn; returns whether the ratio is enough."""
    binaries = {"acuity": OURS}
    if reference := os.environ.get("VMAF_REFERENCE_BIN"):
        binaries["libvmaf"] = [reference]
    few: dict[str, list[Cost]] = {name: [] for name in binaries}
    whole: dict[str, list[Cost]] = {name: [] for name in binaries}
    for _ in range(rounds):
        for name, binary in binaries.items():
            wanted = [*case.wanted, "--frame_cnt", str(FEW)]
            few[name].append(run_once(binary, clip, threads, wanted, report))
            whole[name].append(run_once(binary, clip, threads, list(case.wanted), report))
    print(f"  {case.name:7} {threads:3} thread(s)", end="")
    rates = {}
    for name in binaries:
        start, end = (statistics.median(cost.seconds for cost in costs[name]) for costs in (few, whole))
        rates[name] = (clip.frames - FEW) / max(end - start, 1e-6), clip.frames / end
        print(
            f"  {name} {rates[name][0]:7.1f} fps, whole run {rates[name][1]:7.1f}, "
            f"score {whole[name][0].score:.6f}",
            end="",
        )
    good = True
    if len(rates) == 2:
        ratios = [ours / theirs for ours, theirs in zip(rates["acuity"], rates["libvmaf"], strict=True)]
        least = case.least if threads == 1 else case.least_many
        good = ratios[0] >= least
        print(f"  {ratios[0]:.2f} times (whole run {ratios[1]:.2f}), at least {least}", end="")
    print("" if good else "  MISSED", flush=True)
    return good


if __name__ == "__main__":
    main()

"""Speed and memory as ratios against a named peer, measured in one run.

    make bench                                     Acuity alone
    VMAF_REFERENCE_BIN=/path/to/vmaf make bench    beside libvmaf's own `vmaf`, in turn

Both programs score the same files in alternation, so that other load on the machine affects both.
Every line shows the scores beside the speed, because speed is worth nothing if the score is wrong.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from clips import Clip, make_clip
from runner import Cost, score_once, score_stream

MODEL = "version=vmaf_v0.6.1"
BOTH = [MODEL, "version=vmaf_v0.6.1neg:name=neg"]
# name, width, height, depth, frames: long enough for start-up not to show
CLIPS = [
    ("1080p 8-bit", 1920, 1080, 8, 240),
    ("1080p 10-bit", 1920, 1080, 10, 120),
    ("2160p 8-bit", 3840, 2160, 8, 96),
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds of each case (default 5)")
    parser.add_argument("--threads", type=int, nargs="*", help="thread counts (default: 1 and all cores)")
    parser.add_argument("--folder", type=Path, help="keep clips here (default: a temporary folder)")
    parser.add_argument("--memory-frames", type=int, nargs=2, default=(50, 500), metavar=("FEW", "MANY"))
    parser.add_argument(
        "--lengthen", type=int, default=1, help="clips this many times as long, for many cores (default 1)"
    )
    parser.add_argument("--skip-memory", action="store_true")
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    threads = args.threads or sorted({1, cores})
    ours = [str(Path(sys.executable).parent / "vmaf")]
    reference = os.environ.get("VMAF_REFERENCE_BIN")
    print(
        f"{platform.machine()}, {_cpu()}, {cores} cores; Acuity {_version(ours)}"
        + (f"; reference {reference} {_version([reference])}" if reference else "; no reference binary")
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        clips = [
            make_clip(folder, name.replace(" ", "_"), width, height, depth, frames * args.lengthen)
            for name, width, height, depth, frames in CLIPS
        ]
        report = folder / "report.json"
        speed(ours, reference, clips, threads, args.rounds, report)
        two_models(ours, clips[0], threads, args.rounds, report)
        if not args.skip_memory:
            memory(ours, reference, clips[2], args.memory_frames, folder)
    start_up(ours, args.rounds)


def speed(
    ours: list[str], reference: str | None, clips: list[Clip], threads: list[int], rounds: int, report: Path
) -> None:
    print(f"\nSpeed, {MODEL}, median fps (lowest … highest) of {rounds} rounds")
    for clip in clips:
        for count in threads:
            mine: list[Cost] = []
            theirs: list[Cost] = []
            for _ in range(rounds):
                mine.append(score_once(ours, clip, count, [MODEL], report))
                if reference:
                    theirs.append(score_once([reference], clip, count, [MODEL], report))
            line = (
                f"  {clip.name:13} {count:2} thread(s)  acuity {_fps(clip, mine)} score {mine[0].score:.6f}"
            )
            if theirs:
                ratio = _median(theirs) / _median(mine)
                line += f"   libvmaf {_fps(clip, theirs)} score {theirs[0].score:.6f}   ratio {ratio:.2f}"
            print(line, flush=True)


def two_models(ours: list[str], clip: Clip, threads: list[int], rounds: int, report: Path) -> None:
    print("\nv0.6.1 and v0.6.1neg together against v0.6.1 alone")
    for count in threads:
        alone: list[Cost] = []
        both: list[Cost] = []
        for _ in range(rounds):
            alone.append(score_once(ours, clip, count, [MODEL], report))
            both.append(score_once(ours, clip, count, BOTH, report))
        ratio = _median(both) / _median(alone)
        print(
            f"  {clip.name:13} {count:2} thread(s)  {_fps(clip, alone)} alone, {_fps(clip, both)} both, "
            f"cost x{ratio:.2f}",
            flush=True,
        )


def memory(ours: list[str], reference: str | None, clip: Clip, frames: tuple[int, int], folder: Path) -> None:
    print(f"\nPeak memory, {clip.name}, 2 threads")
    for name, binary in (("acuity", ours), ("libvmaf", [reference] if reference else None)):
        if binary:
            costs = [score_stream(binary, clip, 2, count, folder) for count in frames]
            peaks = ", ".join(f"{c.peak_mb:.0f} MB at {n} frames" for c, n in zip(costs, frames, strict=True))
            print(f"  {name:8} {peaks}", flush=True)


def start_up(ours: list[str], rounds: int) -> None:
    def best(command: list[str]) -> float:
        times = []
        for _ in range(max(rounds, 5)):
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - begin)
        return statistics.median(times)

    plain = best([sys.executable, "-c", "import numpy"])
    package = best([sys.executable, "-c", "import numpy, acuity"])
    print(
        f"\nStart: vmaf --version {best([*ours, '--version']):.3f} s; "
        f"import acuity {max(package - plain, 0):.3f} s on top of numpy's {plain:.3f} s"
    )


def _median(costs: list[Cost]) -> float:
    return statistics.median(c.seconds for c in costs)


def _fps(clip: Clip, costs: list[Cost]) -> str:
    rates = sorted(clip.frames / c.seconds for c in costs)
    return f"{statistics.median(rates):7.2f} ({rates[0]:.2f} … {rates[-1]:.2f})"


def _version(binary: list[str]) -> str:
    done = subprocess.run([*binary, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"


if __name__ == "__main__":
    main()

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
from dataclasses import dataclass
from pathlib import Path

from clips import Clip, make_clip
from runner import Cost, run_once, score_once, score_stream

MODEL = "version=vmaf_v0.6.1"
BOTH = [MODEL, "version=vmaf_v0.6.1neg:name=neg"]
V1 = "version=vmaf_v1.0.16_3d0h"
# name, width, height, depth, frames, models: long enough for start-up not to show
CLIPS = [
    ("1080p 8-bit", 1920, 1080, 8, 240, (MODEL, V1)),
    ("1080p 10-bit", 1920, 1080, 10, 120, (MODEL,)),
    ("2160p 8-bit", 3840, 2160, 8, 96, (MODEL,)),
]
SHORT = 24  # frames of a clip of which start-up is a part


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds of each case (default 5)")
    parser.add_argument("--threads", type=int, nargs="*", help="thread counts (default: 1 and all cores)")
    parser.add_argument("--folder", type=Path, help="keep clips here (default: a temporary folder)")
    parser.add_argument("--memory-frames", type=int, nargs=2, default=(50, 500), metavar=("FEW", "MANY"))
    parser.add_argument(
        "--lengthen", type=float, default=1, help="clips this many times as long, for many cores (default 1)"
    )
    parser.add_argument(
        "--cpumask", default="0", help="instruction sets that neither may use (48: no AVX-512)"
    )
    parser.add_argument("--skip-memory", action="store_true")
    parser.add_argument("--skip-two-models", action="store_true")
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
        cases = [
            (
                make_clip(
                    folder, name.replace(" ", "_"), width, height, depth, round(frames * args.lengthen)
                ),
                models,
            )
            for name, width, height, depth, frames, models in CLIPS
        ]
        clips = [clip for clip, _ in cases]
        report = folder / "report.json"
        programs = [[*ours, "--no_cuda"]] + ([[reference]] if reference else [])
        bench = Bench([[*program, "--cpumask", args.cpumask] for program in programs], args.rounds, report)
        print(f"\nSpeed, median fps (lowest … highest) of {args.rounds} rounds; [ratio without start-up]")
        for clip, models in cases:
            for model in models:
                for count in threads:
                    bench.show(clip, count, model)
        print(f"\n{SHORT} frames, whole process")
        for count in threads:
            bench.show(clips[0], count, MODEL, frames=SHORT)
        if not args.skip_two_models:
            two_models(ours, clips[0], threads, args.rounds, report)
        if not args.skip_memory:
            memory(ours, reference, clips[2], args.memory_frames, folder)
    start_up(ours, args.rounds)


@dataclass(frozen=True)
class Bench:
    """Runs our program, and libvmaf's if there is one, in turn over the same clip."""

    programs: list[list[str]]
    rounds: int
    report: Path

    def show(self, clip: Clip, threads: int, model: str, frames: int | None = None) -> None:
        """Print both speeds; with `frames`, those of so many first frames."""
        count = frames or clip.frames
        whole: list[list[Cost]] = [[] for _ in self.programs]
        start: list[list[Cost]] = [[] for _ in self.programs]
        for _ in range(self.rounds):
            for program, costs, first in zip(self.programs, whole, start, strict=True):
                costs.append(self._run(program, clip, threads, model, count))
                if frames is None:
                    first.append(self._run(program, clip, threads, model, 1))
        line = f"  {clip.name:13} {model.removeprefix('version='):18} {threads:2} thread(s)"
        for name, costs in zip(("acuity", "libvmaf"), whole, strict=False):
            line += f"  {name} {_fps(count, costs)} score {costs[0].score:.6f} "
        if len(whole) > 1:
            line += f" ratio {_median(whole[1]) / _median(whole[0]):.2f}"
            if frames is None:
                net = [_median(costs) - _median(first) for costs, first in zip(whole, start, strict=True)]
                line += f" [{net[1] / net[0]:.2f}]"
        print(line, flush=True)

    def _run(self, program: list[str], clip: Clip, threads: int, model: str, frames: int) -> Cost:
        return run_once(program, clip, threads, ["-m", model, "--frame_cnt", str(frames)], self.report)


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
            f"  {clip.name:13} {count:2} thread(s)  {_fps(clip.frames, alone)} alone, "
            f"{_fps(clip.frames, both)} both, "
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


def _fps(frames: int, costs: list[Cost]) -> str:
    rates = sorted(frames / c.seconds for c in costs)
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

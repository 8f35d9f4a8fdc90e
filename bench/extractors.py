"""Compares every extractor and VMAF v1 with libvmaf's: speed as a ratio, with the figures.

    VMAF_REFERENCE_BIN=/path/to/vmaf python bench/extractors.py [--only NAME …] [--rounds N]

Both programs take turns over the same 1080p files. The time of runs over the first frame alone is subtracted,
so that start-up doesn't count. The exit code says whether every ratio is within its limit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from clips import Clip, make_clip
from runner import run_once


@dataclass(frozen=True)
class Case:
    name: str
    wanted: tuple[str, ...]
    frames: int  # so that libvmaf has a few seconds of work
    least: float  # ratio to libvmaf's frames a second
    depth: int = 8


def feature(text: str, frames: int, least: float = 1.0, depth: int = 8) -> Case:
    return Case(text.partition("=")[0], ("--no_prediction", "--feature", text), frames, least, depth)


CASES = (
    Case("vmaf_v1.0.16_3d0h", ("-m", "version=vmaf_v1.0.16_3d0h"), 60, 2.0),
    Case("vmaf_v1.0.16_5d0h", ("-m", "version=vmaf_v1.0.16_5d0h"), 60, 1.0),
    feature("ciede", 6, 5.0),
    feature("float_ms_ssim", 12, 5.0),
    feature("cambi", 120, 1.5),
    feature("speed_chroma", 240, 1.5),
    feature("speed_temporal", 240, 1.5),
    feature("psnr_hvs", 40, 1.5),
    feature("float_ssim", 120, 1.5),
    feature("psnr", 240),
    feature("float_psnr", 240),
    feature("float_ansnr", 60),
    feature("float_moment", 240),
    feature("float_motion", 240),
    feature("float_vif", 8),
    feature("float_adm", 40),
    feature("adm", 120),
    feature("motion", 240),
    feature("vif", 60),
    feature("cambi", 80, 1.0, 10),
    feature("psnr", 120, 1.0, 10),
    feature("motion", 120, 1.0, 10),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds of each case (default 3)")
    parser.add_argument("--threads", type=int, nargs="*", help="thread counts (default: 1 and all cores)")
    parser.add_argument("--folder", type=Path, help="keep clips here (default: a temporary folder)")
    parser.add_argument("--only", nargs="*", choices=sorted({case.name for case in CASES}))
    args = parser.parse_args()
    reference = os.environ.get("VMAF_REFERENCE_BIN")
    threads = args.threads or sorted({1, len(os.sched_getaffinity(0))})
    binaries = {"acuity": [str(Path(sys.executable).parent / "vmaf")]}
    if reference:
        binaries["libvmaf"] = [reference]
    good = True
    print(f"frames a second of 1080p, {args.rounds} rounds in turn, medians; start-up taken off")
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        clips = {
            depth: make_clip(folder, f"colour_{depth}", 1920, 1080, depth, 240)
            for depth in sorted({case.depth for case in CASES if not args.only or case.name in args.only})
        }
        for case in CASES:
            if not args.only or case.name in args.only:
                for count in threads:
                    good &= compare(case, binaries, clips[case.depth], count, args.rounds, folder)
    sys.exit(0 if good else 1)


def compare(
    case: Case, binaries: dict[str, list[str]], clip: Clip, threads: int, rounds: int, folder: Path
) -> bool:
    """One line of the table, and whether its ratio is enough."""
    frames = min(case.frames * threads, clip.frames)
    spent: dict[str, list[list[float]]] = {name: [[], []] for name in binaries}
    scores = {}
    for _ in range(rounds):
        for name, binary in binaries.items():
            for count, seconds in zip((1, frames), spent[name], strict=True):
                wanted = [*case.wanted, "--frame_cnt", str(count)]
                cost = run_once(binary, clip, threads, wanted, folder / "report.json")
                seconds.append(cost.seconds)
            scores[name] = cost.score
    rates = {
        name: (frames - 1) / max(statistics.median(whole) - statistics.median(start), 1e-6)
        for name, (start, whole) in spent.items()
    }
    line = f"  {case.name:18} {case.depth:2} bit {threads:2} thread(s)"
    for name, rate in rates.items():
        line += f"  {name} {rate:8.2f} fps, {scores[name]:.6f}"
    if len(rates) < 2:
        print(line, flush=True)
        return True
    ratio = rates["acuity"] / rates["libvmaf"]
    line += f"  ratio {ratio:.2f}, at least {case.least}"
    print(line + ("" if ratio >= case.least else "  MISSED"), flush=True)
    return ratio >= case.least


if __name__ == "__main__":
    main()

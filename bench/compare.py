"""One reference with several encodes: `acuity.compare` against as many separate runs of `acuity score`.

    python bench/compare.py                          # 8 encodes at 1080p, H.264 mezzanine, 3 turns
    python bench/compare.py --reference ffv1         # or hevc, raw
    python bench/compare.py --encodes 4 --size 1280x720 --frames 96 --turns 5
    python bench/compare.py --profile                # CPU time by part: decoding, signatures, extractors

Both sides are processes of their own, started anew each time and taking turns, so start-up counts and a busy
machine slows both. The ratio is of pairs a second in one run of this program; figures must be equal to the
last bit.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import av
import numpy as np

from clips import make_clip

CRFS = (17, 20, 23, 26, 29, 32, 35, 38, 41, 44)
REFERENCES: dict[str, tuple[str, str, dict[str, str]]] = {
    "h264": ("ref.mp4", "libx264", {"crf": "10", "preset": "veryfast"}),
    "hevc": (
        "ref_hevc.mp4",
        "libx265",
        {"crf": "10", "preset": "ultrafast", "x265-params": "log-level=error"},
    ),
    "ffv1": ("ref.mkv", "ffv1", {"slices": "4"}),
    "raw": ("", "", {}),
}
_SCORE = "from acuity.cli.main import main; import sys; sys.exit(main())"
_COMPARE = """
import json, sys
from acuity.comparison.request import ComparePair, ComparisonRequest
from acuity.comparison.run import compare_videos
from acuity.scoring.request import Request
reference, settings, *encodes = sys.argv[1:]
pairs = [ComparePair(reference, path) for path in encodes]
report = compare_videos(ComparisonRequest(pairs, Request("", "", **json.loads(settings)), remember=False))
for row in report.rows:
    if row.error: sys.exit(row.error)
json.dump([row.report.to_dict(per_frame=True) for row in report.rows], sys.stdout)
"""


def encode(source: Path, size: tuple[int, int], target: Path, codec: str, options: dict[str, str]) -> Path:
    """The raw video, encoded; left alone if an earlier run has made it."""
    if target.exists():
        return target
    width, height = size
    part = target.with_suffix(f".part{target.suffix}")
    frames = np.memmap(source, np.uint8, "r").reshape(-1, height * 3 // 2, width)
    with av.open(str(part), "w") as out:
        stream = out.add_stream(codec, rate=25, options=options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for frame in frames:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="yuv420p")))
        out.mux(stream.encode(None))
    part.rename(target)
    return target


class Usage:
    """Wall and CPU seconds of processes, and the largest of their peaks of memory."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self.peak_mb = 0.0

    def run(self, command: list[str], output: Path) -> Any:
        with output.open("wb") as out:
            begin = time.perf_counter()
            process = subprocess.Popen(command, stdout=out)
            _, status, usage = os.wait4(process.pid, 0)
        if code := os.waitstatus_to_exitcode(status):
            sys.exit(f"exit status {code}: {' '.join(command[-9:])}")
        self.wall += time.perf_counter() - begin
        self.cpu += usage.ru_utime + usage.ru_stime
        self.peak_mb = max(self.peak_mb, usage.ru_maxrss / 1024)
        return json.loads(output.read_bytes())


def figures(documents: list[dict[str, Any]]) -> str:
    """A digest of every figure of every frame."""
    told = [[entry["per_frame"], entry["score"]] for entry in documents]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def separate(
    reference: Path, encodes: list[Path], geometry: list[str], folder: Path
) -> tuple[Usage, list[Any]]:
    usage, found = Usage(), []
    for path in encodes:
        command = [sys.executable, "-c", _SCORE, "score", str(reference), str(path), *geometry]
        found.append(usage.run([*command, "--json", "--per-frame"], folder / "score.json"))
    return usage, found


def together(
    reference: Path, encodes: list[Path], settings: dict[str, Any], folder: Path
) -> tuple[Usage, list[Any]]:
    usage = Usage()
    command = [sys.executable, "-c", _COMPARE, str(reference), json.dumps(settings), *map(str, encodes)]
    return usage, usage.run(command, folder / "compare.json")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", choices=REFERENCES, default="h264")
    parser.add_argument("--encodes", type=int, default=8)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--frames", type=int, default=48)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "acuity-bench-compare")
    parser.add_argument(
        "--profile", action="store_true", help="CPU time by part, of a comparison in this process"
    )
    arguments = parser.parse_args()
    width, height = map(int, arguments.size.split("x"))
    folder = arguments.folder / f"{arguments.size}_{arguments.frames}"
    folder.mkdir(parents=True, exist_ok=True)
    clip = make_clip(folder, "clip", width, height, 8, arguments.frames)
    name, codec, options = REFERENCES[arguments.reference]
    reference = encode(clip.ref, (width, height), folder / name, codec, options) if name else clip.ref
    crfs = [CRFS[index % len(CRFS)] + index // len(CRFS) for index in range(arguments.encodes)]
    encodes = [
        encode(
            clip.ref,
            (width, height),
            folder / f"crf{crf}.mp4",
            "libx264",
            {"crf": str(crf), "preset": "veryfast"},
        )
        for crf in crfs
    ]
    geometry, settings = [], {}
    if not name:
        geometry = [
            "--width",
            str(width),
            "--height",
            str(height),
            "--pixel-format",
            "420",
            "--bitdepth",
            "8",
        ]
        settings = {"width": width, "height": height, "pixel_format": "420", "bitdepth": 8}
    if arguments.profile:
        profile(reference, encodes, settings)
        return
    pairs = arguments.frames * len(encodes)
    ratios, savings = [], []
    for turn in range(arguments.turns):
        alone, one = separate(reference, encodes, geometry, folder)
        beside, other = together(reference, encodes, settings, folder)
        if figures(one) != figures(other):
            sys.exit("the figures differ")
        ratios.append(alone.wall / beside.wall)
        savings.append(alone.cpu / beside.cpu)
        print(
            f"turn {turn + 1}: separate {pairs / alone.wall:.1f} pairs/s ({alone.cpu:.1f} s CPU, "
            f"{alone.peak_mb:.0f} MB), together {pairs / beside.wall:.1f} pairs/s ({beside.cpu:.1f} s CPU, "
            f"{beside.peak_mb:.0f} MB): {ratios[-1]:.2f} times, CPU {savings[-1]:.2f} times; "
            f"figures equal ({figures(other)})",
            flush=True,
        )
    scores = ", ".join(f"{entry['score']:.4f}" for entry in one)
    print(f"scores: {scores}")
    print(
        f"{len(encodes)} encodes of {arguments.size}, {arguments.reference} reference, "
        f"{os.cpu_count()} cores: {statistics.median(ratios):.2f} times the pairs per second of separate "
        f"runs (from {min(ratios):.2f} to {max(ratios):.2f}), {statistics.median(savings):.2f} times less CPU"
    )


def profile(reference: Path, encodes: list[Path], settings: dict[str, Any]) -> None:
    """CPU milliseconds of each part of one pair, measured alone: what sharing saves, and what it can't."""
    from acuity.devices.cpu import CpuDevice
    from acuity.features import get_extractor
    from acuity.features.extractor import Frame, Geometry, Pair
    from acuity.video.alignment.signature import sign
    from acuity.video.pairs.content import ContentFigures
    from acuity.video.readers.open import open_video

    def decoded(path: Path, **geometry: Any) -> tuple[float, list[Any], Any]:
        begin, count, kept = time.process_time(), 0, []
        with open_video(path, luma_only=True, **geometry) as video:
            for picture in video:
                count += 1
                kept += [picture] if count <= 2 else []
        return 1000 * (time.process_time() - begin) / count, kept, video.info

    def timed(work: Any, times: int = 16) -> float:
        work()
        begin = time.thread_time()
        for _ in range(times):
            work()
        return 1000 * (time.thread_time() - begin) / times

    once, (before, ref), info = decoded(reference, **settings)
    found = [decoded(path) for path in encodes]
    dis = found[-1][1]
    lane = CpuDevice().lane(Geometry(info.width, info.height, info.format.depth))
    frame = Frame(1, ref, dis[1], (Pair(before, dis[0]),))
    parts = {"reference decoded (shared)": once}
    parts["encode decoded"] = statistics.mean(entry[0] for entry in found)
    for name in ("vif", "adm", "motion"):
        runner = lane.runner(get_extractor(name), [get_extractor(name)()])
        parts[f"{name}{' (shared)' if name == 'motion' else ''}"] = timed(lambda run=runner: run(frame))
    parts["signature of the reference (shared)"] = timed(lambda: sign(ref))
    look, numbers = ContentFigures(info, full_range=False), itertools.count()
    parts["look for bars and range"] = timed(lambda: look.see(ref, next(numbers)), 64)
    whole = sum(parts.values())
    shared = sum(value for name, value in parts.items() if "(shared)" in name)
    for name, value in parts.items():
        print(f"{name:<40}{value:8.2f} ms {100 * value / whole:5.1f} %")
    count = len(encodes)
    bound = whole / (whole - shared + shared / count)
    print(
        f"a pair: {whole:.1f} ms; shared by {count}: {bound:.2f} times the pairs per second, without start-up"
    )


if __name__ == "__main__":
    main()

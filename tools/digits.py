"""Prints the figures by which two builds of the package are compared, one a line with all its digits.

python tools/digits.py     # with the Python whose package is meant; on another machine too
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

WIDTH, HEIGHT, FRAMES = 224, 176, 3  # of the clips: no extractor takes much smaller ones


def digits() -> list[str]:
    """Every figure that `vmaf` reports for two made-up clips; instruction sets have to agree."""
    from acuity import _native

    sets = [name for name, runs in _native.instruction_sets() if runs]
    figures: list[str] = []
    for depth in (8, 10):
        with tempfile.TemporaryDirectory() as folder:
            make_clips(Path(folder), depth)
            found = {name: _figures(Path(folder), depth, name) for name in sets}
        odd = [name for name in sets if found[name] != found["plain"]]
        if odd:
            raise SystemExit(f"{depth} bit: {', '.join(odd)} and plain give different digits")
        figures += found["plain"]
    return figures


def make_clips(folder: Path, depth: int) -> None:
    """Writes ref.yuv, blurred noise, and dis.yuv, the same in coarser steps."""
    import numpy as np

    noise = np.random.Generator(np.random.PCG64(depth)).integers(
        0, 1 << depth, size=(FRAMES, WIDTH * HEIGHT * 3 // 2)
    )
    ref = (noise + np.roll(noise, 1, 1) + np.roll(noise, WIDTH, 1)) // 3
    dis = (ref // 5 * 5 + noise % 3).clip(0, (1 << depth) - 1)
    kind = np.dtype(np.uint8 if depth == 8 else "<u2")
    ref.astype(kind).tofile(folder / "ref.yuv")
    dis.astype(kind).tofile(folder / "dis.yuv")


def _figures(folder: Path, depth: int, instruction_set: str) -> list[str]:
    from acuity.cli.vmaf import main as vmaf
    from acuity.features import EXTRACTORS

    videos = ["-r", str(folder / "ref.yuv"), "-d", str(folder / "dis.yuv")]
    geometry = ["-w", str(WIDTH), "-h", str(HEIGHT), "-p", "420", "-b", str(depth)]
    report = ["-o", str(folder / "report.json"), "--json", "--precision", "max", "-q"]
    os.environ["ACUITY_CPU"] = instruction_set
    if vmaf([*videos, *geometry, *report, *(f"--feature={name}" for name in EXTRACTORS)]) != 0:
        raise SystemExit(f"vmaf failed with ACUITY_CPU={instruction_set}")
    frames = json.loads((folder / "report.json").read_text())["frames"]
    return [
        f"{depth} bit, frame {frame['frameNum']}: {name} {value!r}"
        for frame in frames
        for name, value in frame["metrics"].items()
    ]


if __name__ == "__main__":
    print("\n".join(digits()))

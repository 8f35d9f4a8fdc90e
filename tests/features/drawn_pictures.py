"""Pictures made by integer formulas, the same on every machine, so that libvmaf could measure them too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from acuity.video.picture import Picture, PixelFormat

Grid = np.ndarray[Any, np.dtype[np.int64]]
Draw = Callable[[Grid, Grid, int, int], Grid]  # columns, rows, bits, frame


def noise(x: Grid, y: Grid, seed: int) -> Grid:
    """0 to 65535, without a pattern."""
    v = (x * 73856093) ^ (y * 19349663) ^ (seed * 83492791)
    v = ((v ^ (v >> 13)) * 0x5BD1E995) & 0xFFFFFFFF
    return (v ^ (v >> 15)) & 0xFFFF


def _detail(x: Grid, y: Grid, depth: int, frame: int) -> Grid:
    """Waves that move, with grain, at any depth."""
    waves = np.abs((x * 5 + y * 3 + frame * 4) % 128 - 64) + np.abs((x * 2 - y * 7 - frame) % 96 - 48)
    coarse = 60 + waves + noise(x, y, frame) % 16
    return (coarse << (depth - 8)) + (noise(y, x, frame + 9) & ((1 << (depth - 8)) - 1))


def _worse(x: Grid, y: Grid, depth: int, frame: int) -> Grid:
    step = 12 << (depth - 8)
    return _detail(x, y, depth, frame) // step * step + (noise(x, y, frame + 5) & ((4 << (depth - 8)) - 1))


def _flat(part: int) -> Draw:
    return lambda x, y, depth, frame: np.full_like(x, ((1 << depth) - 1) * part)


def _noise(seed: int) -> Draw:
    return lambda x, y, depth, frame: noise(x, y, seed + 3 * frame) & ((1 << depth) - 1)


def _board(odd: int) -> Draw:
    return lambda x, y, depth, frame: ((x + y + odd + frame) & 1) * ((1 << depth) - 1)


def _ramp(coarse: int) -> Draw:
    return lambda x, y, depth, frame: ((x * 2 + y + frame) % 250 // coarse * coarse) << (depth - 8)


# What the reference looks like, and what the distorted picture does.
PATTERNS: Final[dict[str, tuple[Draw, Draw]]] = {
    "detail": (_detail, _worse),
    "identical": (_detail, _detail),
    "black against white": (_flat(0), _flat(1)),
    "noise": (_noise(1), _noise(2)),
    "checkerboards": (_board(0), _board(1)),
    "gradients": (_ramp(1), _ramp(7)),
}


def made_picture(draw: Draw, width: int, height: int, depth: int, subsampling: str, frame: int) -> Picture:
    form = PixelFormat(subsampling, depth)
    planes = []
    for index, (rows, columns) in enumerate(form.plane_shapes(width, height)):
        y, x = np.mgrid[0:rows, 0:columns].astype(np.int64)
        planes.append(draw(x + 100 * index, y, depth, frame).astype(form.dtype))
    return Picture(tuple(planes), form)


def made_pairs(
    pattern: str, width: int = 64, height: int = 48, depth: int = 8, subsampling: str = "420", frames: int = 2
) -> list[tuple[Picture, Picture]]:
    ref, dis = (
        [made_picture(draw, width, height, depth, subsampling, frame) for frame in range(frames)]
        for draw in PATTERNS[pattern]
    )
    return list(zip(ref, dis, strict=True))

"""Pictures that SpEED is tested with, made from integers alone, and measuring them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import formula_pictures
from acuity.measure import Results
from acuity.video.picture import Picture, PixelFormat, Samples

Plane = NDArray[np.int64]
# A sample of 16 bits by column, row, and a number that says which plane of which frame of which picture.
Pattern = Callable[[Plane, Plane, int], Plane]

FRAMES: Final = 2


def scrambled(x: Plane, y: Plane, seed: int) -> Plane:
    mixed = (x * 73856093) ^ (y * 19349663) ^ (seed * 83492791)
    mixed = ((mixed ^ (mixed >> 13)) * 1540483477) & 0xFFFFFFFF
    return (mixed ^ (mixed >> 15)) & 0xFFFF


def tiles(x: Plane, y: Plane, seed: int) -> Plane:
    """Squares of random grey, the same in both pictures, with noise."""
    return (scrambled(x // 20, y // 20, seed // 2) * 3 + scrambled(x, y, seed)) // 4


PATTERNS: Final[dict[str, Pattern]] = {
    "scrambled": scrambled,
    "tiles": tiles,
    "gradient": lambda x, y, seed: (x * 90 + y * 70 + seed * 50) % 65536,
    "checkerboard": lambda x, y, seed: (x + y + seed) % 2 * 65535,
    "black_or_white": lambda x, y, seed: 0 * x + seed % 2 * 65535,
    "identical": lambda x, y, seed: tiles(x, y, seed // 2 * 2),
    "one_flat_chroma_plane": lambda x, y, seed: tiles(x, y, seed) if seed // 2 % 3 != 1 else 0 * x + 30000,
    "one_flat_picture": lambda x, y, seed: tiles(x, y, seed) if seed % 2 else 0 * x + 30000,
}


def picture(
    pattern: str, size: tuple[int, int], layout: str, depth: int, frame: int, *, worse: bool
) -> Picture:
    form = PixelFormat(layout, depth)
    planes: list[Samples] = []
    for number, (rows, columns) in enumerate(form.plane_shapes(*size)):
        y, x = np.mgrid[0:rows, 0:columns]
        samples = PATTERNS[pattern](x, y, (frame * 3 + number) * 2 + worse) >> (16 - depth)
        planes.append(samples.astype(form.dtype))
    return Picture(tuple(planes), form)


def measure(
    pattern: str,
    size: tuple[int, int],
    layout: str,
    depth: int,
    *features: str,
    frames: int = FRAMES,
    **options: Any,
) -> Results:
    pairs = (
        [picture(pattern, size, layout, depth, frame, worse=worse) for worse in (False, True)]
        for frame in range(frames)
    )
    return formula_pictures.measure(pairs, *features, **{"threads": 1, **options})

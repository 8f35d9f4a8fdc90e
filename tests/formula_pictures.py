"""Pictures made by integer formulas, the same on every machine, which other programs measured too."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acuity.measure import Measurement, Results
from acuity.video.made_up import scatter, triangle
from acuity.video.picture import Picture, PixelFormat


def plane(shape: tuple[int, int], depth: int, index: int, seed: int) -> NDArray[Any]:
    """Waves that move with the index, on the right half with texture, and a little noise; seeds differ."""
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(np.int64)
    value = 9000 + 220 * triangle(x + 3 * index + 11 * seed, 120) + 170 * triangle(y * 2 - index, 90)
    value += np.where(x > shape[1] // 2, 900 * triangle(3 * x + 2 * y + index, 10), 0)
    value += scatter(x, y, index * 8 + seed) % 1500
    return np.clip(value, 0, 65535) >> (16 - depth)


def damage(samples: NDArray[Any], depth: int, index: int, seed: int, steps: int = 24) -> NDArray[Any]:
    """Coarser values and some noise, below the top quarter."""
    y, x = np.mgrid[0 : samples.shape[0], 0 : samples.shape[1]].astype(np.int64)
    step = max(1, (steps << depth) >> 10)
    coarse = samples // step * step + scatter(x, y, 1000 + index * 8 + seed) % step
    worse = np.where(y >= samples.shape[0] // 4, coarse, samples)
    return np.clip(worse, 0, (1 << depth) - 1)


def picture(planes: list[NDArray[Any]], layout: str, depth: int) -> Picture:
    form = PixelFormat(layout, depth)
    return Picture(tuple(p.astype(form.dtype) for p in planes), form)


@lru_cache(maxsize=4)
def pair(width: int, height: int, layout: str, depth: int, index: int = 0) -> tuple[Picture, Picture]:
    shapes = PixelFormat(layout, depth).plane_shapes(width, height)
    ref = [plane(shape, depth, index, seed) for seed, shape in enumerate(shapes)]
    dis = [damage(samples, depth, index, seed) for seed, samples in enumerate(ref)]
    return picture(ref, layout, depth), picture(dis, layout, depth)


def pattern(kind: str, width: int, height: int, layout: str, depth: int, seed: int = 0) -> Picture:
    """black, white, checkers of one sample, a gradient, or noise over the full range."""
    peak = (1 << depth) - 1
    planes = []
    for number, (rows, columns) in enumerate(PixelFormat(layout, depth).plane_shapes(width, height)):
        y, x = np.mgrid[0:rows, 0:columns].astype(np.int64)
        planes.append(
            {
                "black": 0 * x,
                "white": 0 * x + peak,
                "checkers": (x + y + seed) % 2 * peak,
                "gradient": (x * peak) // max(columns - 1, 1),
                "noise": scatter(x, y, seed * 4 + number) >> (32 - depth),
            }[kind]
        )
    return picture(planes, layout, depth)


def measure(pairs: Iterable[Any], *features: str, bitdepth: int | None = None, **options: Any) -> Results:
    """The results of pairs of pictures, or of tuples of planes, which have a depth if they are words."""
    with Measurement(**options) as measurement:
        for feature in features:
            measurement.add_feature(feature)
        for ref, dis in pairs:
            measurement.add(ref, dis, bitdepth=bitdepth)
        measurement.flush()
        return measurement.results()

"""Pairs of pictures made of whole numbers, the same on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.uint8] | NDArray[np.uint16]


def pair(width: int, height: int, depth: int, kind: str) -> tuple[Plane, Plane]:
    """A reference and, by kind, the same picture, a noisy one that is a little brighter, or its negative.

    Of kind "flat" both have one value everywhere.
    """
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    peak = (1 << depth) - 1
    waves = (x * 9 + y * 5) % 256 - 128
    ref = peak // 2 + (abs(waves) - 64 + (x * y * 7919) % 31) * peak // 300
    noise = (x * 7621 + y * 3571 + x * y * 131) % 97 - 40
    if kind == "flat":
        ref = 0 * ref + (peak + 1) // 2
    dis = {"flat": ref, "same": ref, "noisy": ref + noise * peak // 1000, "inverse": peak - ref}[kind]
    return _plane(ref, depth), _plane(dis, depth)


def _plane(values: NDArray[np.int64], depth: int) -> Plane:
    clipped = values.clip(0, (1 << depth) - 1)
    return clipped.astype(np.uint8) if depth == 8 else clipped.astype(np.uint16)

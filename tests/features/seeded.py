"""Small pictures by formula, the same on every machine, for which libvmaf's figures are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from acuity import _native
from acuity.features import get_extractor
from acuity.features.extractor import CpuContext, Frame, Geometry
from acuity.features.options import OptionValue
from acuity.video.picture import Picture, PixelFormat

Plane = NDArray[np.uint8] | NDArray[np.uint16]


def plane(rows: int, columns: int, depth: int, salt: int, noise: int) -> Plane:
    """A slanted wave of the plane's own with noise on it, one part in `noise` of the range."""
    y, x = np.mgrid[0:rows, 0:columns].astype(np.uint32)
    wave = (x * (7 + salt % 5) + y * (5 + salt % 3)) % 192
    folded = np.where(wave < 96, wave, 191 - wave) + 80
    h = (x * 0x9E3779B1 + y * 0x85EBCA77 + (salt * 0xC2B2AE3D & 0xFFFFFFFF)).astype(np.uint32)
    h = (h ^ (h >> 15)) * np.uint32(0x2C1B3C6D)
    h = (h ^ (h >> 12)) * np.uint32(0x297A2D39)
    samples = (folded << (depth - 8)) + (h >> 16) * ((1 << depth) // noise) // 0xFFFF
    return np.asarray(samples).astype(np.uint8 if depth == 8 else np.uint16)


def picture(
    width: int, height: int, layout: str, depth: int, salt: int, *, noise: int = 8, round_up: bool = True
) -> Picture:
    pixel_format = PixelFormat(layout, depth)
    shapes = pixel_format.plane_shapes(width, height, round_up=round_up)
    planes = tuple(plane(*shape, depth, salt + 10 * i, noise) for i, shape in enumerate(shapes))
    return Picture(planes, pixel_format)


def pair(
    width: int, height: int, layout: str, depth: int, *, round_up: bool = True
) -> tuple[Picture, Picture]:
    """A reference and the same waves with other noise."""
    ref, dis = (
        picture(width, height, layout, depth, salt, noise=noise, round_up=round_up)
        for salt, noise in ((0, 16), (15, 8))
    )
    return ref, dis


def figures(
    name: str,
    ref: Picture,
    dis: Picture,
    options: Mapping[str, OptionValue] | None = None,
    instruction_set: str = "",
) -> dict[str, float]:
    """An extractor's figures for one pair of pictures."""
    extractor = get_extractor(name)(options)
    chroma = ref.planes[1].shape[::-1] if len(ref.planes) > 1 else None
    geometry = Geometry(ref.width, ref.height, ref.format.depth, chroma)
    extractor.check_size(geometry)
    runner = type(extractor).runner([extractor], geometry, CpuContext(_native.Workspace(), instruction_set))
    found = runner(Frame(0, ref, dis))
    assert set(extractor.keys(late=False)) <= set(found)
    return found


def same(ours: Sequence[float], theirs: Sequence[float], within: float) -> bool:
    """Whether all are as near as that; infinities must be the same."""
    return all(
        one == other or (math.isfinite(one) and abs(one - other) <= within)
        for one, other in zip(ours, theirs, strict=True)
    )

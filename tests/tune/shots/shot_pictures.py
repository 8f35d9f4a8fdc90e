"""Generates pictures of shots: textures, pans, fades and flashes, and a reader of them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.reader import BaseReader, VideoInfo
from video_clips import clip

Plane = NDArray[np.float64]


def texture(seed: int, width: int = 160, height: int = 96, low: float = 30, high: float = 220) -> Plane:
    """A smooth random picture with large and small shapes, between two samples."""
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width))
    for cells, weight in ((4, 1.0), (9, 0.6), (24, 0.3)):
        nodes = rng.random((cells, cells))
        y, x = np.linspace(0, cells - 1.001, height), np.linspace(0, cells - 1.001, width)
        iy, ix = y.astype(int), x.astype(int)
        fy, fx = (y - iy)[:, None], (x - ix)[None, :]
        top = nodes[iy][:, ix] * (1 - fx) + nodes[iy][:, ix + 1] * fx
        bottom = nodes[iy + 1][:, ix] * (1 - fx) + nodes[iy + 1][:, ix + 1] * fx
        total += weight * (top * (1 - fy) + bottom * fy)
    total = (total - total.min()) / (total.max() - total.min())
    return low + (high - low) * total


def still(picture: Plane, frames: int) -> list[Plane]:
    return [picture] * frames


def pan(seed: int, frames: int, step: int, width: int = 160, height: int = 96) -> list[Plane]:
    """A wide picture that moves by `step` samples a frame."""
    wide = np.hstack([texture(seed + part, width, height) for part in range(1 + frames * step // width + 1)])
    return [wide[:, step * index : step * index + width] for index in range(frames)]


def noisy(planes: Iterable[Plane], sigma: float, seed: int = 5) -> list[Plane]:
    rng = np.random.default_rng(seed)
    return [plane + rng.normal(0, sigma, plane.shape) for plane in planes]


def blend(one: Plane, other: Plane, frames: int) -> list[Plane]:
    """A dissolve, without its ends."""
    return [one + (other - one) * (step + 1) / (frames + 1) for step in range(frames)]


class PlaneReader(BaseReader):
    """A reader of luma planes in steps of 8-bit samples."""

    def __init__(self, planes: Iterable[Plane], depth: int = 8, rate: int = 24) -> None:
        super().__init__()
        self._planes = iter(planes)
        self._format = PixelFormat("400", depth)
        self.info = VideoInfo("made", "y4m", 160, 96, self._format, rate=Fraction(rate))

    def read(self) -> Picture | None:
        plane = next(self._planes, None)
        if plane is None:
            return None
        scale = 1 << (self._format.depth - 8)
        values: NDArray[Any] = np.clip(np.rint(plane * scale), 0, 256 * scale - 1).astype(self._format.dtype)
        return Picture((values,), self._format)

    def close(self) -> None:
        pass


def encode_planes(path: Path, planes: Iterable[Plane], options: dict[str, str]) -> None:
    """Write luma planes as H.264, without colour."""
    shown = []
    for plane in planes:
        luma = np.clip(np.rint(plane), 0, 255).astype(np.uint8)
        colour = np.full((luma.shape[0] // 2, luma.shape[1]), 128, np.uint8)
        shown.append(av.VideoFrame.from_ndarray(np.vstack([luma, colour]), format="yuv420p"))
    clip(path, shown, codec="libx264", pix_fmt="yuv420p", rate=24, options={"preset": "ultrafast", **options})

"""Clips for benchmarks: textured, moving, and visibly degraded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Clip:
    """A pair of raw 4:2:0 files of the same geometry."""

    name: str
    width: int
    height: int
    depth: int
    frames: int
    ref: Path
    dis: Path

    @property
    def geometry(self) -> list[str]:
        return ["-w", str(self.width), "-h", str(self.height), "-p", "420", "-b", str(self.depth)]


def make_clip(folder: Path, name: str, width: int, height: int, depth: int, frames: int) -> Clip:
    """Write both files unless an earlier run has left them."""
    clip = Clip(name, width, height, depth, frames, folder / f"{name}_ref.yuv", folder / f"{name}_dis.yuv")
    size = width * height * 3 // 2 * (1 if depth == 8 else 2) * frames
    if all(p.exists() and p.stat().st_size == size for p in (clip.ref, clip.dis)):
        return clip
    canvas = _texture(width + _TRAVEL, height + _TRAVEL, seed=width)
    made: list[tuple[bytes, bytes]] = []
    with clip.ref.open("wb") as ref, clip.dis.open("wb") as dis:
        for index in range(frames):
            if index < _UNIQUE:
                luma = _window(canvas, width, height, index)
                planes = [luma, *(_chroma(canvas, width, height, index, turn) for turn in (1, 2))]
                made.append((_samples(planes, depth), _samples([_impair(p, index) for p in planes], depth)))
            for file, data in zip((ref, dis), made[index % _UNIQUE], strict=True):
                file.write(data)
    return clip


_TRAVEL = 256  # how far the window moves over the canvas
_UNIQUE = 24  # frames before the clip starts over


def _texture(width: int, height: int, seed: int) -> NDArray[np.float32]:
    """Noise at several scales over a soft gradient: flat, fine and coarse detail in one picture."""
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width), np.float32)
    for cell, strength in ((1, 5.0), (3, 10.0), (16, 24.0), (64, 40.0)):
        coarse = rng.normal(size=(height // cell + 2, width // cell + 2)).astype(np.float32)
        blocks = np.repeat(np.repeat(coarse, cell, 0), cell, 1)[:height, :width]
        total += strength * (blocks + np.roll(blocks, 1, 0) + np.roll(blocks, 1, 1)) / 3
    calm = np.linspace(0.05, 1.0, width, dtype=np.float32)  # the left of the picture is almost flat
    return total * calm + np.linspace(90, 150, height, dtype=np.float32)[:, None]


def _window(canvas: NDArray[np.float32], width: int, height: int, index: int) -> NDArray[np.float32]:
    x, y = 5 * index % _TRAVEL, 3 * index % _TRAVEL
    return canvas[y : y + height, x : x + width]


def _impair(luma: NDArray[np.float32], index: int) -> NDArray[np.float32]:
    """Blur and coarse levels, as a starved encoder leaves them; a little worse now and then."""
    blurred = (luma + np.roll(luma, 1, 0) + np.roll(luma, 1, 1) + np.roll(luma, -1, 1)) / 4
    step = 4 + index % 5
    return np.round(blurred / step) * step


def _chroma(
    canvas: NDArray[np.float32], width: int, height: int, index: int, turn: int
) -> NDArray[np.float32]:
    """Another part of the canvas, half as colourful as it is bright."""
    part = np.roll(canvas, turn * width // 3, 1)[: height // 2, : width // 2]
    return 128 + (np.roll(part, index, 1) - 120) / 2


def _samples(planes: list[NDArray[np.float32]], depth: int) -> bytes:
    top = (1 << depth) - 1
    dtype = np.uint8 if depth == 8 else np.dtype("<u2")
    return b"".join(np.clip(plane * (top / 255), 0, top).astype(dtype).tobytes() for plane in planes)

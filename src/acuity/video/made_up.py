"""Made-up moving pictures: textured, and visibly degraded. The same on every machine, for measuring speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.video.picture import Picture, PixelFormat

_TRAVEL: Final = 256  # how far the window moves over the canvas
# Samples in cells of this size have this strength.
_SCALES: Final = ((1, 5.0), (3, 10.0), (16, 24.0), (64, 40.0))

Canvas = NDArray[np.floating[Any]]
Allocate = Callable[[int], NDArray[np.uint8]]


def moving_pairs(
    width: int, height: int, depth: int, frames: int, allocate: Allocate | None = None
) -> Iterator[tuple[Picture, Picture]]:
    """Pairs of a 4:2:0 picture and a degraded one, in memory that `allocate` gives by its size in bytes."""
    form = PixelFormat("420", depth)
    luma, *chroma = form.plane_shapes(width, height)
    canvas = _texture(width + _TRAVEL, height + _TRAVEL, seed=width)
    take = allocate or _plain
    for index in range(frames):
        planes = [_window(canvas, luma, index)]
        planes += [_chroma(canvas, shape, width, index, turn) for turn, shape in enumerate(chroma, 1)]
        yield _picture(planes, form, take), _picture([_impair(p, index) for p in planes], form, take)


def _plain(size: int) -> NDArray[np.uint8]:
    return np.empty(size, np.uint8)


def _picture(planes: list[Canvas], form: PixelFormat, allocate: Allocate) -> Picture:
    top = (1 << form.depth) - 1
    samples = []
    for plane in planes:
        memory = allocate(plane.size * form.bytes_per_sample).view(form.dtype).reshape(plane.shape)
        memory[:] = np.clip(plane * (top / 255), 0, top)
        samples.append(memory)
    return Picture(tuple(samples), form)


def _texture(width: int, height: int, seed: int) -> Canvas:
    """Noise at several scales over a soft gradient: flat, fine and coarse detail in one picture."""
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width), np.float32)
    for cell, strength in _SCALES:
        coarse = rng.normal(size=(height // cell + 2, width // cell + 2)).astype(np.float32)
        blocks = np.repeat(np.repeat(coarse, cell, 0), cell, 1)[:height, :width]
        total += strength * (blocks + np.roll(blocks, 1, 0) + np.roll(blocks, 1, 1)) / 3
    calm = np.linspace(0.05, 1.0, width, dtype=np.float32)  # the left of the picture is almost flat
    return total * calm + np.linspace(90, 150, height, dtype=np.float32)[:, None]


def _window(canvas: Canvas, shape: tuple[int, int], index: int) -> Canvas:
    x, y = 5 * index % _TRAVEL, 3 * index % _TRAVEL
    return canvas[y : y + shape[0], x : x + shape[1]]


def _chroma(canvas: Canvas, shape: tuple[int, int], width: int, index: int, turn: int) -> Canvas:
    """Another part of the canvas, half as colourful as it is bright."""
    columns = np.roll((np.arange(shape[1]) - turn * width // 3) % canvas.shape[1], index)
    return 128 + (canvas[: shape[0], columns] - 120) / 2


def _impair(plane: Canvas, index: int) -> Canvas:
    """Blur and coarse levels, as a starved encoder leaves them; a little worse now and then."""
    blurred = (plane + np.roll(plane, 1, 0) + np.roll(plane, 1, 1) + np.roll(plane, -1, 1)) / 4
    step = 4 + index % 5
    return np.round(blurred / step) * step

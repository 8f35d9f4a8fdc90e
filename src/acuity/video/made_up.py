"""Made-up moving pictures: textured, and visibly degraded, the same on every machine.

moving_pairs() is for measuring speed. formula_pairs() uses integers alone, so its samples depend neither on
the machine nor on a library: golden digits belong to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.video import buffers
from acuity.video.picture import Picture, PixelFormat

_TRAVEL: Final = 256  # how far the window moves over the canvas
# Samples in cells of this size have this strength.
_SCALES: Final = ((1, 5.0), (3, 10.0), (16, 24.0), (64, 40.0))

Canvas = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]


def moving_pairs(
    width: int, height: int, depth: int, frames: int, allocate: buffers.Allocate | None = None
) -> Iterator[tuple[Picture, Picture]]:
    """Pairs of a 4:2:0 picture and a degraded one, in memory that `allocate` gives by its size in bytes."""
    form = PixelFormat("420", depth)
    luma, *chroma = form.plane_shapes(width, height)
    canvas = _texture(width + _TRAVEL, height + _TRAVEL, seed=width)
    take = allocate or buffers.allocate
    for index in range(frames):
        planes = [_window(canvas, luma, index)]
        planes += [_chroma(canvas, shape, width, index, turn) for turn, shape in enumerate(chroma, 1)]
        yield _picture(planes, form, take), _picture([_impair(p, index) for p in planes], form, take)


def formula_pairs(
    width: int, height: int, layout: str, depth: int, frames: int
) -> Iterator[tuple[Picture, Picture]]:
    """Pairs of a picture and a degraded one: a calm left third, with bands, and a busy rest that moves."""
    form = PixelFormat(layout, depth)
    for index in range(frames):
        sides: list[list[NDArray[Any]]] = [[], []]
        for plane, shape in enumerate(form.plane_shapes(width, height)):
            for side, samples in zip(sides, _formula(shape, plane, index), strict=True):
                side.append((np.clip(samples, 0, 0xFFFF) >> (16 - depth)).astype(form.dtype))
        yield Picture(tuple(sides[0]), form), Picture(tuple(sides[1]), form)


def _formula(shape: tuple[int, int], plane: int, index: int) -> tuple[Integers, Integers]:
    """A plane and its degraded copy, in 16 bits: noise becomes bands, contrast and detail are lost."""
    row, column = np.mgrid[: shape[0], : shape[1]].astype(np.int64)
    x, y = column + 3 * index, row + 2 * index
    smooth = (18000, 30000, 28000)[plane] + 30 * triangle(x, 600) + 22 * triangle(y + 40 * plane, 500)
    coarse = (scatter(x // 12, y // 12, plane) >> 16) // (8, 24, 20)[plane]
    fine = (700 * triangle(3 * x + 2 * y, 10) + (scatter(x, y, plane) >> 16) // 24) // (1, 4, 4)[plane]
    noise = np.where(row < shape[0] // 3, 0, scatter(column, row, 8 * index + plane) >> 23)
    busy = column >= shape[1] // 3
    blunt = (13 + 2 * (index % 2)) * coarse // 16 + 3 * fine // 4 // 512 * 512
    return smooth + np.where(busy, coarse + fine, noise), smooth + np.where(busy, blunt, 256)


def scatter(x: Integers, y: Integers, seed: int) -> Integers:
    """32 bits for each place that look like chance."""
    mixed = (x * 73856093) ^ (y * 19349663) ^ (seed * 83492791)
    mixed = ((mixed ^ (mixed >> 15)) * 2246822519) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 13)) * 3266489917) & 0xFFFFFFFF
    return mixed ^ (mixed >> 16)


def triangle(value: Integers, period: int) -> Integers:
    """A wave of straight lines, 0 to period // 2."""
    return np.abs(value % period - period // 2)


def _picture(planes: list[Canvas], form: PixelFormat, allocate: buffers.Allocate) -> Picture:
    top = (1 << form.depth) - 1
    samples = []
    for plane in planes:
        room = allocate(plane.size * form.bytes_per_sample)
        memory = np.frombuffer(room, form.dtype, plane.size).reshape(plane.shape)
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

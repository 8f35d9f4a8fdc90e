"""Colour differences: libvmaf's figures, and its way with chroma."""

from __future__ import annotations

import math

import numpy as np
import pytest

from acuity.video.picture import Picture, PixelFormat
from seeded import Plane, figures, pair, picture


def ciede(ref: Picture, dis: Picture, instruction_set: str = "") -> float:
    return figures("ciede", ref, dis, instruction_set=instruction_set)["ciede2000"]


def full(picture: Picture, chroma: tuple[Plane, ...]) -> Picture:
    """The picture in 4:4:4, with chroma planes of that size."""
    return Picture((picture.luma, *chroma), PixelFormat("444", picture.format.depth))


@pytest.mark.parametrize(("width", "height"), [(35, 23), (34, 23), (35, 22), (1, 1), (1, 9), (9, 1)])
def test_odd_chroma_is_that_of_the_nearest_sample(width: int, height: int) -> None:
    both = pair(width, height, "420", 8)
    repeated = [
        full(p, tuple(c.repeat(2, 0).repeat(2, 1)[:height, :width] for c in p.planes[1:])) for p in both
    ]
    assert ciede(*both) == ciede(repeated[0], repeated[1])


@pytest.mark.parametrize("width", [20, 64, 66, 90, 128])
def test_422_is_read_with_its_rows_halved(width: int) -> None:
    """libvmaf's own mistake: it runs on into the padding and the next row."""
    height = 12

    def as_read(chroma: Plane) -> Plane:
        memory = np.zeros((height, -(-chroma.shape[1] // 32) * 32), chroma.dtype)
        memory[:, : chroma.shape[1]] = chroma
        starts = np.arange(height) // 2 * memory.shape[1]
        return np.asarray(memory.ravel()[starts[:, None] + np.arange(width)])

    both = pair(width, height, "422", 10)
    seen = [full(p, tuple(as_read(c) for c in p.planes[1:])) for p in both]
    assert ciede(*both) == ciede(seen[0], seen[1])


def test_equal_pictures_are_infinitely_good() -> None:
    same = picture(20, 10, "420", 8, 3)
    assert ciede(same, same) == math.inf

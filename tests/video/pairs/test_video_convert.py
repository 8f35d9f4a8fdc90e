"""Steps that make pictures comparable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity.video.pairs.convert import Deepen, Fit, Resample, Turn
from acuity.video.picture import Picture, PixelFormat
from video_clips import random_planes


def picture(format: PixelFormat, width: int, height: int, seed: int = 0, *, round_up: bool = True) -> Picture:
    return Picture(tuple(random_planes(format, width, height, seed, round_up=round_up)), format, 1.5)


def flat(format: PixelFormat, width: int, height: int, *values: int) -> Picture:
    shapes = format.plane_shapes(width, height)
    planes = (np.full(s, v, format.dtype) for s, v in zip(shapes, values, strict=True))
    return Picture(tuple(planes), format)


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from(["400", "420", "444"]), st.sampled_from([8, 10]))
def test_four_quarter_turns_make_a_whole_one(width: int, height: int, layout: str, depth: int) -> None:
    start = picture(PixelFormat(layout, depth), width, height)
    turned = Turn(90)(start)
    assert [p.shape for p in turned.planes] == start.format.plane_shapes(height, width)
    assert np.array_equal(turned.luma[0], start.luma[::-1, 0])  # what was left is now on top
    assert np.array_equal(Turn(180)(start).luma, Turn(90)(turned).luma)
    assert np.array_equal(Turn(270)(turned).luma, start.luma)
    assert all(plane.flags.c_contiguous for plane in turned.planes)
    assert turned.pts == 1.5


@pytest.mark.parametrize(("start", "end"), [(8, 10), (8, 16), (10, 12), (9, 10)])
def test_deepening_limited_range_shifts(start: int, end: int) -> None:
    before = picture(PixelFormat("420", start), 9, 5)
    after = Deepen(end, False)(before)
    assert after.format == PixelFormat("420", end)
    for old, new in zip(before.planes, after.planes, strict=True):
        assert new.dtype == np.uint16
        assert np.array_equal(new, old.astype(np.uint16) << (end - start))


def test_deepening_full_range_keeps_black_and_white() -> None:
    start = Picture((np.array([[0, 255, 128]], np.uint8),), PixelFormat("400", 8))
    assert Deepen(10, True)(start).luma.tolist() == [[0, 1023, 514]]
    assert Deepen(16, True)(start).luma.tolist() == [[0, 65535, 32896]]


@pytest.mark.parametrize("layout", ["400", "420", "422", "444"])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
def test_scaling_keeps_flat_colours(layout: str, depth: int) -> None:
    format = PixelFormat(layout, depth)
    unit = 1 << (depth - 8)
    values = (180 * unit,) if layout == "400" else (180 * unit, 90 * unit, 140 * unit)
    scaled = Fit(33, 17, format, False, False)(flat(format, 64, 36, *values))
    assert scaled.format == format
    assert [p.shape for p in scaled.planes] == format.plane_shapes(33, 17)
    for plane, value in zip(scaled.planes, values, strict=True):
        assert np.abs(plane.astype(int) - value).max() <= 1
        assert plane.dtype == format.dtype


def test_scaling_is_bicubic() -> None:
    """A bicubic filter overshoots at an edge, which no bilinear one does."""
    format = PixelFormat("420", 8)
    edge = flat(format, 64, 32, 60, 128, 128)
    edge.luma[:, 32:] = 180
    scaled = Fit(128, 64, format, False, False)(edge)
    assert scaled.luma.max() > 182
    assert scaled.luma.min() < 58


def test_scaling_does_not_depend_on_threads_or_time() -> None:
    format = PixelFormat("420", 10)
    start = picture(format, 320, 180)
    step, other = (Fit(640, 360, format, False, False) for _ in range(2))
    first = step(start)
    assert all(np.array_equal(first.luma, again(start).luma) for again in (step, other))


def test_ranges_are_converted() -> None:
    format = PixelFormat("420", 8)
    for full, luma, expected in ((True, 255, 235), (True, 0, 16), (False, 235, 255)):
        converted = Fit(16, 16, format, full, not full)(flat(format, 16, 16, luma, 128, 128))
        assert (converted.luma == expected).all()
    gray = PixelFormat("400", 8)
    assert (Fit(16, 16, gray, False, True)(flat(gray, 16, 16, 16)).luma == 0).all()


@pytest.mark.parametrize("target", ["400", "420", "422", "444"])
@pytest.mark.parametrize("source", ["400", "420", "422", "444"])
def test_another_chroma_layout_leaves_luma_alone(source: str, target: str) -> None:
    start = picture(PixelFormat(source, 10), 31, 17)
    end = Resample(PixelFormat(target, 10), False)(start)
    assert end.luma is start.luma
    assert [p.shape for p in end.planes] == PixelFormat(target, 10).plane_shapes(31, 17)
    if source == "400":
        assert all((plane == 512).all() for plane in end.planes[1:])


def test_pictures_read_without_chroma_stay_without() -> None:
    start = picture(PixelFormat("420", 8), 16, 16)
    luma = Picture(start.planes[:1], start.format)
    assert len(Resample(PixelFormat("444", 8), False)(luma).planes) == 1
    assert len(Fit(8, 8, PixelFormat("420", 8), False, False)(luma).planes) == 1
    assert len(Turn(90)(luma).planes) == 1


def test_chroma_that_was_rounded_down_can_be_scaled() -> None:
    format = PixelFormat("420", 8)
    start = picture(format, 31, 17, round_up=False)
    shapes = [p.shape for p in Fit(62, 34, format, False, False)(start).planes]
    assert shapes == [(34, 62), (17, 31), (17, 31)]

"""Heat maps: where the loss is, at every size, depth and layout."""

from __future__ import annotations

import itertools
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from acuity.frames.heat_map import heat_map
from acuity.video.picture import LAYOUTS, Picture, PixelFormat


def noise(width: int, height: int, layout: str = "420", depth: int = 8, seed: int = 0) -> Picture:
    format = PixelFormat(layout, depth)
    random = np.random.default_rng(seed)
    shapes = format.plane_shapes(width, height)
    top = (1 << depth) - 1
    return Picture(
        tuple(random.integers(0, top, s, endpoint=True).astype(format.dtype) for s in shapes), format
    )


def flat(width: int, height: int, values: tuple[int, ...], layout: str = "420", depth: int = 8) -> Picture:
    format = PixelFormat(layout, depth)
    shapes = format.plane_shapes(width, height)
    return Picture(tuple(np.full(s, v, format.dtype) for s, v in zip(shapes, values, strict=False)), format)


def pixels(ref: Picture, dis: Picture) -> NDArray[np.float32]:
    return heat_map(ref, dis).pixels(0, ref.height)


@pytest.mark.parametrize(("layout", "depth"), list(itertools.product(LAYOUTS, (8, 10, 16))))
@pytest.mark.parametrize("size", [(64, 48), (17, 33), (16, 16), (3, 5), (1, 1), (130, 66)])
def test_equal_pictures_have_no_loss(size: tuple[int, int], layout: str, depth: int) -> None:
    picture = noise(*size, layout, depth)
    found = heat_map(picture, deepcopy(picture))
    assert found.mean == pytest.approx(0, abs=1e-4)
    assert found.pixels(0, size[1]).shape == (size[1], size[0])
    box = found.worst_region()
    assert box.x + box.width <= size[0]
    assert box.y + box.height <= size[1]


@given(
    width=st.integers(200, 400),
    height=st.integers(160, 300),
    left=st.floats(0, 1),
    top=st.floats(0, 1),
    depth=st.sampled_from([8, 10]),
)
def test_a_damaged_rectangle_is_found(width: int, height: int, left: float, top: float, depth: int) -> None:
    ref = noise(width, height, "420", depth)
    dis = deepcopy(ref)
    x, y = int(left * (width - 40)), int(top * (height - 32))
    dis.planes[0][y : y + 32, x : x + 40] = 1 << (depth - 1)
    loss = pixels(ref, dis)
    assert loss[y + 8 : y + 24, x + 8 : x + 32].min() > 0.5
    outside = np.ones((height, width), bool)
    outside[max(y - 32, 0) : y + 64, max(x - 32, 0) : x + 72] = False
    assert loss[outside].max() < 0.05
    box = heat_map(ref, dis).worst_region()
    assert box.x % 2 == box.y % 2 == 0
    assert box.x <= x + 2 <= x + 38 <= box.x + box.width
    assert box.y <= y + 2 <= y + 30 <= box.y + box.height


@pytest.mark.parametrize("layout", ["420", "422", "444"])
def test_colour_alone_counts(layout: str) -> None:
    ref = flat(160, 120, (90, 128, 128), layout)
    dis = deepcopy(ref)
    rows, columns = dis.planes[1].shape
    dis.planes[1][: rows // 2, : columns // 2] += 24
    loss = pixels(ref, dis)
    assert loss[:50, :70].min() == pytest.approx(0.5, abs=0.01)
    assert loss[70:, :].max() < 1e-6
    assert loss[:, 90:].max() < 1e-6


def test_brightness_alone_counts() -> None:
    dark, light = flat(64, 64, (60, 128, 128)), flat(64, 64, (92, 128, 128))
    assert pixels(dark, light).min() > 0.5


@pytest.mark.parametrize("values", [(0, 0, 0), (128, 128, 128), (255, 255, 255)])
def test_constant_pictures(values: tuple[int, int, int]) -> None:
    with np.errstate(all="raise"):
        assert heat_map(flat(70, 50, values), flat(70, 50, values)).mean == 0
        found = heat_map(flat(70, 50, values), flat(70, 50, (40, 40, 40))).cells
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1


def test_the_scale_is_that_of_8_bit() -> None:
    """The same pictures with more bits have the same loss."""
    ref, dis = noise(96, 80, seed=1), noise(96, 80, seed=2)
    deep = [
        Picture(tuple(plane.astype(np.uint16) << 2 for plane in picture.planes), PixelFormat("420", 10))
        for picture in (ref, dis)
    ]
    np.testing.assert_allclose(heat_map(*deep).cells, heat_map(ref, dis).cells, atol=1e-5)


def test_the_region_of_a_small_picture_is_all_of_it() -> None:
    box = heat_map(noise(50, 40, seed=1), noise(50, 40, seed=2)).worst_region()
    assert box == (0, 0, 50, 40)
    box = heat_map(noise(1280, 720, "400", seed=1), noise(1280, 720, "400", seed=2)).worst_region()
    assert (box.width, box.height) == (320, 180)

"""Pixel formats: names, shapes, sizes."""

from __future__ import annotations

import pytest

from acuity.errors import InputError
from acuity.video.picture import PixelFormat


@pytest.mark.parametrize(
    ("name", "depth", "expected"),
    [
        ("420", 8, PixelFormat("420", 8)),
        ("420", None, PixelFormat("420", 8)),
        ("422", 10, PixelFormat("422", 10)),
        ("420p10", None, PixelFormat("420", 10)),
        ("yuv420p10le", 10, PixelFormat("420", 10)),
        ("YUV444P16LE", None, PixelFormat("444", 16)),
        ("yuv422p", 8, PixelFormat("422", 8)),
        ("gray", None, PixelFormat("400", 8)),
        ("gray12le", None, PixelFormat("400", 12)),
        ("400", 16, PixelFormat("400", 16)),
    ],
)
def test_names_people_write(name: str, depth: int | None, expected: PixelFormat) -> None:
    assert PixelFormat.parse(name, depth) == expected


@pytest.mark.parametrize("name", ["", "421", "nv12", "rgb24", "420p7", "420p100", "yuv420p10be", "420 p"])
def test_unknown_names_are_refused_with_the_choices(name: str) -> None:
    with pytest.raises(InputError, match="400, 420, 422, 444"):
        PixelFormat.parse(name)


def test_a_name_and_a_depth_that_contradict_each_other() -> None:
    with pytest.raises(InputError, match="10 bit, but bit depth 8"):
        PixelFormat.parse("yuv420p10le", 8)


@pytest.mark.parametrize("depth", [7, 17, 0, -1])
def test_depths_out_of_range(depth: int) -> None:
    with pytest.raises(InputError, match=f"bit depth {depth}"):
        PixelFormat("420", depth)


def test_odd_sizes_round_chroma_up_or_down() -> None:
    format = PixelFormat("420", 10)
    assert format.plane_shapes(5, 3) == [(3, 5), (2, 3), (2, 3)]
    assert format.plane_shapes(5, 3, round_up=False) == [(3, 5), (1, 2), (1, 2)]
    assert format.frame_bytes(5, 3) == 2 * (15 + 12)
    assert format.frame_bytes(5, 3, round_up=False) == 2 * (15 + 4)
    assert PixelFormat("422", 8).plane_shapes(5, 3) == [(3, 5), (3, 3), (3, 3)]
    assert PixelFormat("400", 8).plane_shapes(5, 3) == [(3, 5)]

"""Geometry from file names: complete, or refused with what to pass."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.cli.guess import frame_sizes, guess_geometry
from acuity.errors import InputError
from acuity.video.picture import PixelFormat


def raw(folder: Path, name: str, size: int) -> str:
    path = folder / name
    with path.open("wb") as file:
        file.truncate(size)
    return str(path)


@pytest.mark.parametrize(
    ("name", "width", "height", "layout", "depth"),
    [
        ("crowd_64x36_420p10.yuv", 64, 36, "420", 10),
        ("crowd_64x36.yuv420p10le.yuv", 64, 36, "420", 10),
        ("crowd_64x36.yuv42210le.yuv", 64, 36, "422", 10),
        ("crowd_64X36_yuv444p.yuv", 64, 36, "444", 8),
        ("crowd-64x36-8bit-420.yuv", 64, 36, "420", 8),
        ("crowd_64x36_30fps_i420_12b.yuv", 64, 36, "420", 12),
        ("crowd_64x36_400_16bit.raw", 64, 36, "400", 16),
    ],
)
def test_a_name_that_says_everything(
    tmp_path: Path, name: str, width: int, height: int, layout: str, depth: int
) -> None:
    pixels = PixelFormat(layout, depth)
    path = raw(tmp_path, name, 4 * pixels.frame_bytes(width, height))
    geometry = guess_geometry(path)
    assert (geometry.width, geometry.height, geometry.format) == (width, height, pixels)


def test_the_size_settles_the_format_when_only_one_fits(tmp_path: Path) -> None:
    path = raw(tmp_path, "crowd_64x36.yuv", 3 * PixelFormat("420", 8).frame_bytes(64, 36))
    assert guess_geometry(path).format == PixelFormat("420", 8)


def test_several_formats_that_fit_are_not_guessed(tmp_path: Path) -> None:
    path = raw(tmp_path, "crowd_64x36.yuv", 4 * PixelFormat("420", 8).frame_bytes(64, 36))
    with pytest.raises(InputError, match="--pixel-format and --bitdepth"):
        guess_geometry(path)
    assert guess_geometry(path, layout="420", depth=8).format == PixelFormat("420", 8)


def test_what_the_caller_says_wins(tmp_path: Path) -> None:
    path = raw(tmp_path, "crowd_64x36_420p10.yuv", 3 * 32 * 18 * 2)
    geometry = guess_geometry(path, width=32, height=18, layout="400", depth=16)
    assert str(geometry) == "32x18 400 at 16 bit"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("crowd.yuv", "no size"),
        ("crowd_64x36_from_128x72.yuv", "more than one size"),
        ("crowd_64x36_nv12.yuv", "nv12"),
        ("crowd_64x36_yuv420p10be.yuv", "yuv420p10be"),
        ("crowd_64x37.yuv", "not whole frames"),
    ],
)
def test_what_cannot_be_guessed_is_said(tmp_path: Path, name: str, words: str) -> None:
    path = raw(tmp_path, name, 64 * 36 * 3 // 2 * 3)
    with pytest.raises(InputError, match=words) as caught:
        guess_geometry(path)
    assert name in str(caught.value)


def test_deep_samples_of_unknown_depth_are_not_guessed(tmp_path: Path) -> None:
    path = raw(tmp_path, "crowd_64x36_422.yuv", 64 * 36 * 2 * 2)
    with pytest.raises(InputError, match="several formats"):
        guess_geometry(path)
    deep = raw(tmp_path, "crowd_13x11_400.yuv", 13 * 11 * 2)
    assert guess_geometry(deep, depth=10).format == PixelFormat("400", 10)


def test_odd_sizes_fit_with_chroma_rounded_either_way() -> None:
    assert frame_sizes(5, 3, PixelFormat("420", 8)) == {15 + 2 * 6, 15 + 2 * 2}
    assert frame_sizes(5, 3, PixelFormat("422", 10)) == {2 * (15 + 2 * 9), 2 * (15 + 2 * 6)}
    assert frame_sizes(5, 3, PixelFormat("400", 8)) == {15}


@given(st.text(alphabet="0123456789xXpyuvile_.-420b", max_size=30))
def test_any_name_is_read_or_refused_in_words(name: str) -> None:
    with contextlib.suppress(InputError):
        geometry = guess_geometry("nowhere/" + name)
        assert str(geometry.width) in name
        assert str(geometry.height) in name

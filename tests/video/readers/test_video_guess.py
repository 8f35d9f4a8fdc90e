"""Geometry from file names and lengths: complete, or refused with what to pass."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import FormatError, InputError
from acuity.video.picture import PixelFormat
from acuity.video.readers.guess import RawFormat, guess_geometry, other_geometry


def length(layout: str, depth: int, frames: int, width: int = 64, height: int = 36) -> int:
    return frames * PixelFormat(layout, depth).frame_bytes(width, height)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("crowd_64x36_420p10.yuv", "64x36 420 at 10 bit"),
        ("crowd_64x36.yuv420p10le.yuv", "64x36 420 at 10 bit"),
        ("crowd_64x36.yuv42210le.yuv", "64x36 422 at 10 bit"),
        ("crowd_64X36_YUV444P.YUV", "64x36 444 at 8 bit"),
        ("crowd-64x36-8bit-420.yuv", "64x36 420 at 8 bit"),
        ("crowd_64x36_30fps_i420_12b.yuv", "64x36 420 at 12 bit"),
        ("crowd_64x36_400_16bit.raw", "64x36 400 at 16 bit"),
        ("src01_hrc00_576x324_422p10_nn.yuv", "576x324 422 at 10 bit"),
        ("dark_scene_1920x1080_420p_ref.yuv", "1920x1080 420 at 8 bit"),
        ("sparks_dis_480x270.yuv42010le.yuv", "480x270 420 at 10 bit"),
        ("name_3840x2160_444p12.yuv", "3840x2160 444 at 12 bit"),
    ],
)
@pytest.mark.parametrize("size", [1, 64 * 36 * 6, None])
def test_a_name_that_says_everything(name: str, said: str, size: int | None) -> None:
    """The folder's name says nothing; the length isn't asked, so that the reader explains a broken file."""
    assert str(guess_geometry(f"some/4x4_444p16/{name}", size)) == said


@pytest.mark.parametrize("frames", [1, 3, 5])
def test_the_length_settles_the_format_when_only_one_fits(frames: int) -> None:
    """An odd number of 4:2:0 frames is not whole frames of anything else."""
    assert guess_geometry("crowd_64x36.yuv", length("420", 8, frames)).format == PixelFormat("420", 8)
    assert guess_geometry("crowd_64x36_10b.yuv", length("420", 10, frames)).format == PixelFormat("420", 10)


@pytest.mark.parametrize(
    ("name", "layout", "depth", "frames"),
    [
        ("crowd_64x36.yuv", "420", 8, 4),  # or 10-bit, or fewer frames of 4:4:4
        ("crowd_64x36.yuv", "422", 8, 1),  # or two frames of gray
        ("crowd_64x36_8bit.yuv", "422", 8, 1),
        ("crowd_64x36_422.yuv", "422", 10, 1),  # or two frames of 8-bit
        ("akiyo_22x18.yuv", "420", 8, 2),
    ],
)
def test_several_formats_that_fit_are_not_guessed(name: str, layout: str, depth: int, frames: int) -> None:
    width, height = (22, 18) if "22x18" in name else (64, 36)
    size = length(layout, depth, frames, width, height)
    with pytest.raises(InputError, match=r"several formats.*pixel_format= and bitdepth=") as caught:
        guess_geometry(name, size)
    assert f"{layout} {'8' if depth == 8 else '10 to 16'}-bit" in str(caught.value)
    assert guess_geometry(name, size, layout=layout, depth=depth).format == PixelFormat(layout, depth)


def test_what_the_caller_says_wins() -> None:
    geometry = guess_geometry("crowd_64x36_420p10.yuv", 32 * 18, width=32, height=18, layout="400", depth=16)
    assert str(geometry) == "32x18 400 at 16 bit"
    assert guess_geometry("crowd_nv12.yuv", 1, width=32, height=18, layout="420", depth=8).width == 32
    assert guess_geometry("crowd_64x36_420p.yuv", 1, height=18).height == 18


def said_otherwise(name: str, size: int | None, width: int, height: int, layout: str, depth: int) -> str:
    other = other_geometry(name, size, RawFormat(width, height, PixelFormat(layout, depth)))
    return "" if other is None else other.said


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("crowd_64x36_420p.yuv", (36, 64, "420", 8), "64x36"),
        ("crowd_64x36_420p.yuv", (64, 36, "422", 8), "420"),
        ("crowd_64x36_8bit.yuv", (64, 36, "420", 10), "8 bit"),
        ("crowd_64x36_yuvj420p.yuv", (64, 36, "420", 10), "8 bit"),
        ("crowd_64x36_420p.yuv", (36, 64, "444", 16), "64x36 420 8 bit"),
        ("crowd_64x36_nv12.yuv", (64, 36, "420", 8), "nv12"),
        ("crowd_64x36_from_64x72.yuv", (72, 64, "420", 8), "64x36 or 64x72"),
        ("crowd_64x36_from_64x72.yuv", (64, 72, "420", 8), ""),
        ("crowd_64x36_420p.yuv", (64, 36, "420", 8), ""),
        ("crowd.yuv", (36, 64, "420", 8), ""),
        ("crowd_62x34_420p.yuv", (64, 36, "420", 8), ""),  # the length refutes the name
    ],
)
def test_names_that_contradict_the_geometry(name: str, given: tuple[int, int, str, int], words: str) -> None:
    assert said_otherwise(name, length("420", 8, 4), *given) == words
    assert said_otherwise("crowd_62x34_420p.yuv", None, 64, 36, "420", 8) == "62x34"  # of a pipe


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("crowd.yuv", "no size.*width= and height="),
        ("blue_sky_360p_10b.yuv", "no size"),
        ("a_0x720.yuv", "no size"),
        ("a_123456x720.yuv", "no size"),
        ("crowd_64x36_from_128x72.yuv", "more than one size"),
        ("crowd_64x36_nv12.yuv", "nv12.*Y4M"),
        ("crowd_64x36_yuv420p10be.yuv", "yuv420p10be"),
        ("crowd_64x37.yuv", "not whole frames"),
    ],
)
def test_what_cannot_be_guessed_is_said(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        guess_geometry(name, length("420", 8, 3))
    assert f"'{name}'" in str(caught.value)


def test_only_what_is_missing_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"pipe.*pixel_format= and bitdepth="):
        guess_geometry("crowd_64x36.yuv", None)
    with pytest.raises(InputError, match=r"pass height=$"):
        guess_geometry("crowd.yuv", 1000, width=64)


@pytest.mark.parametrize(("width", "height"), [(0, 36), (64, -1), (70000, 2)])
def test_sizes_no_video_has(width: int, height: int) -> None:
    with pytest.raises(FormatError, match=f"{width}x{height}"):
        guess_geometry("crowd.yuv", 1000, width=width, height=height)


@given(
    st.text(alphabet="0123456789xXpyuvile_.-420b", max_size=30), st.one_of(st.none(), st.integers(0, 1 << 40))
)
def test_any_name_is_read_or_refused_in_words(name: str, size: int | None) -> None:
    with contextlib.suppress(InputError):
        geometry = guess_geometry("nowhere/" + name, size)
        assert str(geometry.width) in name
        assert str(geometry.height) in name


@given(st.sampled_from(["400", "420", "422", "444"]), st.sampled_from([8, 10, 12, 16]), st.integers(1, 40))
def test_a_guess_is_never_wrong(layout: str, depth: int, frames: int) -> None:
    """Whatever a file of that name may hold: if an answer comes, it is the right one."""
    with contextlib.suppress(InputError):
        found = guess_geometry("c_64x36.yuv", length(layout, depth, frames))
        assert found.format == PixelFormat(layout, depth)

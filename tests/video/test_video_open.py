"""open_video(): what opens what, and what it says when it needs to know more."""

from __future__ import annotations

import io
import os
from fractions import Fraction
from pathlib import Path

import pytest

from acuity.errors import FormatError, InputError, TruncatedError
from acuity.video.guess import Geometry, guess_geometry
from acuity.video.open import open_video
from acuity.video.picture import PixelFormat
from video_clips import all_same, encode, random_planes, raw_bytes, y4m_bytes

FORMAT = PixelFormat("420", 8)
FRAMES = [random_planes(FORMAT, 16, 10, seed) for seed in range(3)]


def test_geometry_means_raw_whatever_the_name(tmp_path: Path) -> None:
    path = tmp_path / "clip.bin"
    path.write_bytes(raw_bytes(FRAMES))
    reader = open_video(path, width=16, height=10, pixel_format="420", bitdepth=8, rate=Fraction(50))
    assert (reader.info.kind, reader.info.rate) == ("raw", 50)
    assert all_same(reader, FRAMES)
    reader.close()


@pytest.mark.parametrize("name", ["clip.y4m", "clip.mp4", "clip"])
def test_y4m_is_known_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(y4m_bytes(FRAMES, "W16 H10"))
    reader = open_video(str(path))
    assert reader.info.kind == "y4m"
    assert all_same(reader, FRAMES)
    reader.close()
    with pytest.raises(FormatError, match="leave out the geometry"):
        open_video(path, width=16, height=10, pixel_format="420", bitdepth=8)


def test_anything_else_is_a_container(tmp_path: Path) -> None:
    reader = open_video(encode(tmp_path / "clip.mkv"), threads=1, luma_only=True)
    assert reader.info.kind == "container"
    assert [len(picture.planes) for picture in reader] == [1] * 10
    reader.close()


def test_raw_video_without_geometry_says_what_to_pass(tmp_path: Path) -> None:
    path = tmp_path / "clip_16x10.yuv"
    path.write_bytes(raw_bytes(FRAMES))
    with pytest.raises(FormatError) as caught:
        open_video(path)
    assert all(flag in str(caught.value) for flag in ("--width", "--height", "--pixel_format", "--bitdepth"))
    reader = open_video(path, guess=True)
    assert reader.info.extra["guessed"] == "16x10 420 at 8 bit, from its name"
    assert all_same(reader, FRAMES)
    reader.close()
    (tmp_path / "clip.yuv").write_bytes(raw_bytes(FRAMES))
    with pytest.raises(FormatError, match="raw video"):
        open_video(tmp_path / "clip.yuv", guess=True)
    wrong = tmp_path / "clip_32x16.yuv"
    wrong.write_bytes(raw_bytes(FRAMES))
    with pytest.raises(TruncatedError, match="32x16"):
        open_video(wrong, guess=True)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"width": 16}, "height, pixel format, bit depth are missing"),
        ({"width": 16, "height": 10, "pixel_format": "420"}, "bit depth is missing"),
        ({"width": 16, "height": 10, "bitdepth": 8}, "pixel format is missing"),
    ],
)
def test_half_a_geometry_is_refused(tmp_path: Path, given: dict[str, object], missing: str) -> None:
    with pytest.raises(InputError, match=missing):
        open_video(tmp_path / "clip.yuv", **given)  # type: ignore[arg-type]


def test_unknown_pixel_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown pixel format '411'"):
        open_video(tmp_path / "clip.yuv", width=16, height=10, pixel_format="411", bitdepth=8)


def test_missing_files_and_directories(tmp_path: Path) -> None:
    for name in ("none.mp4", "none.yuv", "none.y4m", "none"):
        with pytest.raises(InputError, match="does not exist"):
            open_video(tmp_path / name)
    with pytest.raises(InputError, match="directory"):
        open_video(tmp_path)
    with pytest.raises(InputError, match="only local files"):
        open_video("https://localhost/clip.mp4")


@pytest.mark.parametrize("raw", [True, False])
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bool) -> None:
    """A redirected file stands in for standard input; pipes have their own tests."""
    path = tmp_path / "clip"
    path.write_bytes(raw_bytes(FRAMES) if raw else y4m_bytes(FRAMES, "W16 H10"))
    with path.open("rb") as file:
        dup = os.dup
        monkeypatch.setattr(os, "dup", lambda fd: dup(file.fileno() if fd == 0 else fd))
        geometry = {"width": 16, "height": 10, "pixel_format": "420", "bitdepth": 8} if raw else {}
        reader = open_video("-", **geometry)  # type: ignore[arg-type]
        assert reader.info.path == "standard input"
        assert all_same(reader, FRAMES)
        reader.close()
        assert file.seek(0, io.SEEK_END) > 0  # only the copy of the descriptor was closed


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("src01_hrc00_576x324.yuv420p10le.yuv", (576, 324, "420", 10)),
        ("src01_hrc00_576x324_422p10_nn.yuv", (576, 324, "422", 10)),
        ("src01_hrc01_576x324_3f_8bit.yuv", (576, 324, "420", 8)),
        ("dark_scene_1920x1080_420p_ref.yuv", (1920, 1080, "420", 8)),
        ("sparks_dis_480x270.yuv42010le.yuv", (480, 270, "420", 10)),
        ("100007_481x321_420odd.yuv", (481, 321, "420", 8)),
        ("name_3840x2160_444p12.yuv", (3840, 2160, "444", 12)),
        ("name_3840X2160_12bit.YUV", (3840, 2160, "420", 12)),
        ("a_1280x720_10b_60fps.yuv", (1280, 720, "420", 10)),
        ("akiyo_22x18.yuv", (22, 18, "420", 8)),
        ("mono_64x64_400.yuv", (64, 64, "400", 8)),
    ],
)
def test_guesses_from_names(name: str, expected: tuple[int, int, str, int]) -> None:
    width, height, layout, depth = expected
    assert guess_geometry(f"some/4x4/{name}") == Geometry(width, height, PixelFormat(layout, depth))


@pytest.mark.parametrize(
    "name", ["clip.yuv", "blue_sky_360p_10b.yuv", "a_0x720.yuv", "a_123456x720.yuv", "1x1.yuv"]
)
def test_names_that_say_nothing(name: str) -> None:
    assert guess_geometry(name) is None

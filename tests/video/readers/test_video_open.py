"""open_video(): what opens what, and what it says when it needs to know more."""

from __future__ import annotations

import io
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from acuity.errors import FormatError, InputError, NoFramesError
from acuity.video.picture import PixelFormat
from acuity.video.readers.open import open_video
from video_clips import all_same, encode, random_planes, raw_bytes, y4m_bytes

FORMAT = PixelFormat("420", 8)
FRAMES = [random_planes(FORMAT, 16, 10, seed) for seed in range(3)]
GEOMETRY: dict[str, Any] = {"width": 16, "height": 10, "pixel_format": "420", "bitdepth": 8}


def test_geometry_means_raw_whatever_the_name(tmp_path: Path) -> None:
    path = tmp_path / "clip.bin"
    path.write_bytes(raw_bytes(FRAMES))
    with open_video(path, **GEOMETRY, fps=Fraction(50)) as reader:
        assert (reader.info.kind, reader.info.rate) == ("raw", 50)
        assert all_same(reader, FRAMES)


@pytest.mark.parametrize("name", ["clip.y4m", "clip.mp4", "clip"])
def test_y4m_is_known_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(y4m_bytes(FRAMES, "W16 H10"))
    with open_video(str(path)) as reader:
        assert reader.info.kind == "y4m"
        assert all_same(reader, FRAMES)
    with pytest.raises(FormatError, match="leave out the geometry"):
        open_video(path, **GEOMETRY)


def test_anything_else_is_a_container(tmp_path: Path) -> None:
    with open_video(encode(tmp_path / "clip.mkv"), threads=1, luma_only=True) as reader:
        assert reader.info.kind == "container"
        assert [len(picture.planes) for picture in reader] == [1] * 10


def test_raw_video_without_geometry_says_what_to_pass(tmp_path: Path) -> None:
    path = tmp_path / "clip_16x10.yuv"
    path.write_bytes(raw_bytes(FRAMES))
    with pytest.raises(FormatError, match="pass width=, height=, pixel_format= and bitdepth="):
        open_video(path)


def test_a_guess_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "clip_16x10.yuv"
    path.write_bytes(raw_bytes(FRAMES))
    with open_video(path, guess=True) as reader:
        assert [note.code for note in reader.notes] == ["guessed"]
        assert "16x10 420 at 8 bit" in reader.notes[0].text
        assert all_same(reader, FRAMES)
    with open_video(path, **GEOMETRY, guess=True) as reader:
        assert reader.notes == []


def test_a_guess_completes_what_is_given(tmp_path: Path) -> None:
    path = tmp_path / "clip.yuv"
    path.write_bytes(raw_bytes(FRAMES * 2))
    with pytest.raises(InputError, match="no size"):
        open_video(path, guess=True)
    with pytest.raises(InputError, match="several formats"):
        open_video(path, width=16, height=10, guess=True)
    with pytest.raises(InputError, match="unknown pixel format"):
        open_video(path, width=16, height=10, pixel_format="nv12", guess=True)
    with pytest.raises(InputError, match="10 bit, but bit depth 8"):
        open_video(path, height=10, pixel_format="420p10", bitdepth=8, guess=True)
    path = path.rename(tmp_path / "clip_16x10.yuv")
    for pixels in ({"pixel_format": "420p8"}, {"pixel_format": "420", "bitdepth": 8}):
        with open_video(path, **pixels, guess=True) as reader:
            assert all_same(reader, FRAMES * 2)


@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".avi"])
def test_a_container_is_never_taken_for_raw_samples(tmp_path: Path, suffix: str) -> None:
    path = encode(tmp_path / f"clip{suffix}", codec="mpeg4")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 240 * 240])  # whole frames
    for given in (GEOMETRY, {"width": 16, "height": 10, "guess": True}):
        with pytest.raises(FormatError, match="leave out the geometry"):
            open_video(path, **given)
    raw = path.rename(tmp_path / "clip.yuv")  # believed, since samples may look like anything
    open_video(raw, **GEOMETRY).close()


def test_an_empty_raw_file_is_empty_before_it_is_raw(tmp_path: Path) -> None:
    (tmp_path / "clip.yuv").touch()
    for given in ({}, {"guess": True}, GEOMETRY):
        with pytest.raises(NoFramesError, match="empty"):
            open_video(tmp_path / "clip.yuv", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"width": 16}, "pass height=, pixel_format= and bitdepth="),
        ({"width": 16, "height": 10, "pixel_format": "420"}, "pass bitdepth= for"),
        ({"width": 16, "height": 10, "bitdepth": 8}, "pass pixel_format= for"),
    ],
)
def test_half_a_geometry_is_refused(tmp_path: Path, given: dict[str, object], missing: str) -> None:
    with pytest.raises(InputError, match=missing):
        open_video(tmp_path / "clip.yuv", **given)  # type: ignore[arg-type]


def test_missing_files_and_directories(tmp_path: Path) -> None:
    for name in ("none.mp4", "none.yuv", "none.y4m", "none", ""):
        for given in ({}, {"guess": True}, {"guess": True, "width": 16}):
            with pytest.raises(InputError, match="does not exist" if name else "directory"):
                open_video(tmp_path / name, **given)
    with pytest.raises(InputError, match=r"on the network.*: pass allow_network=True"):
        open_video("https://localhost/clip.mp4")


@pytest.mark.parametrize("raw", [True, False])
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bool) -> None:
    """A redirected file stands in for standard input; pipes have their own tests."""
    path = tmp_path / "clip"
    path.write_bytes(raw_bytes(FRAMES) if raw else y4m_bytes(FRAMES, "W16 H10"))
    with path.open("rb") as file:
        dup = os.dup
        monkeypatch.setattr(os, "dup", lambda fd: dup(file.fileno() if fd == 0 else fd))
        with open_video("-", **GEOMETRY if raw else {}) as reader:
            assert reader.info.path == "standard input"
            assert all_same(reader, FRAMES)
        assert file.seek(0, io.SEEK_END) > 0  # only the copy of the descriptor was closed

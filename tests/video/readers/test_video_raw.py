"""Raw YUV: geometry, whole frames, odd sizes, pipes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acuity.errors import InputError, NoFramesError, TruncatedError
from acuity.video.picture import PixelFormat
from acuity.video.readers.raw import RawReader
from video_clips import all_same, piped, random_planes, raw_bytes, same

FORMATS = st.builds(
    PixelFormat, st.sampled_from(["400", "420", "422", "444"]), st.sampled_from([8, 10, 12, 16])
)


YUV420 = PixelFormat("420", 8)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FORMATS, st.integers(1, 33), st.integers(1, 33), st.integers(1, 4), st.booleans())
def test_what_is_written_is_read(
    tmp_path: Path, format: PixelFormat, width: int, height: int, count: int, round_up: bool
) -> None:
    frames = [random_planes(format, width, height, seed, round_up=round_up) for seed in range(count)]
    data = raw_bytes(frames)
    path = tmp_path / "clip.yuv"
    path.write_bytes(data)
    fits_up = len(data) % format.frame_bytes(width, height) == 0
    with RawReader(path, width, height, format) as reader:
        pictures = list(reader)
    if fits_up and not round_up:  # both fit: the documented choice is to round up
        assert len(pictures) == len(data) // format.frame_bytes(width, height)
        return
    assert reader.info.frames == count
    assert reader.info.frames_exact
    assert all_same(pictures, frames)
    assert all(p.format == format and p.luma.dtype == format.dtype for p in pictures)


def test_a_geometry_that_the_name_contradicts_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "crowd_64x36_420p.yuv"
    path.write_bytes(bytes(3 * PixelFormat("420", 8).frame_bytes(64, 36)))
    with RawReader(path, 36, 64, PixelFormat("420", 8)) as reader:
        [note] = reader.notes
    assert (note.level, note.code) == ("warning", "geometry-name")
    assert "36x64 420 at 8 bit" in note.text
    assert "its name says 64x36" in note.text
    with pytest.raises(TruncatedError, match="64x36 420 at 8 bit, as its name says, it is whole"):
        RawReader(path, 64, 37, PixelFormat("420", 8))


def test_seeking_is_exact_in_any_order(tmp_path: Path) -> None:
    format = PixelFormat("420", 10)
    path, frames = tmp_path / "clip.yuv", [random_planes(format, 7, 5, seed) for seed in range(9)]
    path.write_bytes(raw_bytes(frames))
    with RawReader(path, 7, 5, format) as reader:
        for number in (8, 0, 3, 4, 4, 2):
            reader.seek(number)
            assert same(next(iter(reader)), frames[number])
        reader.seek(7)
        assert len(list(reader)) == 2
        reader.seek(9)
        assert list(reader) == []
        for wrong in (-1, 10):
            with pytest.raises(InputError, match=str(wrong)):
                reader.seek(wrong)


def test_a_size_that_is_not_whole_frames_is_refused_on_opening(tmp_path: Path) -> None:
    path = tmp_path / "clip.yuv"
    path.write_bytes(bytes(1000))
    with pytest.raises(TruncatedError) as caught:
        RawReader(path, 16, 16, PixelFormat("420", 8))
    text = str(caught.value)
    assert all(part in text for part in (str(path), "1000 bytes", "384 bytes", "16x16", "bit depth"))
    with pytest.raises(TruncatedError):  # less than one frame
        RawReader(path, 64, 64, PixelFormat("420", 8))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "clip.yuv"
    path.write_bytes(bytes(384))
    path.chmod(0)
    with pytest.raises(InputError, match="permissions"):
        RawReader(path, 16, 16, YUV420)


def test_a_pipe_is_read_as_a_stream(tmp_path: Path) -> None:
    format = PixelFormat("422", 10)
    frames = [random_planes(format, 31, 17, seed) for seed in range(5)]
    with piped(tmp_path, raw_bytes(frames)) as path, RawReader(path, 31, 17, format) as reader:
        assert reader.info.frames is None
        assert not reader.info.seekable
        assert all_same(reader, frames)
        with pytest.raises(InputError, match="pipe"):
            reader.seek(0)


@pytest.mark.parametrize(
    ("size", "error"), [(0, NoFramesError), (100, TruncatedError), (384 + 7, TruncatedError)]
)
def test_a_pipe_that_ends_too_early(tmp_path: Path, size: int, error: type[Exception]) -> None:
    said = pytest.raises(error, match="pipe")
    with piped(tmp_path, bytes(size)) as path, RawReader(path, 16, 16, YUV420) as reader, said:
        list(reader)

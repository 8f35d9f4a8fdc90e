"""Opening two videos: which of them the geometry is about, and nothing left open after an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from acuity.errors import FormatError, InputError, PairingError
from acuity.video.pairs.open_pair import open_pair
from acuity.video.picture import PixelFormat
from acuity.video.readers.open import OpenOptions, RawGeometry, open_video
from acuity.video.readers.raw import RawReader
from video_clips import encode, piped, random_planes, raw_bytes, y4m_bytes

FRAMES = [random_planes(PixelFormat("420", 8), 16, 10, seed) for seed in range(3)]
GEOMETRY = RawGeometry(16, 10, "420", 8)
OPTIONS = OpenOptions()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("ref.yuv", "ref.bin", "ref_16x10_420p.yuv"):
        (tmp_path / name).write_bytes(raw_bytes(FRAMES))
    (tmp_path / "ref.y4m").write_bytes(y4m_bytes(FRAMES, "W16 H10"))
    encode(tmp_path / "dis.mkv", size=(16, 10), frames=3)
    return tmp_path


@pytest.mark.parametrize(
    ("ref", "dis", "kinds"),
    [
        ("ref.yuv", "ref.yuv", ("raw", "raw")),
        ("ref.yuv", "dis.mkv", ("raw", "container")),
        ("dis.mkv", "ref.yuv", ("container", "raw")),
        ("ref.yuv", "ref.y4m", ("raw", "y4m")),
        ("ref.bin", "ref.bin", ("raw", "raw")),  # no name says raw, so the geometry does
        ("ref.yuv", "ref.bin", ("raw", "raw")),  # the other's name doesn't matter
        ("ref.bin", "dis.mkv", ("raw", "container")),
    ],
)
def test_geometry_is_about_what_does_not_say_its_own_size(
    folder: Path, ref: str, dis: str, kinds: tuple[str, str]
) -> None:
    readers = open_pair(folder / ref, folder / dis, GEOMETRY, OPTIONS)
    assert tuple(reader.info.kind for reader in readers) == kinds
    for reader in readers:
        reader.close()


def test_with_geometry_a_pipe_is_raw(folder: Path) -> None:
    with piped(folder, raw_bytes(FRAMES)) as pipe:
        readers = open_pair(folder / "ref.yuv", pipe, GEOMETRY, OPTIONS)
        assert [sum(1 for _ in reader) for reader in readers] == [3, 3]
    for reader in readers:
        reader.close()


def test_geometry_is_for_raw_video_and_standard_input_is_one(folder: Path) -> None:
    with pytest.raises(FormatError, match="leave out the geometry"):
        open_pair(folder / "ref.y4m", folder / "dis.mkv", GEOMETRY, OPTIONS)
    with pytest.raises(PairingError, match="standard input"):
        open_pair("-", "-", RawGeometry(), OPTIONS)


def test_a_reader_is_passed_on(folder: Path) -> None:
    mine = open_video(folder / "dis.mkv")
    first, second = open_pair(folder / "ref.yuv", mine, GEOMETRY, OPTIONS)
    assert second is mine
    first.close()
    with pytest.raises(InputError):
        open_pair(mine, folder / "missing.mkv", RawGeometry(), OPTIONS)
    with mine:
        assert sum(1 for _ in mine) == 3  # still the caller's


def test_the_first_is_closed_if_the_second_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(RawReader, "close", lambda self: closed.append(self.info.path))
    with pytest.raises(InputError, match=r"missing\.mkv"):
        open_pair(folder / "ref.yuv", folder / "missing.mkv", GEOMETRY, OPTIONS)
    assert closed == [str(folder / "ref.yuv")]


def test_each_name_may_be_guessed_from(folder: Path) -> None:
    paths = folder / "ref_16x10_420p.yuv", folder / "dis.mkv"
    for reader in open_pair(*paths, RawGeometry(), OpenOptions(guess=True)):
        assert (reader.info.width, reader.info.height) == (16, 10)
        reader.close()

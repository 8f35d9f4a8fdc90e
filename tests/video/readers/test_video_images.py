"""Sequences of images: every file is one frame, in order, or the refusal names the file or the pattern."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from acuity.errors import FormatError, InputError, NoFramesError, PathError
from acuity.video.local_file import restrict
from acuity.video.readers.open import open_video
from image_files import ENCODERS, image, images
from video_clips import HEIGHT, WIDTH, number_at, number_of

FILM = (".exr", ".dpx")


def numbers(path: object, **options: object) -> list[int]:
    with open_video(str(path), **options) as reader:  # type: ignore[arg-type]
        return [number_of(picture) for picture in reader]


@pytest.mark.parametrize("name", ["shot.%04d.png", "*.png", "shot.*.png", "shot.000[1-6].png", ""])
def test_every_way_to_name_a_sequence(tmp_path: Path, name: str) -> None:
    folder = images(tmp_path / "shots")
    assert numbers(folder / name) == list(range(6))
    with open_video(folder / name) as reader:
        info = reader.info
        assert (info.kind, info.codec, info.width, info.height) == ("images", "png", WIDTH, HEIGHT)
        assert (info.frames, info.frames_exact, info.rate, info.seekable) == (6, True, None, True)
        assert info.rgb
        assert info.path == str(folder / name)


@pytest.mark.parametrize("suffix", [suffix for suffix in ENCODERS if suffix not in FILM])
def test_every_format(tmp_path: Path, suffix: str) -> None:
    folder = images(tmp_path / "shots", f"a%d{suffix}", first=8)  # 8, 9, 10: by number, not by letter
    assert all(numbers(folder / name) == [*range(6)] for name in ("", f"a%d{suffix}", f"*{suffix}"))


def test_an_image_is_decoded_as_it_is_alone(tmp_path: Path) -> None:
    folder = images(tmp_path / "shots")
    with open_video(folder) as sequence:
        for path, picture in zip(sorted(folder.iterdir()), sequence, strict=True):
            with open_video(path) as single:
                alone = single.read()
            assert alone is not None
            assert all(map(np.array_equal, picture.planes, alone.planes))
            assert picture.pts is None


def test_rate_and_seeking(tmp_path: Path) -> None:
    with open_video(images(tmp_path / "shots"), fps=Fraction(24)) as reader:
        assert reader.info.rate == 24
        assert [number_at(reader, number) for number in (5, 0, 3)] == [5, 0, 3]
        reader.seek(6)
        assert reader.read() is None
        with pytest.raises(NoFramesError, match="no frame 7"):
            reader.seek(7)
    with pytest.raises(InputError, match="closed"):
        reader.read()


def test_a_gap_is_refused_with_its_number(tmp_path: Path) -> None:
    folder = images(tmp_path / "shots")
    (folder / "shot.0003.png").unlink()
    for name in ("", "shot.%04d.png"):
        with pytest.raises(InputError, match=r"image 3 .*'shot\.0003\.png', between 1 and 6.*shot\.\*\.png'"):
            open_video(folder / name)
    assert numbers(folder / "shot.*.png") == [0, 1, 3, 4, 5]  # as the sentence says


def test_a_folder_of_several_sequences_names_them(tmp_path: Path) -> None:
    folder = images(images(tmp_path / "shots", "left_%03d.png"), "right_%03d.png")
    (folder / "notes.txt").write_text("not an image")
    (folder / ".hidden.png").touch()
    with pytest.raises(InputError, match=r"one of '.*left_%03d\.png', '.*right_%03d\.png', or '.*\*\.png'"):
        open_video(folder)
    assert numbers(folder / "left_%03d.png") == list(range(6))
    images(folder, "left_%03d.jpg")
    with pytest.raises(InputError, match=r"left_%03d\.jpg', .*right_%03d\.png'$"):
        open_video(folder)


def test_other_sizes_and_formats_are_refused_by_name(tmp_path: Path) -> None:
    folder = images(tmp_path / "shots")
    for form, how in (("64x32 rgb24", {"size": (64, 32)}), ("96x64 rgba", {"pix_fmt": "rgba"})):
        image(folder / "shot.0004.png", 3, **how)  # type: ignore[arg-type]
        refused = pytest.raises(InputError, match=rf"shot\.0004\.png' is {form}, but")
        with open_video(folder) as reader, refused:
            list(reader)


@pytest.mark.parametrize("suffix", [".png", ".tif", ".bmp", ".webp"])
def test_a_truncated_image_is_refused_by_name(tmp_path: Path, suffix: str) -> None:
    folder = images(tmp_path / "shots", f"a%d{suffix}")
    broken = folder / f"a4{suffix}"
    broken.write_bytes(broken.read_bytes()[: broken.stat().st_size * 2 // 3])
    for allowed in (False, True):  # there is nothing to allow: no picture comes out
        refused = pytest.raises(InputError, match=rf"a4\{suffix}' cannot be decoded at frame 3")
        with open_video(folder, allow_damaged=allowed) as reader, refused as caught:
            list(reader)
        assert "allow_damaged" not in str(caught.value)
    broken.write_bytes(b"")
    with open_video(folder) as reader, pytest.raises(NoFramesError, match=r"a4.* is empty"):
        list(reader)


def test_a_truncated_jpeg_may_be_allowed(tmp_path: Path) -> None:
    folder = images(tmp_path / "shots", "a%d.jpg")
    broken = folder / "a4.jpg"
    broken.write_bytes(broken.read_bytes()[: broken.stat().st_size * 2 // 3])
    with open_video(folder) as reader, pytest.raises(InputError, match=r"a4\.jpg' .*allow_damaged=True"):
        list(reader)
    with open_video(folder, allow_damaged=True) as reader:
        assert len(list(reader)) == 6
        assert [note.code for note in reader.notes] == ["damaged"]
    with pytest.raises(InputError, match=r"a4\.jpg' .*incomplete"):  # alone, too
        open_video(broken)


def test_names_that_exist_are_no_patterns(tmp_path: Path) -> None:
    for name in ("a%02d.png", "b*.png", "c[1].png"):
        path = image(tmp_path / name, 9)
        image(tmp_path / "a01.png", 1)
        with open_video(path) as reader:
            assert reader.info.kind == "container"
            assert [number_of(picture) for picture in reader] == [9]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("none.%04d.png", "no file matches"),
        ("none*.png", "does not exist, and no file matches"),
        ("no/where.%04d.png", "the folder of"),
        ("%d_%d.png", "more than one number"),
        ("n*", "'notes.txt', which is no image"),
        ("empty", "a directory without PNG"),
        ("none.%04d.mp4", "does not exist: check the path"),
    ],
)
def test_what_is_no_sequence(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match=says) as caught:
        open_video(tmp_path / name)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("suffix", FILM)
def test_film_formats_are_refused_with_a_command(tmp_path: Path, suffix: str) -> None:
    folder = images(tmp_path / "shots", f"s.%03d{suffix}", count=2)
    for name in ("", f"s.%03d{suffix}", f"*{suffix}", f"s.001{suffix}"):
        with pytest.raises(FormatError, match="VMAF compares what a display shows: convert it") as caught:
            open_video(folder / name)
        first = f"s.%03d{suffix}" if name in ("", f"s.%03d{suffix}") else f"s.001{suffix}"
        assert f"-i {folder / first} -vf" in str(caught.value)
        assert "out_color_matrix=bt709" in str(caught.value)


def test_an_animated_webp_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "moving.webp"
    header = b"VP8X" + (10).to_bytes(4, "little") + bytes([2, 0, 0, 0, 63, 0, 0, 47, 0, 0])
    chunks = header + b"ANIM" + (6).to_bytes(4, "little") + bytes(6)
    path.write_bytes(b"RIFF" + (4 + len(chunks)).to_bytes(4, "little") + b"WEBP" + chunks)
    with pytest.raises(FormatError, match=r"moving.webp' is an animated WebP, which FFmpeg can't read: conv"):
        open_video(path)


def test_geometry_and_streams_are_not_for_images(tmp_path: Path) -> None:
    folder = images(tmp_path / "shots", count=1)
    with pytest.raises(FormatError, match="images, which say their own size: leave out the geometry"):
        open_video(folder, width=16, height=16, pixel_format="420", bitdepth=8)
    with pytest.raises(InputError, match="no video stream 1"):
        open_video(folder, stream=1)
    assert numbers(folder, stream=0) == [0]


def test_under_a_guard_no_folder_is_listed(tmp_path: Path) -> None:
    folder = images(tmp_path / "shots", count=2)
    asked: list[str] = []
    restrict(lambda fd, name: asked.append(name))
    try:
        for name in ("", "shot.%04d.png", "*.png"):
            with pytest.raises(PathError, match=r"a folder, and only plain files|not searched for images"):
                open_video(folder / name)
        assert asked == []
        assert numbers(folder / "shot.0001.png") == [0]
    finally:
        restrict(None)

"""One video without a reference as a source of pictures: what is prepared, noted and refused."""

from __future__ import annotations

import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from acuity import PairOptions, open_video
from acuity.errors import InputError, NoFramesError, PairingError
from acuity.video.pairs.lone_video import LoneVideo
from acuity.video.pairs.open_pair import open_alone
from acuity.video.readers.open import OpenOptions, RawGeometry
from image_files import images
from video_clips import HEIGHT, WIDTH, encode, gray_y4m, number_of


def alone(path: Path, **options: object) -> LoneVideo:
    return LoneVideo(open_video(path), PairOptions(**options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encode(tmp_path_factory.mktemp("clip") / "clip.mkv", codec="ffv1", frames=6)


def test_every_picture_comes_as_its_own_reference(clip: Path) -> None:
    with alone(clip, skip_dis=1, frames=4) as video:
        assert (video.length, video.info_ref, video.info_dis.path) == (4, None, str(clip))
        found = list(video)
    assert [number_of(dis) for _, dis in found] == [1, 2, 3, 4]
    assert all(ref is dis for ref, dis in found)
    assert [note.code for note in video.notes] == ["skipped", "frame-limit"]
    assert video.description["pairs"] == 4
    with pytest.raises(InputError, match="iterated only once"):
        next(iter(video))


def test_it_closes_its_video_and_leaves_no_thread(clip: Path) -> None:
    before = threading.active_count()
    with alone(clip, ahead=1) as video:
        next(iter(video))
    assert threading.active_count() == before
    with pytest.raises(NoFramesError, match=r"has no frame after skipping 99: skip fewer"):
        list(alone(clip, skip_dis=99))
    with pytest.raises(PairingError, match="reaches beyond"):
        alone(clip, crop=f"{WIDTH}:{HEIGHT}:2:2")
    assert threading.active_count() == before


def test_a_picture_on_its_side_is_turned(tmp_path: Path) -> None:
    lying = encode(tmp_path / "lying.mp4", codec="libx264", rotation=90, frames=2, options={"qp": "0"})
    with alone(lying) as video:
        assert (video.width, video.height) == (HEIGHT, WIDTH)
        assert [note.code for note in video.notes] == ["rotation"]
        _, turned = next(iter(video))
    with open_video(lying) as reader:
        stored = next(iter(reader))
    assert np.array_equal(turned.luma, np.rot90(stored.luma, -1))


def test_interlaced_video_is_noted_or_deinterlaced(tmp_path: Path) -> None:
    path = gray_y4m(tmp_path / "woven.y4m", [np.zeros((64, 96), np.uint8)] * 3, "F25:1 It C420")
    with alone(path) as video:
        assert [(note.level, note.code) for note in video.notes] == [("warning", "interlaced")]
    with alone(path, deinterlace="bwdif") as video:
        assert video.description["conversions"] == [f"'{path}' is deinterlaced with the filter bwdif"]
        assert len(list(video)) == 3


def test_images_are_taken_from_rgb(tmp_path: Path) -> None:
    with alone(images(tmp_path / "shots", count=3) / "shot.%04d.png") as video:
        assert [note.code for note in video.notes] == ["rgb"]
        assert (video.matrix, video.full_range) == ("bt709", False)
        assert len(list(video)) == 3


def test_a_part_on_a_display(clip: Path) -> None:
    with alone(clip, crop="64:36:4:2", display="1080p") as video:
        assert (video.width, video.height) == (1920, 1080)
        assert video.description["crop"] == [64, 36, 4, 2]
        assert [note.code for note in video.notes] == ["crop", "scaled"]  # each of them once
        assert len(video.description["conversions"]) == 2


def test_geometry_is_that_of_the_one_file(tmp_path: Path) -> None:
    (tmp_path / "clip.yuv").write_bytes(bytes(WIDTH * HEIGHT * 3 // 2 * 2))
    reader = open_alone(tmp_path / "clip.yuv", RawGeometry(WIDTH, HEIGHT, "420", 8), OpenOptions(), None)
    with LoneVideo(reader, PairOptions()) as video:
        assert (video.length, video.rate) == (2, None)


def test_a_rate_that_the_file_says_itself(clip: Path) -> None:
    with pytest.raises(InputError, match="says its own frame rate: leave out fps="):
        open_alone(clip, RawGeometry(), OpenOptions(fps=Fraction(30)), None)

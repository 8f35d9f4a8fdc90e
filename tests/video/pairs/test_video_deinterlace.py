"""Interlaced video: named, and made progressive on request."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from acuity.video.pairs.pairing import Pairing
from video_clips import clip, gray_frames, gray_planes, gray_y4m, pair

WIDTH, HEIGHT, FRAMES = 160, 96, 6


def moving(time: int) -> np.ndarray:
    """A pattern that moves by four pixels from field to field."""
    x = np.arange(WIDTH) - 4 * time
    y = np.arange(HEIGHT)[:, None]
    return np.rint(126 + 60 * np.sin(x / 9) + 40 * np.cos(y / 7)).astype(np.uint8)


def woven(number: int, *, bottom_first: bool) -> np.ndarray:
    """Two fields in one picture: the first is of twice its time, the second of the moment after."""
    picture = moving(2 * number)
    second = 0 if bottom_first else 1
    picture[second::2] = moving(2 * number + 1)[second::2]
    return picture


def y4m(path: Path, lumas: list[np.ndarray], tag: str) -> Path:
    return gray_y4m(path, lumas, f"F25:1 I{tag} C420")


def x264(path: Path, lumas: list[np.ndarray], order: str) -> Path:
    options = {"qp": "0", "x264-params": f"{order}=1"}
    return clip(path, gray_frames(lumas), codec="libx264", pix_fmt="yuv420p", options=options)


def apart(pairing: Pairing) -> float:
    return max(float(np.abs(ref.luma.astype(int) - dis.luma).mean()) for ref, dis in pairing)


@pytest.mark.parametrize("filter", ["bwdif", "yadif"])
@pytest.mark.parametrize("bottom_first", [False, True], ids=["tff", "bff"])
@pytest.mark.parametrize("kind", ["y4m", "mp4"])
def test_deinterlacing_shows_the_moment_of_the_first_field(
    tmp_path: Path, kind: str, bottom_first: bool, filter: str
) -> None:
    lumas = [woven(number, bottom_first=bottom_first) for number in range(FRAMES)]
    ref = y4m(tmp_path / "ref.y4m", [moving(2 * number) for number in range(FRAMES)], "p")
    if kind == "y4m":
        dis = y4m(tmp_path / "dis.y4m", lumas, "b" if bottom_first else "t")
    else:
        dis = x264(tmp_path / "dis.mp4", lumas, "bff" if bottom_first else "tff")
    plain = pair(ref, dis)
    combed = apart(plain)
    assert [(note.level, note.code) for note in plain.notes] == [("warning", "interlaced")]
    assert plain.notes[0].text.endswith("made for progressive video: pass deinterlace='bwdif'")
    made = pair(ref, dis, deinterlace=filter)
    assert made.description["conversions"] == [f"'{dis}' is deinterlaced with the filter {filter}"]
    pictures = list(made)
    assert len(pictures) == FRAMES
    assert combed > 5
    for shown, picture in pictures:
        assert float(np.abs(shown.luma.astype(int) - picture.luma).mean()) < combed / 4
        assert picture.shapes == tuple(plane.shape for plane in gray_planes(picture.luma))


def test_progressive_video_is_left_alone(tmp_path: Path) -> None:
    lumas = [moving(2 * number) for number in range(FRAMES)]
    one, other = (y4m(tmp_path / f"{i}.y4m", lumas, "p") for i in range(2))
    pairing = pair(one, other, deinterlace="bwdif")
    assert apart(pairing) == 0
    assert pairing.description["conversions"] == []


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg, to compare with, is not installed here")
def test_ffmpeg_makes_the_same_pictures(tmp_path: Path) -> None:
    lumas = [woven(number, bottom_first=False) for number in range(FRAMES)]
    dis = y4m(tmp_path / "dis.y4m", lumas, "t")
    made = tmp_path / "made.yuv"
    filters = "yadif=mode=send_frame:parity=tff:deint=all"
    subprocess.run(["ffmpeg", "-v", "error", "-i", dis, "-vf", filters, "-f", "rawvideo", made], check=True)
    theirs = np.fromfile(made, np.uint8).reshape(-1, HEIGHT * 3 // 2, WIDTH)[:, :HEIGHT]
    ours = [picture.luma for _, picture in pair(dis, dis, deinterlace="yadif")]
    assert [np.array_equal(one, other) for one, other in zip(ours, theirs, strict=True)] == [True] * FRAMES

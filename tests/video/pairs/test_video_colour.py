"""RGB, matrices, primaries and ranges: real encodes of known colours against H.273's arithmetic."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acuity
from acuity.errors import PairingError
from acuity.video.pairs.pairing import Pairing, pair_videos
from acuity.video.readers.open import OpenOptions, RawGeometry, open_as
from colour_clips import MATRICES, SIZE, colours, rgb_clip, to_yuv, yuv_clip
from video_clips import pair, y4m_bytes

RGB = [colours(number) for number in range(2)]


def encoded(folder: Path, matrix: str, *, full: bool = False, depth: int = 8, **how: Any) -> Path:
    """The colours by this matrix."""
    samples = [to_yuv(frame, matrix, full=full, depth=depth) for frame in RGB]
    return yuv_clip(folder / f"{matrix}.mkv", samples, matrix, **how)


def apart(pairing: Pairing) -> float:
    """The largest difference in luma that any pair has."""
    return max(float(np.abs(ref.luma.astype(int) - dis.luma).max()) for ref, dis in pairing)


RGB_FILES = {
    "ffv1.mkv": {"codec": "ffv1", "pix_fmt": "bgr0"},
    "x264.mp4": {"codec": "libx264rgb", "pix_fmt": "rgb24", "options": {"qp": "0"}},
    "hevc.mp4": {"codec": "libx265", "pix_fmt": "gbrp",
        "options": {"x265-params": "lossless=1:bframes=0:pools=none:frame-threads=1:log-level=0"}},
    "still.png": {"codec": "png", "pix_fmt": "rgb24"},
    "anim.apng": {"codec": "apng", "pix_fmt": "rgb24"},
}  # fmt: skip


@pytest.mark.parametrize("name", RGB_FILES)
@pytest.mark.parametrize("full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_rgb_goes_once_through_the_matrix_and_range_of_the_other(
    tmp_path: Path, matrix: str, full: bool, name: str
) -> None:
    frames = RGB[:1] if name.endswith("png") else RGB
    rgb = rgb_clip(tmp_path / name, frames, **RGB_FILES[name])  # type: ignore[arg-type]
    # ffv1 in Matroska keeps its tags; 444 and full range, so that nothing else has to be converted.
    samples = [to_yuv(np.rint(frame * 255) / 255, matrix, full=full) for frame in frames]
    yuv = yuv_clip(tmp_path / "yuv.mkv", samples, matrix, color_range=2 if full else 1)
    for ref, dis in ((yuv, rgb), (rgb, yuv)):
        pairing = pair(ref, dis)
        pictures = [picture for both in pairing for picture in both if picture.format.layout == "444"]
        truth = np.repeat(samples, 2, axis=0)
        for picture, planes in zip(pictures, truth, strict=True):
            worst = [float(np.abs(p - t).max()) for p, t in zip(picture.planes, planes, strict=True)]
            assert worst[0] < 0.52  # rounding, and a little
            assert max(worst) < 1.1
        assert pairing.description["range"] == ("full" if full else "limited")
        assert [note.level for note in pairing.notes if note.code == "rgb"] == ["info"]
        assert not [note for note in pairing.notes if note.code in ("matrix", "range")]


def test_a_lossless_rgb_copy_scores_as_the_source_does(tmp_path: Path) -> None:
    grain = np.random.default_rng(1).normal(0, 0.04, (len(RGB), *RGB[0].shape[:2], 1))
    frames = [np.clip(frame + noise, 0, 1) for frame, noise in zip(RGB, grain, strict=True)]
    source = yuv_clip(tmp_path / "source.mkv", [to_yuv(frame, "bt709") for frame in frames], "bt709")
    rounded = [to_yuv(np.rint(frame * 255) / 255, "bt709") for frame in frames]
    truth = yuv_clip(tmp_path / "truth.mkv", rounded, "bt709")
    copy = rgb_clip(tmp_path / "copy.mkv", frames)
    assert acuity.score(source, copy).score == pytest.approx(acuity.score(source, truth).score, abs=0.02)
    assert acuity.score(copy, source).score == pytest.approx(acuity.score(truth, source).score, abs=0.02)
    assert acuity.score(source, copy).score > 97


def test_rgb_and_rgb_meet_in_bt709(tmp_path: Path) -> None:
    one, other = (rgb_clip(tmp_path / f"{i}.mkv", RGB) for i in range(2))
    for (ref, dis), frame in zip(pair(one, other), RGB, strict=True):
        assert np.array_equal(ref.luma, dis.luma)
        assert float(np.abs(ref.luma - to_yuv(frame, "bt709")[0]).max()) <= 1.5


@pytest.mark.parametrize(
    ("size", "matrix"), [((96, 64), "smpte170m"), ((1280, 64), "bt709"), ((96, 578), "bt709")]
)
def test_video_without_a_matrix_meets_rgb_as_players_guess_it(
    tmp_path: Path, size: tuple[int, int], matrix: str
) -> None:
    frame = colours(0, size)
    rgb = rgb_clip(tmp_path / "rgb.mkv", [frame])
    pairing = pair(yuv_clip(tmp_path / "yuv.mkv", [to_yuv(frame, matrix)]), rgb)
    assert apart(pairing) <= 1
    assert [note.text for note in pairing.notes if note.code == "matrix"] == [
        f"'{tmp_path / 'yuv.mkv'}' ({size[0]}x{size[1]}) does not say its matrix: taken for "
        f"{'BT.709' if matrix == 'bt709' else 'BT.601'}, as in players"
    ]


@pytest.mark.parametrize(("one", "other"), [("bt709", "smpte170m"), ("smpte170m", "bt709")])
@pytest.mark.parametrize("pix_fmt", ["yuv444p", "yuv420p", "yuv422p"])
@pytest.mark.parametrize("ranges", [(1, 1), (1, 2), (2, 1)], ids=["limited", "to-limited", "to-full"])
def test_the_distorted_video_is_taken_to_the_matrix_of_the_reference(
    tmp_path: Path, one: str, other: str, pix_fmt: str, ranges: tuple[int, int]
) -> None:
    clips = [
        encoded(tmp_path, matrix, full=code == 2, pix_fmt=pix_fmt, color_range=code)
        for matrix, code in zip((one, other), ranges, strict=True)
    ]
    pairing = pair(clips[0], clips[1])
    # Rounding of luma and of chroma at half the size, whose edges are blurred.
    assert apart(pairing) <= (1 if pix_fmt == "yuv444p" else 4)
    texts = {note.code: note.text for note in pairing.notes}
    assert texts["matrix"].endswith(f"'{clips[1]}' is converted, as players show it")
    assert ("range" in texts) == (ranges[0] != ranges[1])
    assert pairing.description["conversions"] == [note.text for note in pairing.notes]
    if ranges == (1, 1):
        ignored = pair(clips[0], clips[1], colour="ignore")
        assert apart(ignored) > 8
        assert [(note.level, note.code) for note in ignored.notes] == [("warning", "matrix")]


def test_other_matrices_need_chroma_even_where_only_luma_is_scored(tmp_path: Path) -> None:
    clips = [encoded(tmp_path, matrix) for matrix in ("bt709", "smpte170m")]
    readers = [open_as(path, RawGeometry(), OpenOptions(luma_only=True)) for path in clips]
    assert apart(pair_videos(*readers)) <= 1


def test_more_bits_and_another_matrix_are_one_rounding(tmp_path: Path) -> None:
    ref = encoded(tmp_path, "bt709", depth=10, pix_fmt="yuv444p10le")
    dis = encoded(tmp_path, "smpte170m")
    assert apart(pair(ref, dis)) <= 4  # an 8-bit step is 4


# From BT.709's primaries to BT.2020's, in linear light (ITU-R BT.2087).
TO_2020 = np.array([[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.0880, 0.8956]])


def test_wide_primaries_are_converted_in_linear_light(tmp_path: Path) -> None:
    muted = [0.3 + 0.5 * frame for frame in RGB]  # rounding weighs more in dark, saturated colours
    narrow, wide = (
        yuv_clip(
            tmp_path / f"{matrix}.mkv", [to_yuv(one, matrix) for one in shown], matrix, color_primaries=code
        )
        for matrix, code, shown in (
            ("bt709", 1, muted),
            ("bt2020nc", 9, [(frame**2.4 @ TO_2020.T) ** (1 / 2.4) for frame in muted]),
        )
    )
    for ref, dis in ((narrow, wide), (wide, narrow)):
        pairing = pair(ref, dis)
        assert apart(pairing) <= 1
        assert "in linear light" in pairing.description["conversions"][0]
    assert apart(pair(narrow, wide, colour="ignore")) > 4


def test_what_cannot_be_converted_is_refused(tmp_path: Path) -> None:
    samples = [to_yuv(frame, "bt709") for frame in RGB]
    ref = yuv_clip(tmp_path / "ref.mkv", samples, "bt709")
    dis = yuv_clip(tmp_path / "dis.mkv", samples, colorspace=8)
    with pytest.raises(PairingError, match=r"has the matrix bt709 and .* ycgco, which cannot be converted"):
        pair(ref, dis)
    assert apart(pair(ref, dis, colour="ignore")) == 0


def test_ranges_of_y4m_are_obeyed_where_both_say_them(tmp_path: Path) -> None:
    paths = one, other, unsaid = [tmp_path / f"{number}.y4m" for number in range(3)]
    tags = "XCOLORRANGE=LIMITED", "XCOLORRANGE=FULL", ""
    for path, full, tag in zip(paths, (0, 1, 1), tags, strict=True):
        frames = [np.rint(to_yuv(frame, "bt709", full=bool(full))).astype(np.uint8) for frame in RGB]
        path.write_bytes(y4m_bytes(frames, f"W{SIZE[0]} H{SIZE[1]} F25:1 C444 {tag}"))
    assert apart(pair(one, other)) <= 1
    assert apart(pair(other, one)) <= 1
    as_they_are = pair(one, other, colour="as-libvmaf")
    assert apart(as_they_are) > 8
    assert [(note.level, note.code) for note in as_they_are.notes] == [("warning", "range")]
    assert apart(pair(one, unsaid)) > 8  # what doesn't say its range isn't converted


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg, to compare with, is not installed here")
@pytest.mark.parametrize("matrix", ["auto", "smpte170m"])  # of RGB and of another matrix
def test_ffmpeg_makes_the_same_samples(tmp_path: Path, matrix: str) -> None:
    ref = encoded(tmp_path, "bt709")
    dis = rgb_clip(tmp_path / "rgb.mkv", RGB) if matrix == "auto" else encoded(tmp_path, matrix)
    flags = "out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int"
    filters = f"scale=in_color_matrix={matrix}:{flags},format=yuv444p"
    made = tmp_path / "made.yuv"
    subprocess.run(["ffmpeg", "-v", "error", "-i", dis, "-vf", filters, "-f", "rawvideo", made], check=True)
    theirs = np.fromfile(made, np.uint8).reshape(len(RGB), 3, SIZE[1], SIZE[0])
    for (_, picture), planes in zip(pair(ref, dis), theirs, strict=True):
        assert float(np.abs(picture.luma.astype(int) - planes[0]).max()) <= 2
        assert float(np.abs(picture.luma.astype(int) - planes[0]).mean()) <= 0.6

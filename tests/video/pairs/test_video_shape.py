"""Shapes, crops and displays of real encodes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.reformatter import Interpolation

from acuity.errors import PairingError
from acuity.video.display import fill, is_4k, part_filled
from colour_clips import colours, to_yuv, yuv_clip
from misaligned_clips import encode_luma, frames_of
from video_clips import clip, gray_frames, pair, piped

WIDTH, HEIGHT = 320, 180
LOSSLESS = {"codec": "libx264", "pix_fmt": "yuv420p", "options": {"qp": "0"}}


def luma(number: int) -> np.ndarray:
    """A picture with detail everywhere, so that a shift by a pixel shows."""
    smooth = to_yuv(colours(number, (WIDTH, HEIGHT)), "bt709")[0]
    return np.rint(smooth + 20 * np.sin(np.arange(WIDTH) * 1.3)).astype(np.uint8)


def video(path: Path, lumas: list[np.ndarray], **settings: Any) -> Path:
    return clip(path, gray_frames(lumas), **{**LOSSLESS, **settings})


def barred(plane: np.ndarray, rows: int = 0, columns: int = 0) -> np.ndarray:
    """The picture with black over its edges."""
    covered = plane.copy()
    covered[:rows], covered[plane.shape[0] - rows :] = 16, 16
    covered[:, :columns], covered[:, plane.shape[1] - columns :] = 16, 16
    return covered


def scaled(plane: np.ndarray, width: int, height: int) -> np.ndarray:
    frame = av.VideoFrame.from_ndarray(plane, "gray")
    return frame.reformat(width, height, interpolation=Interpolation.BICUBIC).to_ndarray()


SOURCE = [luma(number) for number in range(3)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return video(tmp_path / "source.mkv", SOURCE)


def test_anamorphic_video_has_the_shape_that_is_shown(tmp_path: Path, source: Path) -> None:
    narrow = [scaled(plane, 240, HEIGHT) for plane in SOURCE]
    pairing = pair(source, video(tmp_path / "anamorphic.mp4", narrow, aspect=Fraction(4, 3)))
    assert [note.code for note in pairing.notes] == ["scaled"]
    assert pairing.description["distorted"]["aspect"] == "4:3"
    assert len(list(pairing)) == 3
    with pytest.raises(PairingError, match="has another shape than"):
        pair(source, video(tmp_path / "square.mp4", narrow))


def test_a_picture_on_its_side_is_refused_until_it_is_forced(tmp_path: Path, source: Path) -> None:
    turned = video(tmp_path / "turned.mp4", [np.ascontiguousarray(plane.T) for plane in SOURCE])
    with pytest.raises(PairingError, match=r"\(180x320\) is turned on its side .* pass scale='force'"):
        pair(source, turned)
    pairing = pair(source, turned, scale="force")
    assert [(note.level, note.code) for note in pairing.notes] == [("warning", "shape"), ("info", "scaled")]
    assert len(list(pairing)) == 3


@pytest.mark.parametrize("crop", ["320:140:0:20", "auto"])
def test_a_cropped_encode_meets_the_part_that_it_shows(tmp_path: Path, source: Path, crop: str) -> None:
    if crop == "auto":  # a source with bars, of which the encode has none
        source = video(tmp_path / "barred.mkv", [barred(plane, rows=20) for plane in SOURCE])
    cropped = video(tmp_path / "cropped.mp4", [plane[20:160] for plane in SOURCE])
    pairing = pair(source, cropped, crop=crop)
    assert all(np.array_equal(ref.luma, dis.luma) for ref, dis in pairing)
    assert pairing.description["crop"] == [320, 140, 0, 20]
    assert (pairing.width, pairing.height) == (320, 140)
    assert pairing.description["conversions"] == [f"'{source}' is cut from 320x180 to 320x140 at 0,20"]


def test_crop_cuts_both_alike(tmp_path: Path, source: Path) -> None:
    half = video(tmp_path / "half.mp4", [scaled(plane, 160, 90) for plane in SOURCE])
    for dis, size in ((source, (160, 80)), (half, (80, 40))):
        pairing = pair(source, dis, crop="160:80:40:20")
        assert pairing.notes[1].text.endswith(f"to {size[0]}x{size[1]} at {size[0] // 4},{size[1] // 4}")
        pictures = list(pairing)
        for (ref, dis_picture), plane in zip(pictures, SOURCE, strict=True):
            assert np.array_equal(ref.luma, plane[20:100, 40:200])
            assert [p.shape for p in dis_picture.planes] == [(80, 160), (40, 80), (40, 80)]


BARS = {
    "letterbox": ({"rows": 24}, "about 24 pixels above, about 24 pixels below", [320, 132, 0, 24]),
    "pillarbox": ({"columns": 40}, "about 40 pixels left, about 40 pixels right", [240, 180, 40, 0]),
}


def test_other_content_and_bars(tmp_path: Path) -> None:
    """Bars may be all that two videos don't have in common, so they are named where nothing else is seen."""
    ref, other = (frames_of(content)[:60] for content in ("grain", "cuts"))
    one = encode_luma(tmp_path / "one.mkv", ref, codec="ffv1")
    two = encode_luma(tmp_path / "two.mp4", [barred(plane, columns=60) for plane in other], crf="20")
    with pytest.raises(PairingError, match=r"and one of them has black bars: pass crop='auto' to compare"):
        list(pair(one, two))


def test_the_range_of_flat_pictures_is_not_judged(tmp_path: Path) -> None:
    one, two = (
        encode_luma(tmp_path / f"{level}.mkv", [np.full((HEIGHT, WIDTH), level, np.uint8)] * 3, codec="ffv1")
        for level in (126, 128)
    )
    pairing = pair(one, two)
    assert len(list(pairing)) == 3
    assert "range-samples" not in [note.code for note in pairing.notes]


def test_after_a_crop_the_larger_video_is_not_called_swapped(tmp_path: Path, source: Path) -> None:
    high = [np.pad(plane, ((30, 30), (0, 0)), constant_values=16) for plane in SOURCE]
    pairing = pair(source, video(tmp_path / "high.mp4", high), crop="auto")
    assert len(list(pairing)) == 3
    assert "swapped" not in [note.code for note in pairing.notes]


@pytest.mark.parametrize("crf", ["18", "40"])
@pytest.mark.parametrize("kind", BARS)
def test_burnt_in_bars_are_named_and_cut_from_both(tmp_path: Path, source: Path, kind: str, crf: str) -> None:
    where, named, rectangle = BARS[kind]
    covered = [barred(plane, **where) for plane in SOURCE]  # type: ignore[arg-type]
    bars = video(tmp_path / "bars.mp4", covered, options={"crf": crf})
    for ref, dis in ((source, bars), (bars, source)):
        pairing = pair(ref, dis)
        assert len(list(pairing)) == 3
        found = [note for note in pairing.notes if note.code == "bars"]
        assert [note.level for note in found] == ["warning"]
        assert found[0].text == (
            f"'{bars}' has black bars ({named}) where '{source}' has a picture: pass crop='auto' to compare"
            " the part that both have"
        )
    pairing = pair(source, bars, crop="auto")
    assert all(ref.luma.shape == dis.luma.shape == tuple(rectangle[1::-1]) for ref, dis in pairing)
    assert pairing.description["crop"] == rectangle
    assert "bars" not in {note.code for note in pairing.notes}


def test_the_same_bars_in_both_are_information(tmp_path: Path) -> None:
    covered = [barred(plane, rows=24) for plane in SOURCE]
    ref = video(tmp_path / "ref.mkv", covered)
    dis = video(tmp_path / "dis.mp4", covered, options={"crf": "30"})
    pairing = pair(ref, dis)
    list(pairing)
    assert [(note.level, note.code) for note in pairing.notes] == [("info", "bars")]
    assert next(iter(pair(ref, dis, crop="auto")))[1].luma.shape == (132, 320)


def test_a_window_with_bars_on_all_sides_is_scaled_back(tmp_path: Path, source: Path) -> None:
    window = [np.pad(scaled(plane, 240, 134), ((22, 24), (40, 40)), constant_values=16) for plane in SOURCE]
    pairing = pair(source, video(tmp_path / "window.mp4", window), crop="auto")
    assert [note.code for note in pairing.notes] == ["crop", "scaled"]
    assert all(float(np.abs(r.luma.astype(int) - d.luma).mean()) < 3 for r, d in pairing)


@pytest.mark.parametrize("content", ["dark", "black", "night"])
def test_dark_pictures_have_no_bars(tmp_path: Path, content: str) -> None:
    rng = np.random.default_rng(1)
    ramp = np.linspace(0, 60, HEIGHT)[:, None] if content == "night" else np.zeros((HEIGHT, 1))
    level = {"dark": 24, "black": 16, "night": 16}[content]
    noise = rng.normal(0, 2, (3, HEIGHT, WIDTH))
    lumas = [np.clip(level + ramp + part, 0, 255).astype(np.uint8) for part in noise]
    clips = [video(tmp_path / f"{crf}.mp4", lumas, options={"crf": crf}) for crf in ("10", "40")]
    pairing = pair(*clips)
    list(pairing)
    assert not [note for note in pairing.notes if note.code in ("bars", "range-samples")]
    assert pair(*clips, crop="auto").description["crop"] == [WIDTH, HEIGHT, 0, 0]


def test_crop_auto_looks_first_and_pipes_cannot_be_read_twice(tmp_path: Path, source: Path) -> None:
    said = "crop='auto' looks at the pictures first, and '.*pipe' can be read only once"
    start = b"YUV4MPEG2 W320 H180 F25:1 C420\nFRAME\n"
    with piped(tmp_path, start) as pipe, pytest.raises(PairingError, match=said):
        pair(source, pipe, crop="auto")


@pytest.mark.parametrize("share", [0.0, 1.0], ids=["limited", "stretched"])
@pytest.mark.parametrize("contrast", [0.9, 0.5], ids=["vivid", "flat"])
def test_samples_that_contradict_their_range_are_noted(tmp_path: Path, share: float, contrast: float) -> None:
    shown = [0.5 + contrast * (colours(number, (WIDTH, HEIGHT)) - 0.42) for number in range(3)]
    ref = yuv_clip(tmp_path / "ref.mkv", [to_yuv(frame, "bt709") for frame in shown], "bt709")
    samples = [to_yuv(frame, "bt709", full=share > 0) for frame in shown]
    lossy = {"codec": "libx264", "options": {"crf": "28"}}
    dis = yuv_clip(tmp_path / "dis.mp4", samples, "bt709", **lossy)  # tagged as limited either way
    pairing = pair(ref, dis)
    list(pairing)
    found = [note for note in pairing.notes if note.code == "range-samples"]
    assert [note.level for note in found] == (["warning"] if share else [])
    assert all("is tagged as limited range, but" in note.text for note in found)


def test_limited_samples_that_are_tagged_as_full_are_noted(tmp_path: Path) -> None:
    samples = [to_yuv(colours(number, (WIDTH, HEIGHT)), "bt709") for number in range(3)]
    ref = yuv_clip(tmp_path / "ref.mkv", samples, "bt709")
    dis = yuv_clip(tmp_path / "dis.mkv", samples, "bt709", color_range=2)
    for pairing in (pair(ref, dis), pair(dis, ref)):
        list(pairing)
        (text,) = (note.text for note in pairing.notes if note.code == "range-samples")
        assert text == (
            f"'{dis}' is tagged as full range, but its luma is that of '{ref}' in limited range: if it is"
            " limited range, tag it so and score it again"
        )


@pytest.mark.parametrize("crf", ["28", "45"])
def test_ringing_around_text_on_white_is_no_range(tmp_path: Path, crf: str) -> None:
    rng = np.random.default_rng(3)
    page = np.where(rng.random((HEIGHT // 4, WIDTH // 2)) < 0.3, 16, 235).repeat(4, 0).repeat(2, 1)
    page[::12], page[:, :60] = 235, 235
    pages = [np.roll(page, 4 * number, axis=0).astype(np.uint8) for number in range(3)]
    clips = [video(tmp_path / f"{q}.mp4", pages, options={"crf": q}) for q in ("1", crf)]
    pairing = pair(*clips)
    assert max(int(dis.luma.max()) for _, dis in pairing) > 240
    assert "range-samples" not in {note.code for note in pairing.notes}


@pytest.mark.parametrize("lighter", [8, -15])
def test_another_brightness_is_no_range(tmp_path: Path, lighter: int) -> None:
    """Both ends must be where the other range has them: a few steps more or less are as likely brightness."""
    dark = np.linspace(18 if lighter < 0 else 40, 75, WIDTH)[None].repeat(HEIGHT, axis=0)
    pictures = [np.rint(dark + more).astype(np.uint8) for more in (0, lighter)]
    clips = [video(tmp_path / f"{n}.mp4", [one] * 3, options={"crf": "10"}) for n, one in enumerate(pictures)]
    pairing = pair(*clips)
    list(pairing)
    assert "range-samples" not in {note.code for note in pairing.notes}


def test_superwhite_in_both_is_information(tmp_path: Path) -> None:
    bright = [np.maximum(plane, 250) for plane in SOURCE]
    clips = [video(tmp_path / f"{crf}.mp4", bright, options={"crf": crf}) for crf in ("10", "35")]
    pairing = pair(*clips)
    list(pairing)
    found = [note for note in pairing.notes if note.code == "range-samples"]
    assert [note.level for note in found] == ["info", "info"]


@pytest.mark.parametrize(
    ("display", "size", "aspect", "expected"),
    [
        ("1080p", (640, 360), 1, (1920, 1080)),
        ("2160p", (640, 360), 1, (3840, 2160)),
        ("1080p", (1080, 2340), 1, (886, 1920)),  # upright phones
        ("1080p", (3840, 1600), 1, (1920, 800)),
        ("1080p", (720, 576), 16 / 15, (1440, 1080)),
        ("1080p", (854, 480), 1, (1920, 1080)),
    ],
)
def test_pictures_fill_a_display_in_their_own_shape(
    display: str, size: tuple[int, int], aspect: float, expected: tuple[int, int]
) -> None:
    assert fill(display, *size, aspect) == expected
    assert part_filled(display, *size, aspect) == size[1] / expected[1]
    assert is_4k(*fill("2160p", *size, aspect))


@pytest.mark.parametrize("filter", ["bicubic", "lanczos"])
@pytest.mark.parametrize("display", ["1080p", "auto"])
def test_both_videos_are_scaled_to_a_display(tmp_path: Path, source: Path, display: str, filter: str) -> None:
    small = video(tmp_path / "small.mp4", [scaled(plane, 160, 90) for plane in SOURCE])
    pairing = pair(source, small, display=display, filter=filter)
    assert (pairing.description["display"], pairing.description["filter"]) == ("1080p", filter)
    assert pairing.description["conversions"] == [
        f"'{path}' is scaled from {size} to 1920x1080 with a {filter} filter"
        for path, size in ((source, "320x180"), (small, "160x90"))
    ]
    flags = Interpolation[filter.upper()] | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
    for (ref, dis), plane in zip(pairing, SOURCE, strict=True):
        [frame] = gray_frames([plane])
        theirs = frame.reformat(1920, 1080, interpolation=flags).to_ndarray()[:1080]
        assert np.array_equal(ref.luma, theirs)
        assert dis.luma.shape == theirs.shape

"""Pictures that are flipped, moved or zoomed, other colours, other light: told as what they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest

import acuity
from acuity.errors import PairingError
from acuity.video.pairs.content import Colours
from acuity.video.pairs.glimpse import Glimpse
from acuity.video.pairs.likeness import Likeness
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.avframes import FILTERS
from video_clips import clip, pair, paired

WIDTH, HEIGHT, FRAMES = 320, 180, 48
YUV420, GREY = PixelFormat("420", 8), PixelFormat("400", 8)
FAST = {"preset": "veryfast"}
Planes = tuple[np.ndarray, np.ndarray, np.ndarray]


def filmed(camera: Callable[[int], tuple[float, float, float]]) -> list[Planes]:
    """Coloured waves as a camera sees them: the scale of each frame, and how far across and down it looks."""
    rng = np.random.default_rng(4)
    (a, b), phases = rng.uniform(-0.25, 0.25, (24, 2)).T, rng.uniform(0, 6, 24)
    frames = []
    for frame in range(FRAMES):
        scale, right, low = camera(frame)
        down = (np.arange(HEIGHT) - HEIGHT / 2) * scale + low
        across = (np.arange(WIDTH) - WIDTH / 2 + 40) * scale + right
        rows, columns = np.exp(1j * (np.outer(down, a) + phases)), np.exp(1j * np.outer(b, across))
        waves = (120, 14, slice(16)), (128 + 25, 12, slice(16, 20)), (128 - 12, 12, slice(20, 24))
        luma, *chroma = (mean + contrast * (rows[:, at] @ columns[at]).imag for mean, contrast, at in waves)
        planes = luma, *(plane[::2, ::2] for plane in chroma)
        frames.append(tuple(np.clip(np.rint(plane), 16, 235).astype(np.uint8) for plane in planes))
    return frames  # type: ignore[return-value]


def encode(path: Path, frames: list[Planes], crf: int | None = None) -> Path:
    packed = [np.concatenate([plane.ravel() for plane in planes]).reshape(-1, WIDTH) for planes in frames]
    shown = [av.VideoFrame.from_ndarray(samples, "yuv420p") for samples in packed]
    how = {"codec": "ffv1"} if crf is None else {"codec": "libx264", "options": {"crf": str(crf), **FAST}}
    return clip(path, shown, pix_fmt="yuv420p", rate=30, **how)  # type: ignore[arg-type]


def each_plane(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Planes], Planes]:
    return lambda planes: tuple(change(plane) for plane in planes)  # type: ignore[return-value]


def cropped(plane: np.ndarray, width: float = 0.9375, height: float = 0.9444) -> np.ndarray:
    """The middle of a plane, 6 % less, scaled back."""
    rows, columns = plane.shape
    height, width = round(rows * height), round(columns * width)
    part = np.ascontiguousarray(plane[(rows - height) // 2 :, (columns - width) // 2 :][:height, :width])
    frame = av.VideoFrame.from_ndarray(part, "gray")
    return frame.reformat(columns, rows, "gray", interpolation=FILTERS["bicubic"]).to_ndarray()


def shifted(plane: np.ndarray) -> np.ndarray:
    count = 2 * plane.shape[1] // WIDTH
    return np.roll(plane, -count, axis=1)


@pytest.fixture(scope="module")
def frames() -> list[Planes]:
    """The camera moves forward: a frame is nearly the part of an earlier one."""
    return filmed(lambda frame: (1.004**-frame, 0, 0))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, frames: list[Planes]) -> Path:
    return encode(tmp_path_factory.mktemp("likeness") / "source.mkv", frames)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (each_plane(np.fliplr), "mirrored left-right"),
        (each_plane(np.flipud), "mirrored top-bottom"),
        (each_plane(lambda plane: plane[::-1, ::-1]), "upside down"),
    ],
)
def test_flipped_pictures_are_refused(
    change: Callable[[Planes], Planes], words: str, source: Path, frames: list[Planes], tmp_path: Path
) -> None:
    dis = encode(tmp_path / "flipped.mp4", [change(planes) for planes in frames], crf=26)
    with pytest.raises(PairingError, match=rf"shows the pictures of .* {words}.*align='off'"):
        paired(source, dis)
    assert paired(source, dis, align="off").pairs == FRAMES
    left = pair(source, dis)
    pairs = iter(left)
    for _ in range(12):
        next(pairs)
    pairs.close()  # whoever wants no more pairs is warned
    assert any(words in note.text for note in left.notes if note.level == "warning"), left.notes


@pytest.mark.parametrize(
    ("change", "words"), [(cropped, "zoomed by 6"), (shifted, "shifted by 2 pixels to the left")]
)
def test_moved_pictures_are_not_blamed_on_time(
    change: Callable[[np.ndarray], np.ndarray], words: str, source: Path, frames: list[Planes], tmp_path: Path
) -> None:
    """A frame of a zoom, cropped, is nearly a later frame: no skip is advised, and `auto` follows none."""
    dis = encode(tmp_path / "moved.mp4", [each_plane(change)(planes) for planes in frames], crf=26)
    notes = paired(source, dis).notes
    [note] = [note for note in notes if note.code == "geometry"]
    assert words in note.text
    assert note.level == "warning"
    assert not [note for note in notes if note.code in ("alignment", "brightness")]
    if change is cropped:
        with pytest.raises(PairingError, match=words):
            paired(source, dis, align="auto")
    else:
        followed = paired(source, dis, align="auto").notes
        assert [note.text for note in followed if note.code == "geometry"] == [note.text]


def test_pictures_that_are_shifted_in_a_pan_are_not_blamed_on_time(tmp_path: Path) -> None:
    """The pan moves on by nearly as much from frame to frame."""
    frames = filmed(lambda frame: (1, -2.2 * frame, 0.7 * frame))
    source = encode(tmp_path / "pan.mkv", frames)
    dis = encode(tmp_path / "moved.mp4", [each_plane(shifted)(planes) for planes in frames], crf=26)
    [note] = [note for note in paired(source, dis).notes if note.level == "warning"]
    assert (note.code, "shifted by 2 pixels to the left" in note.text) == ("geometry", True)


def test_a_crop_of_a_few_pixels_is_told_of_a_coarse_encode(frames: list[Planes]) -> None:
    """What is left when the crop is undone is the encoder's: two looks that agree make up for that."""
    rng, likeness = np.random.default_rng(1), Likeness()
    luma = frames[0][0]
    part = cropped(luma, 0.9875, 0.9889)
    found = []
    for number in range(41):
        coded = np.clip(np.rint(part + rng.normal(0, 13, luma.shape)), 0, 255).astype(np.uint8)
        found.append(likeness.look(*(Glimpse.of(Picture((each,), GREY), number) for each in (luma, coded))))
    assert {str(what)[:11] for what in found if what} == {"zoomed by 1"}


def test_less_contrast_in_a_fade_is_no_lag(source: Path, frames: list[Planes], tmp_path: Path) -> None:
    """A frame of a fade is nearly an earlier one, in less light."""

    def faded(contrast: float) -> list[Planes]:
        light = [contrast * min(1, n / 40) for n in range(FRAMES)]
        return [
            (np.rint(16 + part * (planes[0] - 16.0)).astype(np.uint8), *planes[1:])
            for part, planes in zip(light, frames, strict=True)
        ]

    dis = encode(tmp_path / "contrast.mp4", faded(0.9), crf=26)
    notes = paired(encode(tmp_path / "fade.mkv", faded(1)), dis).notes
    [note] = [note for note in notes if note.level == "warning"]
    assert note.code == "brightness"


def turned(degrees: float, saturation: float = 1.0) -> Callable[[Planes], Planes]:
    factor = saturation * np.exp(1j * np.radians(degrees))

    def change(planes: Planes) -> Planes:
        chroma = ((planes[1] - 128.0) + 1j * (planes[2] - 128.0)) * factor
        parts = (np.clip(np.rint(part + 128), 16, 240) for part in (chroma.real, chroma.imag))
        return planes[0], *(part.astype(np.uint8) for part in parts)  # type: ignore[return-value]

    return change


@pytest.mark.parametrize(
    ("change", "code", "words", "align"),
    [
        (turned(60), "colours", "hue turned by 60 degrees", "refuse"),
        (turned(15), "colours", "hue turned by 15 degrees", "auto"),
        (turned(0, 0.7), "colours", r"saturation (69|70|71)%", "refuse"),
        (turned(0, 1.3), "colours", r"saturation 1(28|29|30|31)%", "auto"),
        (lambda planes: (planes[0], *(np.full_like(planes[1], 128),) * 2), "colours", "saturation 0%",
         "refuse"),
        (lambda planes: (planes[0], planes[2], planes[1]), "colours", "Cb and Cr are swapped", "refuse"),
        *((lambda planes: (np.clip(255 * (planes[0] / 255.0) ** 0.77, 16, 235).astype(np.uint8), *planes[1:]),
         "brightness", "brighter by", align) for align in ("refuse", "auto")),
    ],
)  # fmt: skip
def test_what_vmaf_does_not_see_is_a_warning(
    change: Callable[[Planes], Planes],
    code: str,
    words: str,
    align: str,
    source: Path,
    frames: list[Planes],
    tmp_path: Path,
) -> None:
    dis = encode(tmp_path / "colours.mp4", [change(planes) for planes in frames], crf=26)
    report = acuity.score(source, dis, align=align)
    notes = [note for note in report.notes if note.code in ("colours", "brightness", "geometry")]
    assert [(note.code, note.level) for note in notes] == [(code, "warning")]
    assert re.search(words, notes[0].text)  # encoders differ by a percent from processor to processor


def test_colours_that_average_out_over_a_film_are_compared() -> None:
    """Shots of opposite colours: the mean of all is grey in both videos."""
    videos = Colours(full_range=False), Colours(full_range=False)
    for number in range(200):
        for video, saturation in zip(videos, (1.0, 0.7), strict=True):
            chroma = np.full((18, 32), 128 + 20 * saturation * (-1) ** (number // 10), np.uint8)
            video.see(Picture((np.repeat(chroma, 2, 1).repeat(2, 0), chroma, chroma), YUV420), number)
    assert videos[0].difference(videos[1]) == "by 8 of 255 steps: saturation 70%"


@pytest.mark.parametrize("crf", [20, 45])
def test_an_encode_has_its_source_s_colours_and_geometry(
    crf: int, source: Path, frames: list[Planes], tmp_path: Path
) -> None:
    report = acuity.score(source, encode(tmp_path / "encode.mp4", frames, crf=crf))
    assert not {"colours", "brightness", "geometry", "alignment"} & {note.code for note in report.notes}

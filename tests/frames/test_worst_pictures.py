"""Pictures in their colours: against FFmpeg's conversion, and HDR, heat maps, letters and contact sheets."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange, Colorspace, Interpolation
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from acuity.frames.artefacts.cells import Box
from acuity.frames.colours import PairColours, colours_of, tone_mapped
from acuity.frames.contact_sheet import MOST, ContactSheet, layout, resized
from acuity.frames.heat_map import Drawn, draw, heat_colours
from acuity.report.plots.png_plot import fitting, font, wrapped
from acuity.video.pairs.open_pair import open_pair
from acuity.video.pairs.pairing import pair_videos
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.avframes import to_frame
from acuity.video.readers.open import OpenOptions, RawGeometry
from acuity.video.rgb import to_rgb8
from video_clips import encode, y4m_bytes

MATRICES = {"bt709": Colorspace.ITU709, "smpte170m": Colorspace.ITU601, "bt2020nc": Colorspace.BT2020}


def smooth(width: int, height: int, format: PixelFormat) -> Picture:
    """A picture whose chroma changes slowly, so that all ways of interpolating it agree."""
    planes = []
    for number, (rows, columns) in enumerate(format.plane_shapes(width, height)):
        y, x = np.mgrid[:rows, :columns] / max(rows, columns)
        wave = 0.5 + 0.2 * np.sin(3 * x + number) + 0.15 * np.cos(4 * y - number)
        planes.append(np.rint(wave * ((1 << format.depth) - 1)).astype(format.dtype))
    return Picture(tuple(planes), format)


def by_ffmpeg(picture: Picture, matrix: str, full_range: bool) -> NDArray[np.uint8]:
    exact = Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT | Interpolation.FULL_CHR_H_INP
    shown = to_frame(picture).reformat(
        format="rgb24",
        src_colorspace=MATRICES[matrix],
        src_color_range=ColorRange.JPEG if full_range else ColorRange.MPEG,
        dst_color_range=ColorRange.JPEG,
        interpolation=Interpolation.BICUBIC | exact,
    )
    return shown.to_ndarray()


@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize(("name", "depth"), [("444", 8), ("420", 8), ("422", 10), ("420", 10), ("444", 12)])
def test_colours_are_ffmpegs(name: str, depth: int, matrix: str, full_range: bool) -> None:
    picture = smooth(96, 320, PixelFormat(name, depth))
    shown = PairColours(matrix, full_range).picture(picture)
    expected = by_ffmpeg(picture, matrix, full_range)
    difference = np.abs(shown.astype(int) - expected.astype(int))
    assert difference.max() <= 2
    assert difference.mean() < 0.5


def test_gray_and_odd_and_deep() -> None:
    format = PixelFormat("400", 16)
    picture = Picture((np.linspace(0, 65535, 21 * 33).reshape(33, 21).astype(np.uint16),), format)
    shown = PairColours("bt709", True).picture(picture)
    assert (shown == shown[..., :1]).all()
    assert (shown[0, 0, 0], shown[-1, -1, 0]) == (0, 255)


@pytest.mark.parametrize("name", ["400", "420", "422", "444"])
def test_rows_in_strips_are_the_whole(name: str) -> None:
    format = PixelFormat(name, 8)
    random = np.random.default_rng(5)
    shapes = format.plane_shapes(35, 301)
    picture = Picture(tuple(random.integers(0, 256, s).astype(np.uint8) for s in shapes), format)
    colours = PairColours("bt709", False)
    whole = to_rgb8(picture, "bt709")
    np.testing.assert_array_equal(colours.picture(picture), whole)
    box = Box(6, 150, 20, 100)
    np.testing.assert_array_equal(colours.picture(picture, box), whole[150:250, 6:26])


def colours_of_file(path: Path) -> PairColours:
    readers = open_pair(path, path, RawGeometry(), OpenOptions())
    with pair_videos(*readers) as pairing:
        return colours_of(pairing)


@pytest.mark.parametrize(("tag", "centred"), [("420jpeg", True), ("420mpeg2", False)])
def test_chroma_lies_where_the_video_says(tag: str, centred: bool, tmp_path: Path) -> None:
    step = np.where(np.arange(8) < 4, 60, 200).astype(np.uint8) * np.ones((8, 1), np.uint8)
    planes = [np.full((16, 16), 120, np.uint8), step, step]
    path = tmp_path / "step.y4m"
    path.write_bytes(y4m_bytes([planes, planes], f"W16 H16 F25:1 C{tag}"))
    colours, format = colours_of_file(path), PixelFormat("420", 8)
    shown, mirrored = (
        colours.picture(Picture(tuple(plane[:, ::turn] for plane in planes), format)) for turn in (1, -1)
    )
    assert np.array_equal(shown, mirrored[:, ::-1]) is centred


def test_hdr_is_tone_mapped_and_says_so(tmp_path: Path) -> None:
    quiet = {"x265-params": "log-level=none"}
    tags = {"color_trc": 16, "color_primaries": 9, "colorspace": 9}
    made = {"frames": 2, "pix_fmt": "yuv420p10le", "codec": "libx265", "options": quiet}
    colours = colours_of_file(encode(tmp_path / "hdr.mkv", **made, **tags))
    assert (colours.matrix, colours.transfer, colours.primaries) == ("bt2020nc", "smpte2084", "bt2020")
    assert str(colours) == "bt2020nc, limited range, PQ tone-mapped"
    assert [note.code for note in colours.notes] == ["tone-mapped"]
    assert "HDR (PQ)" in colours.notes[0].text


def test_wide_gamuts_are_taken_to_srgb() -> None:
    wide = PairColours("bt2020nc", False, primaries="bt2020")
    assert str(wide) == "bt2020nc, limited range, bt2020 taken to sRGB"

    def shown(colours: PairColours, *samples: int) -> list[int]:
        planes = tuple(np.full((8, 8), value, np.uint8) for value in samples)
        return colours.picture(Picture(planes, PixelFormat("444", 8)))[4, 4].tolist()

    assert shown(wide, 126, 128, 128) == [128, 128, 128]  # grey stays grey
    red, green, blue = shown(wide, 100, 120, 150)
    plain = shown(PairColours("bt2020nc", False), 100, 120, 150)
    assert red > plain[0] + 5  # the same numbers are a stronger colour in BT.2020
    assert green < plain[1]
    assert red > blue


@pytest.mark.parametrize(("range", "full"), [(1, False), (2, True)])
def test_raw_video_is_shown_in_the_range_of_its_encode(tmp_path: Path, range: int, full: bool) -> None:
    encoded = encode(tmp_path / "dis.mkv", codec="ffv1", frames=2, color_range=range)
    with av.open(str(encoded)) as file:
        data = b"".join(frame.to_ndarray().tobytes() for frame in file.decode(video=0))
    raw = tmp_path / "ref.yuv"
    raw.write_bytes(data)
    readers = open_pair(raw, encoded, RawGeometry(96, 64, "420", 8), OpenOptions())
    with pair_videos(*readers) as pairing:
        assert colours_of(pairing).full_range is full


def test_narrow_samples_are_kept_and_said(tmp_path: Path) -> None:
    path = encode(tmp_path / "wide.mkv", frames=2, sample_aspect_ratio=Fraction(64, 45))
    colours = colours_of_file(path)
    assert colours.aspect == Fraction(64, 45)
    assert [(note.code, "64:45" in note.text) for note in colours.notes] == [("sample-aspect", True)]


@pytest.mark.parametrize(("transfer", "white"), [("smpte2084", 0.5806), ("arib-std-b67", 0.75)])
def test_tone_mapping(transfer: str, white: float) -> None:
    ramp = np.repeat(np.linspace(0, 1, 101, dtype=np.float32)[:, None], 3, 1)
    shown = tone_mapped(ramp, transfer, "bt2020")
    np.testing.assert_allclose(shown, shown[:, :1].repeat(3, 1), atol=2e-3)  # grey stays grey
    assert (np.diff(shown[:, 0]) >= -1e-6).all()
    assert shown[0, 0] == 0
    assert shown[-1, 0] == pytest.approx(1)
    # Graphics white has room above it, and is far from dark.
    at_white = tone_mapped(np.full((1, 3), white, np.float32), transfer, None)
    assert 0.7 < at_white[0, 0] < 0.85


def test_lightness_of_the_scale_rises() -> None:
    colours = heat_colours().astype(float) / 255
    assert colours.shape == (256, 3)
    light = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    assert (np.diff(light @ (0.2126, 0.7152, 0.0722)) > -1e-3).all()


def test_a_heat_map_is_grey_where_nothing_is_lost() -> None:
    ref = smooth(200, 120, PixelFormat("420", 8))
    dis = deepcopy(ref)
    dis.planes[0][:40, :60] = 90
    drawn = draw(ref, dis, PairColours("bt709", False))
    assert drawn.heat.shape == drawn.reference.shape == drawn.distorted.shape == (120, 200, 3)
    grey = drawn.heat[90:, 130:].astype(int)
    assert (np.ptp(grey, axis=-1) <= 1).all()
    assert (np.ptp(drawn.heat[5:20, 5:30].astype(int), axis=-1) > 30).all()
    assert drawn.loss > 0


def test_a_crop_is_a_part_of_the_whole() -> None:
    ref = smooth(400, 300, PixelFormat("420", 8))
    dis = deepcopy(ref)
    dis.planes[0][200:240, 300:340] = 16
    colours = PairColours("bt709", False)
    whole, part = draw(ref, dis, colours), draw(ref, dis, colours, crop=True)
    x, y, width, height = part.region
    assert part.region == whole.region
    assert (width, height) == (100, 74)
    assert x <= 300 < 340 <= x + width
    assert y <= 200 < 240 <= y + height
    for name in ("reference", "distorted", "heat"):
        cut = getattr(whole, name)[y : y + height, x : x + width]
        np.testing.assert_array_equal(getattr(part, name), cut)


@given(text=st.text(), width=st.integers(0, 400))
def test_texts_fit(text: str, width: int) -> None:
    def length(line: str) -> float:
        return font(20).getlength(line)

    assert length(fitting(text, width, 20)) <= width
    lines = wrapped(text, width, 20, 2)
    assert len(lines) <= 2
    assert all(length(line) <= width for line in lines)


@given(count=st.integers(1, 32), width=st.integers(1, 8000), height=st.integers(1, 8000))
def test_sheets_have_their_size(count: int, width: int, height: int) -> None:
    found = layout(count, width, height)
    assert max(found.size) <= MOST
    assert found.blocks * found.rows >= count
    across, down = found.picture
    if min(width, height) > 40 and max(width, height) < 20 * min(width, height):
        assert across / down == pytest.approx(width / height, rel=0.15)
        assert max(across, down) >= 100


def test_pictures_and_captions_do_not_overlap() -> None:
    sheet = ContactSheet(32, 320, 180, "title", "subtitle")
    empty = sheet.image.copy()
    for rank in range(32):
        sheet.caption(rank, f"frame {rank}", "words " * 60)
    captions = (sheet.image != empty).any(-1)
    sheet = ContactSheet(32, 320, 180, "title", "subtitle")
    white = np.full((180, 320, 3), 255, np.uint8)
    for rank in range(32):
        sheet.place(rank, Drawn(white, white, white, Box(0, 0, 80, 64), 0.0))
    pictures = (sheet.image != empty).any(-1)
    across, down = layout(32, 320, 180).picture
    assert pictures.sum() == 32 * 3 * across * down
    assert captions.sum() > 32 * 100
    assert not (captions & pictures).any()


def test_the_worst_region_is_marked() -> None:
    sheet = ContactSheet(1, 400, 300, "title", "subtitle")
    black = np.zeros((300, 400, 3), np.uint8)
    sheet.place(0, Drawn(black, black, black, Box(0, 0, 100, 74), 0.0), Box(100, 60, 100, 74))
    x, y = layout(1, 400, 300).corner(0)
    bright = np.argwhere((sheet.image[y : y + 300, x : x + 400] == 255).all(-1))
    assert bright.min(0).tolist() == [61, 101]
    assert bright.max(0).tolist() == [132, 198]


def test_tiny_pictures_are_enlarged_by_whole_pixels() -> None:
    image = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
    found = layout(1, 16, 16).picture
    assert found == (400, 400)
    np.testing.assert_array_equal(np.asarray(resized(image, *found))[::25, ::25], image)

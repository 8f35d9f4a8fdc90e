"""Where artefacts are, pictures of every size and format, freezes, and pictures that codecs made."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import damage as d
from acuity.features.extractor import Pair
from acuity.frames.artefacts.cells import Box
from acuity.frames.artefacts.examine import examine
from acuity.frames.artefacts.findings import Examination, Typical, describe
from acuity.frames.artefacts.measure import ExaminedFrame
from acuity.video.picture import Picture, PixelFormat
from coded import coded

BOXES = {
    "upper left": (24, 16, 150, 100),
    "lower right": (300, 190, 150, 110),
    "centre": (170, 110, 150, 100),
}
LOCAL = {
    "blocking": ("cartoon", d.block_offsets(8, 10)),
    "blur": ("cartoon", d.blurred(2)),
    "ringing": ("cartoon", d.ringing(0.35)),
    "noise": ("gradient", d.noisy(8)),
    "banding": ("gradient", d.banded(5)),
    "colour shift": ("texture", d.cast(16, -12)),
    "brightness shift": ("texture", d.brighter(30)),
}


def _overlap(region: Box, box: tuple[int, int, int, int]) -> float:
    """The common area, as a share of the area of both."""
    x, y, width, height = box
    across = min(region.x + region.width, x + width) - max(region.x, x)
    down = min(region.y + region.height, y + height) - max(region.y, y)
    common = max(0, across) * max(0, down)
    return common / (region.width * region.height + width * height - common)


@pytest.mark.parametrize("artefact", LOCAL)
@pytest.mark.parametrize("words", BOXES)
def test_where_it_is(artefact: str, words: str) -> None:
    kind, damage = LOCAL[artefact]
    frame = d.made(d.synthetic(kind, 480, 320, 3), d.only_in(BOXES[words], damage))
    found = examine(frame).findings[artefact]
    assert found.where == words
    assert _overlap(found.region, BOXES[words]) > 0.5, found


def test_everywhere() -> None:
    found = examine(d.made(d.synthetic("texture", 301, 219, 3), d.blurred(2))).findings["blur"]
    assert found.where == "whole picture"
    assert found.region == Box(0, 0, 301, 219)


# Freezes ------------------------------------------------------------------------------------------


def test_a_freeze_names_the_frame_that_it_repeats() -> None:
    content = d.synthetic("city", 256, 224, 2)
    assert describe(examine(d.frozen(content, index=7)), Typical()) == (
        "Freeze: the picture repeats frame 6 while the reference moves."
    )


def test_what_else_is_wrong_with_a_repeated_picture() -> None:
    """It is compared with the moment that it shows."""
    content = d.synthetic("city", 256, 224, 2)
    frame = d.frozen(content, index=7)
    blurred = d.picture(d.blurred(2)(content(6)))
    found = examine(replace(frame, dis=blurred, before=Pair(frame.before.ref, blurred)))  # type: ignore[union-attr]
    assert found.severity("freeze") > 0.6
    assert found.severity("blur") > 0.6
    assert found.severity("ringing") < 0.1


def test_a_freeze_that_lasts_is_all_that_is_said() -> None:
    found = examine(d.frozen(d.synthetic("city", 256, 224, 2), since=4))
    assert {name for name in found.findings if found.severity(name)} == {"freeze"}


def test_no_freeze() -> None:
    content = d.synthetic("city", 256, 224, 2)
    ref, before = d.picture(content(3)), d.picture(content(2))
    still = ExaminedFrame(ref, ref, Pair(ref, ref))
    moving = d.made(content, d.blurred(3))
    assert examine(still).severity("freeze") == examine(moving).severity("freeze") == 0
    assert "freeze" not in examine(ExaminedFrame(ref, before)).findings  # nothing before it to compare with
    grain = [d.picture(d.noisy(3, seed)(content(3))) for seed in (1, 2)]  # noise isn't motion
    assert examine(ExaminedFrame(grain[0], ref, Pair(grain[1], ref))).severity("freeze") == 0


# Pictures at another place or of another moment ---------------------------------------------------

MOVED = {
    "the picture is shifted by 2 pixels to the right": lambda plane: np.roll(plane, 2, axis=1),
    "the picture is mirrored left-right": np.fliplr,
    "the picture is mirrored top-bottom": np.flipud,
    "the picture is upside down": lambda plane: np.rot90(plane, 2),
}


@pytest.mark.parametrize("words", MOVED)
def test_a_picture_at_another_place_has_no_other_artefact(words: str) -> None:
    def moved(planes: d.Planes) -> d.Planes:
        return tuple(MOVED[words](plane) for plane in planes)  # type: ignore[return-value, no-untyped-call]

    for kind in ("city", "texture", "clouds"):
        frame = d.made(d.synthetic(kind, 320, 224, 3), moved)
        assert describe(examine(frame), Typical()) == f"Misaligned: {words}."


def test_another_moment_of_a_pan_is_not_a_shift() -> None:
    content = d.synthetic("city", 256, 224, 2)
    around = {n: d.picture(content(n)).luma for n in (3, 4, 6, 7)}
    frame = ExaminedFrame(d.picture(content(5)), d.picture(content(4)), index=5, neighbours=around)
    said = "Misaligned: the picture shows another moment, frame 4 of the reference."
    assert describe(examine(frame), Typical()) == said
    in_place = replace(frame, dis=d.picture(d.blurred(2)(content(5))))
    assert examine(in_place).severity("misaligned") == 0


# One artefact isn't another -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "damage", "artefact", "least", "other"),
    [
        ("gradient", d.mosaic(8, 1.0), "blocking", 0.3, "banding"),
        ("texture", d.mosaic(12, 0.7, phase=7), "blocking", 0.5, "banding"),  # of an enlarged picture
        ("texture", d.full_to_limited, "brightness shift", 0.2, "blur"),
        ("texture", d.rescaled(3), "blur", 0.3, "blocking"),  # what a scaler leaves is no grid
        ("foliage", d.rescaled(3), "blur", 0.3, "blocking"),
    ],
)
def test_one_artefact_is_not_another(
    kind: str, damage: d.Damage, artefact: str, least: float, other: str
) -> None:
    found = examine(d.made(d.synthetic(kind, 480, 270, 2), damage))
    assert found.severity(artefact) > least
    assert found.severity(other) < 0.1


@pytest.mark.parametrize("gain", [0.7, 1.35])
def test_contrast_is_called_contrast(gain: float) -> None:
    frame = d.made(d.synthetic("clouds", 320, 240, 2), d.on_luma(lambda luma: 128 + gain * (luma - 128)))
    assert describe(examine(frame), Typical()).startswith("Contrast change, ")


@pytest.mark.parametrize("kind", ["city", "texture", "cartoon"])
def test_rows_of_another_moment_are_combing_alone(kind: str) -> None:
    content = d.synthetic(kind, 256, 224, 2)
    ref, later = d.picture(content(2)), d.picture(content(3))
    woven = [plane.copy() for plane in ref.planes]
    for plane, other in zip(woven, later.planes, strict=True):
        plane[1::2] = other[1::2]
    found = describe(examine(ExaminedFrame(ref, replace(ref, planes=tuple(woven)))), Typical())
    assert found.startswith("Combing, severe, ")
    assert ";" not in found


def test_coarse_bands_are_named_before_blur() -> None:
    found = examine(d.made(d.synthetic("gradient", 320, 240, 2), d.banded(16)))
    assert describe(found, Typical()).startswith("Banding, ")
    assert found.severity("blur") < 0.25


def test_both_of_two_artefacts_are_named() -> None:
    def both(planes: d.Planes) -> d.Planes:
        return d.cast(14, -10)(d.blurred(1.5)(planes))

    sentence = describe(examine(d.made(d.synthetic("city", 320, 240, 2), both)), Typical()).lower()
    assert {"blur", "colour shift"} <= {part.partition(",")[0] for part in sentence.split("; ")}


# Sizes and formats --------------------------------------------------------------------------------

SIZES = ((1, 1), (2, 3), (4, 4), (8, 8), (16, 16), (17, 19), (16, 240), (300, 9), (225, 33))


def _sound(found: Examination, width: int, height: int) -> bool:
    return all(
        math.isfinite(finding.figure)
        and 0 <= finding.severity <= 1
        and 0 <= finding.region.x < finding.region.x + finding.region.width <= width
        and 0 <= finding.region.y < finding.region.y + finding.region.height <= height
        for finding in found.findings.values()
    )


@pytest.mark.parametrize(("layout", "depth"), [("400", 16), ("420", 8), ("422", 10), ("444", 16)])
def test_every_size_and_format(layout: str, depth: int) -> None:
    form, rng = PixelFormat(layout, depth), np.random.default_rng(depth)
    for width, height in SIZES:
        shapes = form.plane_shapes(width, height)
        black, white = (
            Picture(tuple(np.full(shape, value, form.dtype) for shape in shapes), form)
            for value in (0, (1 << depth) - 1)
        )
        chance = Picture(tuple(rng.integers(0, 1 << depth, s).astype(form.dtype) for s in shapes), form)
        pairs = [(black, black), (white, white), (black, white), (chance, black), (black, chance)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for ref, dis in pairs:
                found = examine(ExaminedFrame(ref, dis, Pair(chance, chance)))
                assert _sound(found, width, height)
                assert ref is not dis or describe(found, Typical()) == "No visible artefact measured."
        assert ("colour shift" in found.findings) == (layout != "400")


def test_the_same_picture_in_other_depths_and_ranges() -> None:
    content, damage = d.synthetic("city", 256, 224, 2), d.noisy(8)
    eight = examine(d.made(content, damage))
    ten = examine(d.made(content, damage, depth=10))
    assert eight.severity("noise") == pytest.approx(ten.severity("noise"), abs=0.02)
    full = examine(d.made(content, damage, full_range=True))  # a level of the full range is smaller
    assert 0.75 * eight.severity("noise") < full.severity("noise") < eight.severity("noise")


# Codecs -------------------------------------------------------------------------------------------


def _after(codec: str, options: dict[str, str], kind: str = "city", **given: bool) -> str:
    content = d.synthetic(kind, 256, 224, 3)
    pictures = [d.picture(content(index)) for index in range(3)]
    decoded = coded(pictures, codec, options, **given)
    frame = ExaminedFrame(pictures[2], decoded[2], Pair(pictures[1], decoded[1]), index=2)
    return describe(examine(frame), Typical())


def test_x264_without_its_deblocking_filter() -> None:
    options = {"crf": "40", "preset": "veryfast", "x264-params": "no-deblock=1:log-level=none"}
    for kind in ("texture", "gradient", "cartoon"):
        assert _after("libx264", options, kind).startswith("Blocking")


@pytest.mark.parametrize(
    ("codec", "options"),
    [
        ("libx264", {"crf": "40", "preset": "veryfast", "x264-params": "log-level=none"}),
        ("libx265", {"crf": "42", "preset": "ultrafast", "x265-params": "log-level=none"}),
        ("libvpx-vp9", {"crf": "60", "b": "0", "cpu-used": "8"}),
    ],
)
def test_low_quality_of_today(codec: str, options: dict[str, str]) -> None:
    assert _after(codec, options, "texture").startswith(("Blur", "Blocking"))


@pytest.mark.parametrize(("codec", "full"), [("mpeg2video", False), ("mjpeg", True)])
def test_low_quality_of_early_codecs(codec: str, full: bool) -> None:
    sentence = _after(codec, {"qscale": "26"}, "cartoon", full_range=full).lower()
    assert sentence.startswith(("blocking", "ringing"))
    assert "blocking" in sentence
    assert "ringing" in sentence


def test_a_very_good_encode() -> None:
    options = {"crf": "8", "preset": "veryfast", "x264-params": "log-level=none"}
    for kind in ("city", "texture", "cartoon"):
        assert _after("libx264", options, kind) == "No visible artefact measured."


def _filled(luma: float, u: float = 128, v: float = 128) -> d.Damage:
    def change(planes: d.Planes) -> d.Planes:
        y, b, r = (np.full(p.shape, level) for p, level in zip(planes, (luma, u, v), strict=True))
        return y, b, r

    return change


@pytest.mark.parametrize(
    ("damage", "word", "form"),
    [
        (_filled(16), "black", {}),
        (_filled(16), "black", {"depth": 10}),
        (_filled(0), "black", {"full_range": True}),
        (_filled(128), "of one colour", {}),
        (_filled(60, 90, 90), "of one colour", {"depth": 10}),
    ],
)
def test_a_blank_picture_is_all_that_is_said(damage: d.Damage, word: str, form: dict[str, int]) -> None:
    found = examine(d.made(d.synthetic("city", 256, 224, 2), damage, **form))
    assert describe(found, Typical()) == f"Blank: the picture is {word}, the reference isn't."


def test_a_black_reference_has_no_blank_picture() -> None:
    frame = d.made(d.synthetic("city", 256, 224, 2), _filled(16))
    both = replace(frame, ref=frame.dis, before=Pair(frame.dis, frame.dis))
    assert examine(both).severity("blank") == 0
    assert examine(d.made(d.synthetic("city", 256, 224, 2), d.blurred(4))).severity("blank") == 0


def test_one_blank_picture_is_unusual_in_a_clip() -> None:
    content = d.synthetic("city", 256, 224, 2)
    blank, good = (examine(d.made(content, damage)) for damage in (_filled(16), d.blurred(0.3)))
    several: list[Examination] = [good, good, blank]
    assert "(none in most of the clip)" in describe(blank, Typical.of(several))


def test_a_small_object_of_another_colour() -> None:
    frame = d.made(d.synthetic("city", 640, 360, 2), d.only_in((400, 200, 64, 64), d.cast(-14, -20)))
    found = examine(frame).findings["colour shift"]
    assert found.severity >= 0.3
    assert max(found.region.width, found.region.height) <= 128
    assert 368 <= found.region.x <= 416
    assert 168 <= found.region.y <= 216
    assert describe(examine(frame), Typical()).startswith("Colour shift")


def _with_bars(period: int, wide: int) -> d.Content:
    """Texture with a row of bars near its lower border."""
    content = d.synthetic("texture", 480, 320, 3)

    def at(index: int) -> d.Planes:
        luma, u, v = (plane.copy() for plane in content(index))
        luma[270:300, np.arange(480) % period < wide] = 220
        return luma, u, v

    return at


def _moved(planes: d.Planes) -> d.Planes:
    luma, u, v = (np.roll(plane, 2, 1) for plane in planes)
    return luma, u, v


@pytest.mark.parametrize(("period", "wide"), [(4, 1), (8, 3), (12, 4), (16, 8)])
@pytest.mark.parametrize(
    "damage", [_moved, d.blurred(1.5), d.scaled_down(3)], ids=["moved", "blurred", "scaled"]
)
def test_bars_of_the_content_are_not_blocks(period: int, wide: int, damage: d.Damage) -> None:
    found = examine(d.made(_with_bars(period, wide), damage))
    assert found.severity("blocking") < 0.1
    assert not describe(found, Typical()).startswith("Blocking")


def test_blocks_beside_bars_are_found() -> None:
    frame = d.made(_with_bars(4, 1), d.only_in((0, 0, 480, 240), d.block_offsets(8, 10)))
    assert describe(examine(frame), Typical()).startswith("Blocking")


def test_a_single_added_edge_is_not_a_grid() -> None:
    def line(planes: d.Planes) -> d.Planes:
        luma = planes[0].copy()
        luma[:, :64] += 60
        return luma, planes[1], planes[2]

    assert examine(d.made(d.synthetic("gradient", 480, 320, 3), line)).severity("blocking") < 0.1

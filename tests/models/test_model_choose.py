"""The model that nobody names: by size, or by how the video is watched; and whether a model suits a size."""

from __future__ import annotations

from fractions import Fraction

import pytest

from acuity.errors import ModelError
from acuity.models import load_model
from acuity.models.choose import (
    VIEWINGS,
    choose,
    display_note,
    mismatch,
    model_class,
    model_for_size,
    models_for_viewing,
    size_class,
)
from acuity.models.spec import parse_spec


@pytest.mark.parametrize(
    ("viewing", "rate", "model", "words"),
    [
        ("tv", 25, "vmaf_v1.0.16_3d0h", "3 times its height, at 25 frames a second, a usual rate"),
        ("tv", 50, "vmaf_v1.0.16_hfr_3d0h", "at 50 frames a second, a high rate"),
        ("tv", None, "vmaf_v1.0.16_3d0h", "at an unknown frame rate"),
        ("phone", 24, "vmaf_v1.0.16_5d0h", "a phone seen from 5 times"),
        ("phone", Fraction(60000, 1001), "vmaf_v1.0.16_hfr_5d0h", "at 59.9401 frames"),
        ("4k-tv", 24, "vmaf_v1.0.16_1d5h_2160", "a 4K television seen from 1.5 times"),
        ("4k-tv", 48, "vmaf_v1.0.16_hfr_1d5h_2160", "a high rate"),
    ],
)
def test_the_way_of_watching_and_the_rate_choose(
    viewing: str, rate: int | Fraction | None, model: str, words: str
) -> None:
    choice = choose(1920, 1080, None if rate is None else Fraction(rate), viewing)
    assert (choice.model, choice.by) == (model, "viewing")
    assert choice.reason.startswith("VMAF v1 for a ")
    assert words in choice.reason


def test_without_a_way_of_watching_the_size_chooses() -> None:
    reason = "the default for pictures of 1280x720"
    assert choose(1280, 720, Fraction(60)) == ("vmaf_v0.6.1", "resolution", reason)


def test_every_choice_is_an_installed_model() -> None:
    for viewing in VIEWINGS:
        for name in models_for_viewing(viewing):
            assert load_model(name).label == name


def test_an_unknown_way_of_watching_is_explained() -> None:
    with pytest.raises(ModelError, match="viewing='cinema' is unknown: use one of tv, phone, 4k-tv"):
        choose(1920, 1080, None, "cinema")


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (3840, 2160, "4k"),
        (2160, 3840, "4k"),  # upright
        (2880, 2160, "4k"),  # 4:3
        (3839, 2159, "hd"),
        (1080, 2340, "hd"),  # a phone
        (1280, 720, "hd"),
        (1080, 1080, "hd"),  # fills a 1080p display
        (1279, 719, "sd"),
        (576, 324, "sd"),
    ],
)
def test_pictures_are_classed_whichever_side_is_up(width: int, height: int, expected: str) -> None:
    assert size_class(width, height) == expected
    assert model_for_size(width, height) == ("vmaf_4k_v0.6.1" if expected == "4k" else "vmaf_v0.6.1")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("version=vmaf_4k_v0.6.1", "4k"),
        ("version=vmaf_4k_v0.6.1neg", "4k"),
        ("version=vmaf_v0.6.1", "hd"),
        ("version=vmaf_v0.6.1neg:name=neg", "hd"),
        ("version=vmaf_b_v0.6.3", "hd"),
        ("version=vmaf_v1.0.16_3d0h", "hd"),
        ("version=vmaf_v1.0.16_hfr_3d0h", "hd"),
        ("version=vmaf_v1.0.16_3d0h_2160", "4k"),
        ("version=vmaf_v1.0.16_hfr_1d5h_2160", "4k"),
        ("path=/models/VMAF_4K_v0.6.1.json", "4k"),
        ("path=/vmaf_4k/mine.json", None),  # the folder's name is not the model's
        ("version=mine", None),
    ],
)
def test_names_say_what_a_model_is_for(spec: str, expected: str | None) -> None:
    assert model_class(parse_spec(spec)) == expected


def test_a_mismatch_is_named_with_a_remedy() -> None:
    text = mismatch(parse_spec("version=vmaf_4k_v0.6.1"), 1920, 1080)
    assert text is not None
    assert "'vmaf_4k_v0.6.1' is made for 4k" in text
    assert "1920x1080 (hd)" in text
    assert "version=vmaf_v0.6.1" in text
    small = mismatch(parse_spec("version=vmaf_v0.6.1"), 576, 324)
    assert small is not None
    assert "(sd)" in small
    assert "pass display=1080p" in small
    large = mismatch(parse_spec("version=vmaf_v1.0.16_3d0h"), 3840, 2160)
    assert large is not None
    assert "version=vmaf_v1.0.16_1d5h_2160" in large  # of the same generation


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ("version=vmaf_v0.6.1", (1920, 1080)),
        ("version=vmaf_4k_v0.6.1", (4096, 2160)),
        ("version=mine", (64, 64)),
    ],
)
def test_what_fits_and_what_nobody_knows_is_silent(spec: str, size: tuple[int, int]) -> None:
    assert mismatch(parse_spec(spec), *size) is None


def test_a_note_says_what_the_score_of_small_pictures_means() -> None:
    note = display_note(["mine", "vmaf_v0.6.1"], 640, 360)
    assert note is not None
    assert (note.level, note.code) == ("info", "display")
    assert note.text == (
        "vmaf_v0.6.1 is made for a 1080p display, and 640x360 is scored as if it took 33 % of its height,"
        " pixel for pixel: pass display='1080p' to score both videos as they fill it"
    )
    assert note.spelled(lambda remedy: f"--{remedy.names[0]} {remedy.value}").endswith(
        "pass --display 1080p to score both videos as they fill it"
    )
    large = display_note(["/models/vmaf_v0.6.1.json"], 3840, 2160)
    assert large is not None
    assert "took 200 % of its height" in large.text


@pytest.mark.parametrize(
    ("label", "size", "aspect"),
    [
        ("vmaf_v0.6.1", (1920, 1080), 1),
        ("vmaf_v0.6.1", (1920, 800), 1),
        ("vmaf_v0.6.1", (1080, 1920), 1),
        ("vmaf_v0.6.1", (1440, 1080), 4 / 3),
        ("vmaf_4k_v0.6.1", (4096, 2160), 1),
        ("mine", (64, 64), 1),
    ],
)
def test_pictures_that_fill_the_display_need_no_note(
    label: str, size: tuple[int, int], aspect: float
) -> None:
    assert display_note([label], *size, aspect) is None

"""The model that nobody names: by size, or by how the video is watched."""

from __future__ import annotations

from fractions import Fraction

import pytest

from acuity.errors import ModelError
from acuity.models import load_model
from acuity.models.choose import VIEWINGS, choose, models_for_viewing


@pytest.mark.parametrize(
    ("viewing", "rate", "model", "words"),
    [
        ("tv", 25, "vmaf_v1.0.16_3d0h", "3 times its height, at 25 frames a second, a usual rate"),
        ("tv", 30, "vmaf_v1.0.16_3d0h", "a usual rate"),
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
    small, large = choose(1280, 720, Fraction(60)), choose(3840, 2160, None)
    assert (small.model, small.by, small.reason) == (
        "vmaf_v0.6.1",
        "resolution",
        "the default for pictures of 1280x720",
    )
    assert large.model == "vmaf_4k_v0.6.1"


def test_every_choice_is_an_installed_model() -> None:
    for viewing in VIEWINGS:
        for name in models_for_viewing(viewing):
            assert load_model(name).label == name


def test_an_unknown_way_of_watching_is_explained() -> None:
    with pytest.raises(ModelError, match="viewing='cinema' is unknown: use one of tv, phone, 4k-tv"):
        choose(1920, 1080, None, "cinema")

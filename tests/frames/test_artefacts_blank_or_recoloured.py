"""Blank pictures, and objects of another colour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import damage as d
from acuity.features.extractor import Pair
from acuity.frames.artefacts.examine import examine
from acuity.frames.artefacts.findings import Examination, Typical, describe


def _filled(luma: float, u: float = 128, v: float = 128) -> d.Damage:
    def change(planes: d.Planes) -> d.Planes:
        y, b, r = (np.full(p.shape, level) for p, level in zip(planes, (luma, u, v), strict=True))
        return y, b, r

    return change


@pytest.mark.parametrize(
    ("damage", "word"),
    [(_filled(16), "black"), (_filled(128), "of one colour"), (_filled(60, 90, 90), "of one colour")],
)
@pytest.mark.parametrize("depth", [8, 10])
def test_a_blank_picture_is_all_that_is_said(damage: d.Damage, word: str, depth: int) -> None:
    found = examine(d.made(d.synthetic("city", 256, 224, 2), damage, depth=depth))
    assert describe(found, Typical()) == f"Blank: the picture is {word}, the reference isn't."


def test_black_of_the_full_range() -> None:
    found = examine(d.made(d.synthetic("city", 256, 224, 2), _filled(0), full_range=True))
    assert "is black" in describe(found, Typical())


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
    assert found.region.width <= 128
    assert found.region.height <= 128
    assert 368 <= found.region.x <= 416
    assert 168 <= found.region.y <= 216
    assert describe(examine(frame), Typical()).startswith("Colour shift")

"""A real card's decoders give the CPU's pictures and scores. `make test-cuda` shows it to these tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.devices.cuda.hardware.cards import CARDS, Cards
from acuity.devices.cuda.nvdec.library import abilities, load_functions
from acuity.devices.cuda.nvdec.reader import NvdecReader
from acuity.errors import BackendError
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.video.alignment.signature import sign
from acuity.video.card_picture import CardPicture
from acuity.video.readers.container import ContainerReader
from coded_clips import CODED, clip
from damaged_clip import FRAGILE, damage

SIZE = {"width": 320, "height": 180}


def _why_not() -> str | None:
    if "ACUITY_TEST_CUDA" not in os.environ:
        return "make test-cuda runs this"
    try:
        Cards().find()
        load_functions()
    except BackendError as error:
        return str(error)
    return None


WHY_NOT = _why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")


def compared(path: Path, *, required: bool = False, **options: Any) -> tuple[int, int]:
    """How many pictures came, and how many of them from the card; each equals the CPU's."""
    card, library = CARDS.open(0), load_functions()
    assert card is not None
    count = on_card = 0
    with ContainerReader(path, **options) as reader:
        if abilities(library, card, str(reader.info.codec), reader.info.format, 320, 180).problem is not None:
            pytest.skip(f"this card doesn't decode {reader.info.codec} of {reader.info.format}")
    with (
        ContainerReader(path, **options) as reader,
        NvdecReader(path, card=card, library=library, required=required, **options) as other,
    ):
        other.expect(converted=False)
        while (expected := reader.read()) is not None:
            found = other.read()
            assert found is not None
            assert found.pts == expected.pts
            np.testing.assert_array_equal(sign(found), sign(expected))
            for plane, wanted in zip(found.planes, expected.planes, strict=True):
                np.testing.assert_array_equal(plane, wanted)
            on_card += isinstance(found, CardPicture)
            count += 1
        assert other.read() is None
    return count, on_card


@pytest.mark.parametrize("name", CODED)
def test_pictures(name: str, tmp_path: Path) -> None:
    assert compared(clip(tmp_path, CODED[name], 120, **SIZE), required=True) == (120, 120)


def test_open_groups_of_pictures(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["h264"], 90, **SIZE, **{"x264-params": "open-gop=1:bframes=3"})
    assert compared(path) == (90, 90)


def test_damage(tmp_path: Path) -> None:
    path = damage(clip(tmp_path, CODED["h264"], 60, **SIZE, **{"x264-params": FRAGILE}), 40)
    count, on_card = compared(path, allow_damaged=True)
    assert count == 60
    assert on_card < 60


def test_scores(tmp_path: Path) -> None:
    ref = clip(tmp_path / "ref.mp4", CODED["h264"], 60, **SIZE, crf="10")
    dis = clip(tmp_path / "dis.mp4", CODED["h264"], 60, **SIZE, crf="40")
    expected, found = (
        run_request(Request(ref, dis, models=("version=vmaf_v0.6.1",), backend="cuda", decoder=decoder))
        for decoder in ("cpu", "nvdec")
    )
    assert found.notes == expected.notes
    for name, column in expected.results.columns.items():
        np.testing.assert_array_equal(found.results.columns[name], column)

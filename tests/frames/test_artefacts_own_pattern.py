"""Regular bars of the content aren't blocks, even when they are moved, blurred or scaled."""

from __future__ import annotations

import numpy as np
import pytest

import damage as d
from acuity.frames.artefacts.examine import examine
from acuity.frames.artefacts.findings import Typical, describe


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


@pytest.mark.parametrize("kind", ["texture", "foliage"])
def test_what_a_scaler_leaves_is_no_grid_of_blocks(kind: str) -> None:
    found = examine(d.made(d.synthetic(kind, 480, 270, 1), d.rescaled(3)))
    assert found.severity("blocking") < 0.1
    assert found.severity("blur") > 0.3


def test_a_single_added_edge_is_not_a_grid() -> None:
    def line(planes: d.Planes) -> d.Planes:
        luma = planes[0].copy()
        luma[:, :64] += 60
        return luma, planes[1], planes[2]

    assert examine(d.made(d.synthetic("gradient", 480, 320, 3), line)).severity("blocking") < 0.1

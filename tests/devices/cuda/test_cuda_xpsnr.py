"""XPSNR on an emulated card beside the CPU's."""

from __future__ import annotations

import pytest

from acuity.devices.cuda.twins.xpsnr import XpsnrTwin
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, random_frames

FAST = {"frame_rate": 50}


@needs_compiler
@pytest.mark.parametrize(("settings", "extreme"), [({}, True), (FAST, False)])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize(("size", "layout"), [((1, 1), "420"), ((67, 35), "420"), ((131, 19), "422")])
def test_the_same_digits(
    size: tuple[int, int], layout: str, depth: int, settings: dict[str, int], extreme: bool
) -> None:
    frames = random_frames(3, *size, depth, layout=layout, extreme=extreme)
    members = extractors("xpsnr", settings)
    assert on_card(XpsnrTwin, members, frames, 2) == on_cpu(members, frames)


@needs_compiler
@pytest.mark.parametrize(
    ("size", "depth", "settings"), [((2701, 881), 8, FAST), ((1301, 1817), 16, {}), ((700, 450), 8, {})]
)
def test_large_pictures(size: tuple[int, int], depth: int, settings: dict[str, int]) -> None:
    """Beyond HD details are halved; narrow blocks at the edge have no texture."""
    frames = random_frames(3, *size, depth)[-1:]
    members = extractors("xpsnr", settings)
    assert on_card(XpsnrTwin, members, frames) == on_cpu(members, frames)

"""CIEDE2000 on an emulated card beside the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.devices.cuda.twins.ciede import CiedeTwin
from acuity.features.extractor import Frame
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, picture, random_frames


@needs_compiler
@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize("layout", ["420", "422", "444"])
@pytest.mark.parametrize("size", [(1, 1), (67, 35), (1, 7), (71, 1)])
def test_the_same_digits(size: tuple[int, int], layout: str, depth: int, extreme: bool) -> None:
    frames = random_frames(4, *size, depth, layout=layout, extreme=extreme)
    members = extractors("ciede")
    assert on_card(CiedeTwin, members, frames) == on_cpu(members, frames)


@needs_compiler
@pytest.mark.parametrize("depth", [8, 16])
def test_sums_of_several_turns(depth: int) -> None:
    """Differences that begin late, that are small beside the sum before them, and none."""
    random = np.random.default_rng(1)
    kind = np.uint8 if depth == 8 else np.uint16
    planes = [random.integers(0, 1 << depth, (151, 133), kind) for _ in range(3)]
    late, faint = ([plane.copy() for plane in planes] for _ in range(2))
    late[0][130:] ^= kind(3)
    for plane in faint:
        plane[:2] = ~plane[:2]
        plane[2:] ^= random.integers(0, 2, (149, 133), kind)
    frames = [
        Frame(i, picture(planes, "444", depth), picture(others, "444", depth))
        for i, others in enumerate((late, faint, planes))
    ]
    members = extractors("ciede")
    assert on_card(CiedeTwin, members, frames) == on_cpu(members, frames)

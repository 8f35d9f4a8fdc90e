"""PSNR on an emulated card beside the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.devices.cuda.twins.psnr import PsnrTwin
from acuity.features.extractor import Frame
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, picture, random_frames

OPTIONS = (
    {},
    {"enable_chroma": False},
    {"enable_mse": True, "enable_apsnr": True, "reduced_hbd_peak": True, "min_sse": 0.5},
)


@needs_compiler
@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize(
    ("size", "layout"),
    [
        ((1, 1), "420"),
        ((67, 35), "400"),
        ((67, 35), "420"),
        ((67, 35), "422"),
        ((67, 35), "444"),
        ((600, 19), "420"),
    ],
)
def test_the_same_digits(size: tuple[int, int], layout: str, depth: int, extreme: bool) -> None:
    frames = random_frames(4, *size, depth, layout=layout, extreme=extreme)
    for settings in OPTIONS:
        members = extractors("psnr", settings)
        assert on_card(PsnrTwin, members, frames) == on_cpu(members, frames)


@needs_compiler
@pytest.mark.parametrize("depth", [8, 16])
def test_largest_errors(depth: int) -> None:
    """Sums that need more than 32 bits, and none."""
    kind = np.uint8 if depth == 8 else np.uint16
    black, white = (np.full((70, 1100), value, kind) for value in (0, (1 << depth) - 1))
    pairs = [(black, white), (white, white), (white, black)]
    frames = [
        Frame(i, picture([ref], "400", depth), picture([dis], "400", depth))
        for i, (ref, dis) in enumerate(pairs)
    ]
    members = extractors("psnr", {"enable_apsnr": True})
    found = on_card(PsnrTwin, members, frames)
    assert found == on_cpu(members, frames)
    assert found[0]["sse_y"] == 70 * 1100 * float((1 << depth) - 1) ** 2

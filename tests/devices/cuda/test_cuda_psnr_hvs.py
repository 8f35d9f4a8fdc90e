"""PSNR-HVS on an emulated card beside the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.devices.cuda.twins.psnr_hvs import PsnrHvsTwin
from acuity.features.extractor import Frame
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, picture, random_frames


@needs_compiler
@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12])
@pytest.mark.parametrize(("size", "layout"), [((16, 16), "420"), ((67, 35), "444"), ((131, 91), "422")])
def test_the_same_digits(size: tuple[int, int], layout: str, depth: int, extreme: bool) -> None:
    frames = random_frames(4, *size, depth, layout=layout, extreme=extreme)
    members = extractors("psnr_hvs")
    assert on_card(PsnrHvsTwin, members, frames) == on_cpu(members, frames)


@needs_compiler
def test_many_blocks() -> None:
    """Sums of several turns, errors that begin late, and errors far smaller than the sum before them."""
    random = np.random.default_rng(1)
    ref = random.integers(0, 256, (400, 400), np.uint8)
    late, faint, none = ref.copy(), ref.copy(), ref.copy()
    late[300:] ^= random.integers(0, 16, (100, 400), np.uint8)
    faint[:8] = ~faint[:8]
    faint[8:] ^= random.integers(0, 2, (392, 400), np.uint8)
    frames = [
        Frame(i, picture([ref] * 3, "444", 8), picture(planes, "444", 8))
        for i, planes in enumerate(([late, faint, none], [faint, late, ~ref]))
    ]
    members = extractors("psnr_hvs")
    assert on_card(PsnrHvsTwin, members, frames) == on_cpu(members, frames)

"""Structural similarity on an emulated card beside the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.devices.cuda.twins.similarity import FloatMsSsimTwin, FloatSsimTwin
from acuity.features.extractor import Frame
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, picture, random_frames

LCS = {"enable_lcs": True}


@needs_compiler
@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize(
    ("size", "scale"), [((11, 11), 1), ((67, 35), 1), ((67, 35), 3), ((130, 43), 2), ((113, 111), 10)]
)
def test_the_same_digits(size: tuple[int, int], scale: int, depth: int, extreme: bool) -> None:
    frames = random_frames(4, *size, depth, extreme=extreme)
    for settings in ({}, LCS):
        members = extractors("float_ssim", {**settings, "scale": scale})
        assert on_card(FloatSsimTwin, members, frames) == on_cpu(members, frames)


@needs_compiler
@pytest.mark.parametrize("depth", [8, 10])
def test_decibels(depth: int) -> None:
    frames = random_frames(2, 50, 40, depth)
    same = frames[0].ref
    frames.append(Frame(2, same, same))
    for settings in ({"enable_db": True}, {"enable_db": True, "clip_db": True, **LCS}):
        members = extractors("float_ssim", settings)
        assert on_card(FloatSsimTwin, members, frames) == on_cpu(members, frames)


@needs_compiler
def test_automatic_scale() -> None:
    frames = random_frames(1, 401, 385, 8)
    members = extractors("float_ssim", LCS)
    assert on_card(FloatSsimTwin, members, frames) == on_cpu(members, frames)


@needs_compiler
def test_flat_pictures() -> None:
    """Variances are what rounding left over."""
    flat = [picture([np.full((40, 70), value, np.uint8)], "400", 8) for value in (0, 77, 255)]
    frames = [Frame(i, ref, dis) for i, (ref, dis) in enumerate((r, d) for r in flat for d in flat)]
    members = extractors("float_ssim", LCS)
    assert on_card(FloatSsimTwin, members, frames) == on_cpu(members, frames)


@needs_compiler
@pytest.mark.parametrize(
    ("size", "depth", "extreme"),
    [((176, 177), 8, False), ((211, 180), 10, True), ((176, 183), 16, False), ((178, 176), 8, True)],
)
def test_five_scales(size: tuple[int, int], depth: int, extreme: bool) -> None:
    frames = random_frames(2, *size, depth, extreme=extreme)
    for settings in ({}, LCS, {"enable_db": True}):
        members = extractors("float_ms_ssim", settings)
        assert repr(on_card(FloatMsSsimTwin, members, frames)) == repr(on_cpu(members, frames))

"""VIF on an emulated card beside the CPU's."""

from __future__ import annotations

from typing import Any

import pytest

from acuity.devices.cuda.twins.vif import VifTwin
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, random_frames

pytestmark = needs_compiler

SETTINGS: list[list[dict[str, Any]]] = [
    [{"debug": True}],
    [{"debug": True, "vif_skip_scale0": True}],
    [{}, {"vif_enhn_gain_limit": 1.0, "debug": True}],
    [{"vif_enhn_gain_limit": limit, "debug": True} for limit in (1.0, 1.05, 2.0, 100.0, 1.5)],
]


def compare(size: tuple[int, int], depth: int, *settings: dict[str, Any], extreme: bool = False) -> None:
    frames = random_frames(2, *size, depth, extreme=extreme)
    members = extractors("vif", *settings)
    assert on_card(VifTwin, members, frames) == on_cpu(members, frames)


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize("size", [(16, 16), (67, 35)])
def test_the_same_digits(size: tuple[int, int], depth: int, extreme: bool) -> None:
    compare(size, depth, {"debug": True}, {"debug": True, "vif_enhn_gain_limit": 1.0}, extreme=extreme)


@pytest.mark.parametrize("settings", SETTINGS)
def test_options_and_gain_limits(settings: list[dict[str, Any]]) -> None:
    compare((49, 26), 8, *settings)

"""SSIMULACRA 2 on an emulated card beside the CPU's."""

from __future__ import annotations

from typing import Any

import pytest

from acuity.devices.cuda.twins.ssimulacra2 import Ssimulacra2Twin
from acuity.video.picture import ColourTags
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, random_frames

pytestmark = needs_compiler


def compare(size: tuple[int, int], layout: str, depth: int, *, extreme: bool = False, **options: Any) -> None:
    frames = random_frames(2, *size, depth, layout=layout, extreme=extreme)
    members = extractors("ssimulacra2", options)
    assert on_card(Ssimulacra2Twin, members, frames) == on_cpu(members, frames)


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize(("layout", "depth"), [("420", 8), ("422", 10), ("444", 8), ("400", 8), ("420", 16)])
@pytest.mark.parametrize("size", [(8, 8), (35, 21)])
def test_the_same_digits(size: tuple[int, int], layout: str, depth: int, extreme: bool) -> None:
    compare(size, layout, depth, extreme=extreme)


@pytest.mark.parametrize("size", [(97, 64), (131, 140), (17, 290)])
def test_several_slabs_and_tiles(size: tuple[int, int]) -> None:
    compare(size, "420", 8)


@pytest.mark.parametrize(
    "options", [{"matrix": "bt2020", "transfer": "pq"}, {"range": "full", "transfer": "srgb"}]
)
def test_what_samples_mean(options: dict[str, str]) -> None:
    compare((40, 24), "420", 10, **options)


def test_what_the_pair_says_about_its_samples() -> None:
    frames = random_frames(2, 40, 24, 10, layout="420")
    members, tags = extractors("ssimulacra2"), ColourTags("bt2020nc", True, "smpte2084", "bt2020")
    found = on_card(Ssimulacra2Twin, members, frames, colour=tags)
    assert found == on_cpu(members, frames, tags) != on_cpu(members, frames)

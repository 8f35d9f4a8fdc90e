"""SpEED: libvmaf's figures, whatever the pictures, options, threads and instruction set; and refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from acuity.errors import FeatureError
from acuity.features import get_extractor
from acuity.features.extractor import Geometry
from speed_pictures import measure

# A pattern, size, layout, depth, a feature, and what libvmaf 3.2.0 (plain C) says of the second frame of the
# pictures of speed_pictures.py: of u, of v and of both, or of what changed.
Case = tuple[str, tuple[int, int], str, int, str, list[float]]
FIGURES: list[Case] = json.loads(Path(__file__).with_name("speed_figures.json").read_text())
IDS = [f"{pattern}-{layout}-{depth}-{feature}" for pattern, _, layout, depth, feature, _ in FIGURES]


def last_figures(case: Case, **options: Any) -> list[float]:
    pattern, size, layout, depth, feature, _ = case
    columns = measure(pattern, size, layout, depth, feature, **options).columns
    return [float(column[-1]) for column in columns.values()]


@pytest.mark.parametrize("case", FIGURES, ids=IDS)
def test_figures_are_those_of_libvmaf(case: Case) -> None:
    assert last_figures(case) == case[-1]


@pytest.mark.parametrize("case", [FIGURES[0], FIGURES[3]], ids=["chroma", "temporal"])
def test_every_instruction_set_gives_them(case: Case, instruction_set: str) -> None:
    assert last_figures(case, instruction_set=instruction_set) == case[-1]


def test_nothing_has_changed_in_the_first_frame() -> None:
    figures = measure("tiles", (240, 208), "400", 8, "speed_temporal").columns["speed_temporal"]
    assert figures[0] == 0.0 < figures[1]


def test_frames_that_are_left_out_are_still_compared_with() -> None:
    whole = measure("tiles", (240, 208), "400", 8, "speed_temporal", frames=5)
    some = measure("tiles", (240, 208), "400", 8, "speed_temporal", frames=5, subsample=2)
    assert list(some.frames) == [0, 2, 4]
    assert list(some.columns["speed_temporal"]) == list(whole.columns["speed_temporal"][::2])


@pytest.mark.parametrize(
    ("options", "geometry", "smallest"),
    [
        ({}, Geometry(160, 90, 8, (80, 45)), "160x160"),
        ({}, Geometry(22, 18, 8, (11, 9)), "160x160"),
        ({}, Geometry(160, 79, 8, (80, 79)), "160x80"),
        ({}, Geometry(79, 300, 8, (79, 300)), "80x80"),
        ({"speed_prescale": 0.5}, Geometry(480, 270, 8, (240, 135)),
         "318x318 samples with speed_prescale=0.5"),
        ({"speed_prescale": 4.0}, Geometry(38, 40, 8, (19, 20)), "40x40 samples with speed_prescale=4"),
        ({"speed_prescale": 0.9995}, Geometry(160, 158, 8, (80, 79)), "160x160"),
    ],
)  # fmt: skip
def test_chroma_that_holds_no_block_is_refused(
    options: dict[str, float], geometry: Geometry, smallest: str
) -> None:
    with pytest.raises(FeatureError, match=f"at least {smallest}.*{geometry.width}x{geometry.height}"):
        get_extractor("speed_chroma")(options).check_size(geometry)


@pytest.mark.parametrize("factor", [0.1, 0.3333, 0.5, 0.6, 0.9995, 1.0, 1.0005, 2.0, 4.0])
def test_the_smallest_plane_is_enough(factor: float) -> None:
    chroma = get_extractor("speed_chroma")({"speed_prescale": factor, "speed_prescale_method": "bilinear"})
    side = chroma.smallest_plane  # type: ignore[attr-defined]
    results = measure("tiles", (side, side), "444", 8, f"speed_chroma=speed_prescale={factor}")
    assert all(list(column) == [0.0, 0.0] for column in results.columns.values())
    with pytest.raises(FeatureError):
        measure("tiles", (side - 1, side), "444", 8, f"speed_chroma=speed_prescale={factor}")


def test_small_changes_are_refused_once_there_is_one() -> None:
    """As libvmaf, which says 0 of a clip of one frame, whatever its size, and crashes on the second."""
    assert list(
        measure("tiles", (22, 18), "420", 8, "speed_temporal", frames=1).columns["speed_temporal"]
    ) == [0]
    with pytest.raises(FeatureError, match=r"speed_temporal needs pictures of at least 80x80.*22x18"):
        measure("tiles", (22, 18), "420", 8, "speed_temporal", frames=2)


class NoNumbers:
    """In place of the native object: what nearly singular covariances can come to."""

    def chroma(self, *_: object) -> list[list[float]]:
        return [[2.0, math.nan, math.inf]]

    def change(self, *_: object) -> list[float]:
        return [math.nan]


@pytest.mark.parametrize("name", ["speed_chroma", "speed_temporal"])
def test_what_is_no_number_is_the_largest_figure(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As libvmaf has it for chroma; of changes it says nan, which no report can hold."""
    monkeypatch.setattr("acuity.features.speed.native_speed", lambda *_: NoNumbers())
    columns = measure("tiles", (240, 208), "444", 8, f"{name}=speed_max_val=500").columns
    expected = [2.0, 500.0, 500.0] if name == "speed_chroma" else [500.0]
    assert [column[-1] for column in columns.values()] == expected

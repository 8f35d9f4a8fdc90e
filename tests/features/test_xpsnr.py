"""XPSNR against FFmpeg's own filter: figures it gave, and what it has no word on."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formula_pictures
from acuity import _native
from acuity.devices import usable_instruction_sets as instruction_sets
from acuity.features.extractor import Geometry
from acuity.features.xpsnr import Xpsnr, weighted
from acuity.video.picture import PixelFormat
from formula_pictures import measure, pattern

PLANES = ("y", "u", "v")
pair = functools.lru_cache(maxsize=4)(formula_pictures.pair)  # of shapes that differ in their rate alone

# (width, height, layout, depth, frames a second), each frame's figures of y, u and v and those of the clip,
# as FFmpeg 8.1's xpsnr filter (libavfilter 11.14) prints them for tests/formula_pictures.py.
FILTER = json.loads(Path(__file__).with_name("xpsnr_figures.json").read_text())

PATTERNS = [
    ("black", "white", 0, (-18.7048, -18.7048, -18.7048)),
    ("white", "black", 0, (2.3503, 2.3503, 2.3503)),
    ("noise", "noise", 1, (13.5013, 13.4778, 13.3390)),
    ("checkers", "checkers", 1, (8.8824, 8.8824, 8.8824)),
    ("gradient", "gradient", 0, (math.inf, math.inf, math.inf)),
    ("gradient", "black", 0, (5.4064, 5.4006, 5.4006)),
]


def printed(figures: Any) -> list[str]:
    """As the filter prints them."""
    return [f"{figure:.4f}" for figure in figures]


@pytest.mark.parametrize(("shape", "frames", "clip"), FILTER)
def test_equals_the_filter(
    shape: tuple[int, int, str, int, int], frames: list[tuple[float, ...]], clip: tuple[float, ...]
) -> None:
    width, height, layout, depth, rate = shape
    pairs = [pair(width, height, layout, depth, index) for index in range(len(frames))]
    results = measure(pairs, f"xpsnr=frame_rate={rate}", threads=2)
    for plane, column in zip(PLANES, zip(*frames, strict=True), strict=False):
        assert printed(results.columns[f"xpsnr_{plane}"]) == printed(column)
        assert printed([results.aggregate[f"axpsnr_{plane}"]]) == printed([clip[PLANES.index(plane)]])
    assert printed([results.aggregate["axpsnr_min"]]) == printed([min(clip)])
    assert [key for key in results.columns if "root" in key] == []


@pytest.mark.parametrize(("ref", "dis", "seed", "figures"), PATTERNS)
def test_equals_the_filter_on_patterns(ref: str, dis: str, seed: int, figures: tuple[float, ...]) -> None:
    pictures = pattern(ref, 80, 56, "420", 8), pattern(dis, 80, 56, "420", 8, seed)
    results = measure([pictures], "xpsnr")
    assert printed(results.columns[f"xpsnr_{plane}"][0] for plane in PLANES) == printed(figures)


def test_weighs_luma_four_times() -> None:
    # Figures of a published measurement: XPSNR of y, u and v, and the W-XPSNR given with them.
    assert weighted((34.80490, 38.48910, 37.42110)) == pytest.approx(35.61793, abs=1e-5)
    assert weighted((40.0,)) == pytest.approx(40.0)
    assert weighted((math.inf, math.inf, math.inf)) == math.inf
    assert math.isfinite(weighted((30.0, math.inf, math.inf)))


def test_gives_the_weighted_figure() -> None:
    results = measure([pair(96, 64, "420", 8, index) for index in range(2)], "xpsnr")
    for index in range(2):
        planes = [results.columns[f"xpsnr_{plane}"][index] for plane in PLANES]
        assert results.columns["xpsnr_w"][index] == weighted(planes)
    assert results.aggregate["axpsnr_w"] == weighted(results.aggregate[f"axpsnr_{p}"] for p in PLANES)


def test_equal_frames_are_infinite_and_counted_as_such() -> None:
    ref, dis = pair(96, 64, "420", 8)
    same = measure([(ref, ref)] * 2, "xpsnr")
    assert set(same.aggregate.values()) == {math.inf}
    assert np.isinf(same.columns["xpsnr_w"]).all()
    some = measure([(ref, dis), (ref, ref)], "xpsnr")
    assert math.isfinite(some.aggregate["axpsnr_y"])


@given(
    st.integers(1, 70),
    st.integers(1, 70),
    st.sampled_from(["400", "420", "422", "444"]),
    st.sampled_from([8, 10, 12, 16]),
    st.booleans(),
)
def test_instruction_sets_agree(width: int, height: int, layout: str, depth: int, fast: bool) -> None:
    ref, dis = pair(width, height, layout, depth)
    chroma = ref.planes[1].shape[::-1] if layout != "400" else (0, 0)
    size, given = (width, height, depth), (ref.planes, dis.planes, [dis.luma, ref.luma])
    kernels = (
        _native.Xpsnr(*size, chroma=chroma, fast=fast, instruction_set=name) for name in instruction_sets()
    )
    found = {tuple(kernel.run(*given)) for kernel in kernels}
    assert len(found) == 1


def test_looks_back_as_far_as_the_frame_rate_says() -> None:
    assert [Xpsnr({"frame_rate": rate}).lookback for rate in (0, 30, 31.9, 32, 60)] == [1, 1, 1, 2, 2]
    assert Xpsnr().lookback == 1


def test_knows_luma_alone() -> None:
    extractor = Xpsnr()
    extractor.check_size(Geometry(1, 1, 8))
    results = measure([pair(96, 64, "400", 8)], "xpsnr")
    assert list(results.columns) == ["xpsnr_y", "xpsnr_w"]
    assert results.columns["xpsnr_w"][0] == pytest.approx(results.columns["xpsnr_y"][0])
    assert PixelFormat("400", 8).plane_shapes(96, 64) == [(64, 96)]

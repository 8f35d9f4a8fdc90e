"""The extractors of structural similarity: libvmaf's figures, decibels, sizes and options."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity.errors import FeatureError
from acuity.features import make_extractor as make
from acuity.features import parse_feature
from acuity.features.extractor import Geometry
from acuity.features.ssim import decibels
from acuity.video.picture import Picture, PixelFormat
from seeded import figures
from ssim_pictures import Plane, pair

# What libvmaf's plain path says about pairs of ssim_pictures; of `ssim`, which its program lacks, what the
# function in its source says. No figure: it is not finite.
FIGURES: list[Any] = json.loads(Path(__file__).with_name("ssim_figures.json").read_text())


def run(text: str, ref: Plane, dis: Plane, depth: int, instruction_set: str = "") -> dict[str, float]:
    name, options = parse_feature(text)
    first, second = (Picture((plane,), PixelFormat("400", depth)) for plane in (ref, dis))
    return figures(name, first, second, options, instruction_set)


@pytest.mark.parametrize(("feature", "width", "height", "depth", "kind", "wanted"), FIGURES)
def test_figures_are_libvmafs(
    feature: str,
    width: int,
    height: int,
    depth: int,
    kind: str,
    wanted: dict[str, float | None],
    instruction_set: str,
) -> None:
    found = run(feature, *pair(width, height, depth, kind), depth, instruction_set)
    assert list(found) == list(wanted)
    for key, figure in wanted.items():
        if figure is None:
            assert not math.isfinite(found[key])
        else:
            assert found[key] == pytest.approx(figure, rel=0, abs=1e-9), key


def exact_ssim(ref: Plane, dis: Plane, depth: int) -> float:
    """Integer `ssim` in the plainest way; Python's integers have no end."""
    weights = [2, 9, 28, 55, 68, 55, 28, 9, 2]
    peak = (1 << depth) - 1
    height, width = ref.shape
    total, weight = 0.0, 0
    for y in range(height):
        for x in range(width):
            sums = [0] * 6
            for v in range(max(0, y - 4), min(height, y + 5)):
                for u in range(max(0, x - 4), min(width, x + 5)):
                    w, a, b = weights[v - y + 4] * weights[u - x + 4], int(ref[v, u]), int(dis[v, u])
                    sums = [s + w * t for s, t in zip(sums, (1, a, b, a * a, b * b, a * b), strict=True)]
            n, a, b, aa, bb, ab = sums
            c1, c2 = (peak * n * 0.01) ** 2, (peak * n * 0.03) ** 2
            similar = (2 * a * b + c1) * (2 * (ab * n - a * b) + c2)
            total += n * similar / ((a * a + b * b + c1) * (aa * n - a * a + bb * n - b * b + c2))
            weight += n
    return total / weight


@pytest.mark.parametrize("kind", ["noisy", "inverse", "same"])
def test_sixteen_bits_of_integer_ssim(kind: str) -> None:
    """Where libvmaf's integers overflow."""
    ref, dis = pair(23, 17, 16, kind)
    assert run("ssim", ref, dis, 16)["ssim"] == pytest.approx(exact_ssim(ref, dis, 16), rel=0, abs=1e-12)


@settings(max_examples=25)
@given(
    st.sampled_from(["float_ssim", "float_ssim=scale=2", "float_ssim=scale=3", "float_ms_ssim", "ssim"]),
    st.integers(0, 140),
    st.integers(0, 60),
    st.sampled_from([8, 10, 12, 16]),
    st.integers(0, 2**32),
)
def test_every_instruction_set_says_the_same(
    instruction_set: str, feature: str, wider: int, higher: int, depth: int, seed: int
) -> None:
    least = {"float_ms_ssim": 176, "ssim": 1}.get(feature, 33)
    rng = np.random.default_rng(seed)
    room = rng.integers(0, 1 << depth, (2, least + higher, least + wider + 7))
    ref, dis = room.astype(np.uint8 if depth == 8 else np.uint16)[:, :, : least + wider]  # with padded rows
    found = run(feature, ref, dis, depth, instruction_set)
    assert all(math.isfinite(value) or feature == "float_ms_ssim" for value in found.values())
    np.testing.assert_equal(found, run(feature, ref, dis, depth, "plain"))


def test_decibels() -> None:
    assert decibels(0.9, math.inf) == pytest.approx(10.0)
    assert decibels(-0.5, 90.0) == pytest.approx(-10 * math.log10(1.5))
    assert decibels(0.9999999999, 90.0) == 90.0
    assert decibels(1.0, math.inf) == math.inf
    for none_below_one in (1.0, 1.0000001, math.nan):
        assert decibels(none_below_one, 90.0) == 90.0


@pytest.mark.parametrize(
    ("depth", "width", "height", "limit"), [(8, 64, 64, 88.0), (10, 640, 360, 117.0), (16, 1920, 1080, 163.0)]
)
def test_the_most_decibels(depth: int, width: int, height: int, limit: float) -> None:
    for name in ("float_ssim", "float_ms_ssim"):
        geometry = Geometry(width, height, depth)
        assert make(f"{name}=clip_db=true").limit(geometry) == limit  # type: ignore[attr-defined]
        assert make(name).limit(geometry) == math.inf  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("lines", "factor"), [(11, 1), (383, 1), (384, 2), (576, 2), (720, 3), (1080, 4), (2160, 8)]
)
def test_pictures_are_shrunk_to_about_256_lines(lines: int, factor: int) -> None:
    for geometry in (Geometry(2 * lines, lines, 8), Geometry(lines, 2 * lines, 8)):
        assert make("float_ssim").factor(geometry) == factor  # type: ignore[attr-defined]
        assert make("float_ssim=scale=7").factor(geometry) == 7  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("feature", "width", "height", "sentence"),
    [
        ("float_ssim", 10, 50, "at least 11x11 samples, because its window has 11x11, and these are 10x50"),
        ("float_ssim=scale=10", 110, 108, "scale=10 needs pictures of at least 110x110 samples, because"),
        ("float_ssim=scale=2", 10, 8, "float_ssim needs pictures of at least 11x11 samples"),
        ("float_ms_ssim", 200, 175, "float_ms_ssim needs pictures of at least 176x176 samples, because"),
    ],
)
def test_pictures_that_are_too_small(feature: str, width: int, height: int, sentence: str) -> None:
    with pytest.raises(FeatureError, match=sentence):
        run(feature, *pair(width, height, 8, "noisy"), 8)


@pytest.mark.parametrize("name", ["float_ssim", "float_ms_ssim"])
def test_settings_that_meet(name: str) -> None:
    both = make(name).merge(make(f"{name}=enable_lcs=true"))
    assert both.covers(make(name))
    assert len(both.keys(late=False)) == {"float_ssim": 4, "float_ms_ssim": 16}[name]
    with pytest.raises(
        FeatureError, match=f"{name} is asked for with enable_db=false and with enable_db=true"
    ):
        make(name).merge(make(f"{name}=enable_db=true"))

"""Cambi on an emulated card beside the CPU's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.devices.cuda.twins.cambi import CambiTwin
from acuity.features.extractor import Frame
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, picture, random_frames

pytestmark = needs_compiler


def banded(width: int, height: int, depth: int, *, count: int = 1, slope: float = 0.05) -> list[Frame]:
    """Bands with a little noise in places, whose values differ from frame to frame."""
    random = np.random.default_rng(width * height + depth)
    y, x = np.mgrid[0:height, 0:width]

    def plane(index: int, step: int) -> NDArray[Any]:
        shade = 80 + 90 * index + slope * x + 0.3 * abs(y - height / 3) + (x // 70) * 40 % 300  # 10 bits
        shade = shade // step * step + np.where(y * 5 // height == 2, random.integers(0, 3, shape) == 0, 0)
        kind = np.uint8 if depth == 8 else np.uint16
        scaled: NDArray[Any] = (shade * 2.0 ** (depth - 10)).astype(kind)
        return scaled

    shape = height, width
    frames = []
    for index in range(count):
        ref, dis = (picture((plane(index, step),), "400", depth) for step in (1, 3))
        frames.append(Frame(index, ref, dis))
    return frames


def same(frames: list[Frame], *settings: dict[str, Any], most: int = 3) -> list[dict[str, float]]:
    members = extractors("cambi", *settings)
    expected = on_cpu(members, frames)
    assert on_card(CambiTwin, members, frames, most) == expected
    return expected


@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize("size", [(216, 33), (301, 98), (45, 230)])
def test_the_same_digits(size: tuple[int, int], depth: int) -> None:
    (found,) = same(banded(*size, depth), {"full_ref": True})
    assert found["cambi_source"] > 0
    assert len(set(found.values())) > 1


@pytest.mark.parametrize(
    "settings",
    [
        {"window_size": 127},
        {"window_size": 15},
        {"topk": 0.01},
        {"topk": 0.2, "cambi_topk": 0.9},
        {"topk": 1.0},
        {"max_log_contrast": 0, "tvi_threshold": 0.005},
        {"max_log_contrast": 1, "cambi_max_val": 0.5},
        {"max_log_contrast": 3, "cambi_vis_lum_threshold": 0.2},
        {"max_log_contrast": 5, "topk": 0.1},
        {"cambi_eotf": "pq", "cambi_vis_lum_threshold": 0.03},
        {"enc_bitdepth": 8},
    ],
)
def test_every_option(settings: dict[str, Any]) -> None:
    for depth in (8, 10):
        same(banded(263, 75, depth, slope=0.4), {"full_ref": True, **settings})


@pytest.mark.parametrize("source", [{}, {"src_width": 330, "src_height": 222}])
def test_other_sizes(source: dict[str, Any]) -> None:
    same(banded(263, 171, 10), {"full_ref": True, "enc_width": 231, "enc_height": 153, **source})


@pytest.mark.parametrize(("width", "window"), [(1100, 65), (2500, 65), (2500, 127)])
def test_windows_of_large_pictures(width: int, window: int) -> None:
    """With a share so small that contrasts are chosen."""
    same(banded(width, 24, 10), {"window_size": window, "topk": 0.02})


def test_half_size() -> None:
    """A picture just large enough for the speed-up, both sides odd."""
    (found,) = same(banded(9001, 231, 8), {"cambi_high_res_speedup": 1080, "cambi_vis_lum_threshold": 0.06})
    assert found


def test_batches() -> None:
    """More frames than a batch holds, and a batch that isn't full: nothing is left from the one before."""
    frames = banded(240, 40, 10, count=5)
    first, *others = same(
        frames, {"full_ref": True, "topk": 0.3}, {"topk": 0.3, "cambi_max_val": 1.0}, most=2
    )
    assert first not in others


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("extreme", [False, True])
def test_noise_and_extremes(extreme: bool, depth: int) -> None:
    same(random_frames(2, 220, 17, depth, extreme=extreme), {"full_ref": True})


@pytest.mark.parametrize("value", [0, 1, 200, 65535])
def test_one_value(value: int) -> None:
    """The whole picture is flat, at values that are counted and that aren't."""
    flat = picture((np.full((40, 216), value, np.uint16),), "400", 16)
    same([Frame(0, flat, flat)], {"full_ref": True, "topk": 1.0})


def test_many_equal_contrasts() -> None:
    """Stripes: most contrasts are equal, and the weakest that counts is one of them."""
    x = np.mgrid[0:64, 0:256][1]
    stripes = picture(((300 + x // 8 % 2 * 2).astype(np.uint16),), "400", 10)
    same([Frame(0, stripes, stripes)], {"topk": 0.37}, {"topk": 0.37, "full_ref": True})


def test_heatmaps(tmp_path: Path) -> None:
    frames = banded(230, 50, 10, count=3)
    on_cpu(extractors("cambi", {"heatmaps_path": str(tmp_path / "cpu")}), frames)
    members = extractors("cambi", {"heatmaps_path": str(tmp_path / "card"), "full_ref": True})
    assert on_card(CambiTwin, members, frames, 2) == on_cpu(extractors("cambi", {"full_ref": True}), frames)
    names = sorted(path.name for path in (tmp_path / "cpu").iterdir())
    assert len(names) == 15
    for name in names:
        assert (tmp_path / "card" / name).read_bytes() == (tmp_path / "cpu" / name).read_bytes()

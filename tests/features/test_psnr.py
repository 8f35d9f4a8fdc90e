"""PSNR: limits, and figures of the whole clip; in floating point, and after smoothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from acuity.video.picture import Picture, PixelFormat
from formula_pictures import measure
from seeded import figures, pair, picture, same


def clip(layout: str = "420", depth: int = 8) -> list[tuple[Picture, Picture]]:
    return [
        (picture(24, 16, layout, depth, n), picture(24, 16, layout, depth, n + 15, noise=4 + 2 * n))
        for n in range(7)
    ]


def test_mse_is_the_mean_of_squares() -> None:
    ref, dis = pair(33, 21, "420", 10)
    found = figures("psnr", ref, dis, {"enable_mse": True})
    assert list(found) == ["psnr_y", "mse_y", "psnr_cb", "mse_cb", "psnr_cr", "mse_cr"]
    for name, one, other in zip(("y", "cb", "cr"), ref.planes, dis.planes, strict=True):
        assert found[f"mse_{name}"] == np.square(one.astype(int) - other.astype(int)).mean()
        assert found[f"psnr_{name}"] == pytest.approx(10 * math.log10(1023**2 / found[f"mse_{name}"]))


@pytest.mark.parametrize(("depth", "limit"), [(8, 60), (10, 72), (12, 84), (14, 96), (16, 108)])
def test_equal_planes_have_the_depths_limit(depth: int, limit: int) -> None:
    one = picture(20, 10, "420", depth, 1)
    assert list(figures("psnr", one, one).values()) == [limit] * 3
    assert figures("float_psnr", one, one)["float_psnr"] == limit


def test_the_least_error_sets_each_planes_limit() -> None:
    one = picture(32, 16, "420", 8, 1)
    found = figures("psnr", one, one, {"min_sse": 0.5})
    expected = [math.ceil(10 * math.log10(255**2 / (0.5 / count))) for count in (512, 128, 128)]
    assert list(found.values()) == expected == [79, 73, 73]
    luma = one.luma.copy()
    luma[0, 0] ^= 1
    assert figures("psnr", one, Picture((luma, *one.planes[1:]), one.format), {"min_sse": 0.5})[
        "psnr_y"
    ] == pytest.approx(10 * math.log10(255**2 * 512))  # beyond the usual limit of 60


@pytest.mark.parametrize("depth", [8, 10, 12, 16])
def test_a_reduced_peak_makes_depths_comparable(depth: int) -> None:
    deep = PixelFormat("420", depth)
    ref, dis = (
        Picture(tuple(p.astype(deep.dtype) << (depth - 8) for p in one.planes), deep)
        for one in pair(24, 16, "420", 8)
    )
    found = figures("psnr", ref, dis, {"reduced_hbd_peak": True})
    assert same(list(found.values()), list(figures("psnr", *pair(24, 16, "420", 8)).values()), 1e-9)
    if depth > 8:
        assert figures("psnr", ref, dis)["psnr_y"] > found["psnr_y"]


def test_luma_alone_has_no_columns_for_chroma() -> None:
    results = measure(clip("400"), "psnr=enable_mse=true:enable_apsnr=true")
    assert list(results.columns) == ["psnr_y", "mse_y"]
    assert list(results.pooled()) == ["psnr_y", "mse_y"]
    assert list(results.aggregate) == ["apsnr_y"]


@pytest.mark.parametrize(("depth", "reduced"), [(8, False), (10, False), (10, True)])
def test_the_clips_figure_is_of_all_errors(depth: int, reduced: bool) -> None:
    pictures = clip(depth=depth)
    request = f"psnr=enable_apsnr=true:reduced_hbd_peak={str(reduced).lower()}"
    results = measure(pictures, request)
    assert list(results.columns) == ["psnr_y", "psnr_cb", "psnr_cr"]  # sums of errors are nobody's business
    peak = 255 << (depth - 8) if reduced else (1 << depth) - 1
    for i, name in enumerate(("y", "cb", "cr")):
        errors = [np.square(r.planes[i].astype(int) - d.planes[i].astype(int)).mean() for r, d in pictures]
        expected = 10 * math.log10(peak**2 / np.mean(errors))
        assert results.aggregate[f"apsnr_{name}"] == pytest.approx(expected, rel=1e-12)


def test_the_clips_figure_counts_frames_that_subsampling_leaves_out() -> None:
    whole = measure(clip(), "psnr=enable_apsnr=true")
    some = measure(clip(), "psnr=enable_apsnr=true", subsample=3)
    assert some.frames == [0, 3, 6]
    assert some.aggregate == whole.aggregate
    assert some.columns["psnr_y"].tolist() == whole.columns["psnr_y"][::3].tolist()


def test_the_clips_figure_has_a_limit() -> None:
    one = picture(24, 16, "420", 8, 1)
    results = measure([(one, one)] * 4, "psnr=enable_apsnr=true")
    assert results.aggregate["apsnr_y"] == math.ceil(10 * math.log10(255**2 * 24 * 16 * 4 * 2))
    luma = one.luma.copy()
    luma[0, 0] ^= 1
    nearly = [(one, one)] * 3 + [(one, Picture((luma, *one.planes[1:]), one.format))]
    found = measure(nearly, "psnr=enable_apsnr=true").aggregate["apsnr_y"]
    assert found == pytest.approx(10 * math.log10(255**2 * 24 * 16 * 4))


def flat(value: int, depth: int = 8) -> Picture:
    dtype = np.uint8 if depth == 8 else np.uint16
    return Picture((np.full((9, 11), value, dtype),), PixelFormat("400", depth))


def test_smoothing_alone_is_noise_too() -> None:
    """Equal pictures aren't perfect: the distorted one is smoothed more."""
    ref, _ = pair(46, 30, "400", 8)
    found = figures("float_ansnr", ref, ref)
    assert 10 < found["float_ansnr"] < 60


def test_a_reference_of_grey_has_no_signal() -> None:
    found = figures("float_ansnr", flat(128), flat(130))
    assert found["float_ansnr"] == -math.inf
    assert found["float_anpsnr"] == pytest.approx(10 * math.log10(255**2 / 4), abs=1e-4)


@pytest.mark.parametrize(("depth", "limit"), [(8, 60), (10, 72), (16, 108)])
def test_no_noise_after_smoothing_is_the_depths_limit(depth: int, limit: int) -> None:
    grey = flat(128 << (depth - 8), depth)  # where smoothing rounds nothing
    assert set(figures("float_ansnr", grey, grey).values()) == {limit}

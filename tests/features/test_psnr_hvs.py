"""Visible errors of 8x8 blocks: libvmaf's figures, what is hidden, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from acuity.errors import FeatureError
from acuity.features import get_extractor
from acuity.features.extractor import Geometry
from acuity.video.picture import Picture, PixelFormat
from seeded import figures, pair, picture

KEYS = ["psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs"]


def test_equal_planes_are_infinitely_good() -> None:
    ref, dis = pair(40, 32, "420", 8)
    assert list(figures("psnr_hvs", ref, ref).values()) == [math.inf] * 4
    chroma_only = Picture((ref.luma, *dis.planes[1:]), ref.format)
    found = figures("psnr_hvs", ref, chroma_only)
    assert found["psnr_hvs_y"] == math.inf
    assert math.isfinite(found["psnr_hvs"])


def test_chroma_weighs_a_tenth() -> None:
    found = figures("psnr_hvs", *pair(40, 32, "444", 10))
    y, cb, cr, whole = (10 ** (-value / 10) for value in found.values())
    assert whole == pytest.approx(0.8 * y + 0.1 * cb + 0.1 * cr, rel=1e-12)


def test_texture_hides_errors_and_flat_areas_do_not() -> None:
    y, x = np.mgrid[0:64, 0:64]
    error = np.where((x + y) % 2, 3, -3)
    chroma = np.full((32, 32), 128, np.uint8)

    def luma(shade: np.ndarray) -> float:
        ref, dis = (
            Picture((np.clip(p, 0, 255).astype(np.uint8), chroma, chroma), PixelFormat("420", 8))
            for p in (shade, shade + error)
        )
        return figures("psnr_hvs", ref, dis)["psnr_hvs_y"]

    flat, texture = np.full((64, 64), 120), 120 + 40 * ((x * 7 + y * 13) % 5 - 2)
    assert luma(texture) > luma(flat) + 3


def test_the_last_samples_that_fill_no_block_do_not_count() -> None:
    ref, dis = pair(29, 22, "444", 8)  # blocks end at 22 and 29
    wider = [
        Picture(tuple(np.pad(p, ((0, 3), (0, 6)), constant_values=fill) for p in one.planes), one.format)
        for one, fill in ((ref, 0), (dis, 255))
    ]
    assert figures("psnr_hvs", wider[0], wider[1]) == figures("psnr_hvs", ref, dis)


@pytest.mark.parametrize("depth", [14, 16])
def test_deep_samples_are_refused(depth: int) -> None:
    geometry = Geometry(64, 64, depth, (32, 32))
    with pytest.raises(FeatureError, match=f"psnr_hvs takes up to 12 bits .* have {depth}"):
        get_extractor("psnr_hvs")().check_size(geometry)


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        (Geometry(64, 7, 8, (32, 4)), "at least 8x8 samples, because it looks at blocks of 8x8"),
        (Geometry(14, 64, 8, (7, 32)), "chroma planes of at least 8x8 samples.* these are 7x32"),
        (Geometry(64, 64, 8, None), "needs chroma"),
    ],
)
def test_what_has_no_blocks_is_refused(geometry: Geometry, message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        get_extractor("psnr_hvs")().check_size(geometry)


def test_full_range_noise_does_not_overflow() -> None:
    """The largest frequencies 12 bits can have."""
    rng = np.random.default_rng(5)
    ref, dis = (
        Picture(
            tuple(rng.choice([0, 4095], (40, 48)).astype(np.uint16) for _ in range(3)), PixelFormat("444", 12)
        )
        for _ in range(2)
    )
    plain = figures("psnr_hvs", ref, dis, instruction_set="plain")
    assert plain == figures("psnr_hvs", ref, dis)
    assert all(0 < value < 20 for value in plain.values())


def test_identical_pictures_of_every_kind() -> None:
    for layout, depth in (("420", 8), ("422", 10), ("444", 12)):
        one = picture(32, 24, layout, depth, 1)
        assert set(figures("psnr_hvs", one, one).values()) == {math.inf}

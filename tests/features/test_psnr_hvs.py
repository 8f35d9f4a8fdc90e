"""Visible errors of 8x8 blocks: libvmaf's figures, what is hidden, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from acuity.errors import FeatureError
from acuity.features import get_extractor
from acuity.features.extractor import Geometry
from acuity.video.picture import Picture
from seeded import figures, pair


def test_equal_planes_are_infinitely_good() -> None:
    ref, dis = pair(40, 32, "420", 8)
    assert list(figures("psnr_hvs", ref, ref).values()) == [math.inf] * 4
    chroma_only = Picture((ref.luma, *dis.planes[1:]), ref.format)
    found = figures("psnr_hvs", ref, chroma_only)
    assert found["psnr_hvs_y"] == math.inf
    assert math.isfinite(found["psnr_hvs"])


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

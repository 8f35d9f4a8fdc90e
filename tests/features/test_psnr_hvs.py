"""Visible errors of 8x8 blocks: what is hidden, and what counts for nothing."""

from __future__ import annotations

import math

import numpy as np

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

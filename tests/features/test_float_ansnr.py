"""Signal to noise after smoothing: libvmaf's figures, flat references, small pictures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from acuity.errors import FeatureError
from acuity.features import get_extractor
from acuity.features.extractor import Geometry
from acuity.video.picture import Picture, PixelFormat
from seeded import figures, pair, same

# What libvmaf says about seeded.pair().
LIBVMAF = {
    (46, 30, "420", 8): (10.61195466121784, 29.82597568318649),
    (33, 29, "444", 10): (10.757488024117176, 29.880410727666977),
    (34, 18, "420", 12): (11.08126794704974, 30.150036612807817),
    (36, 20, "420", 16): (11.34686891230247, 30.246034773008258),
    (17, 5, "400", 8): (11.95287238275619, 30.13172991063226),
    (3, 3, "400", 16): (5.326507425917338, 24.70819622945527),
}


def flat(value: int, depth: int = 8) -> Picture:
    dtype = np.uint8 if depth == 8 else np.uint16
    return Picture((np.full((9, 11), value, dtype),), PixelFormat("400", depth))


@pytest.mark.parametrize("case", LIBVMAF, ids=str)
def test_figures_are_libvmafs(case: tuple[int, int, str, int], instruction_set: str) -> None:
    found = figures("float_ansnr", *pair(*case), instruction_set=instruction_set)
    assert list(found) == ["float_ansnr", "float_anpsnr"]
    assert same(list(found.values()), LIBVMAF[case], 1e-9)  # log10() differs between libraries


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
def test_no_noise_is_the_depths_limit(depth: int, limit: int) -> None:
    grey = flat(128 << (depth - 8), depth)  # where smoothing rounds nothing
    assert set(figures("float_ansnr", grey, grey).values()) == {limit}


@pytest.mark.parametrize(("width", "height"), [(2, 9), (9, 2)])
def test_pictures_below_its_reach_are_refused(width: int, height: int) -> None:
    with pytest.raises(FeatureError, match="at least 3x3 samples, because its smoothing reaches two samples"):
        get_extractor("float_ansnr")().check_size(Geometry(width, height, 8))

"""Colour differences: libvmaf's figures, its way with chroma, and the formula itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.errors import FeatureError
from acuity.features import get_extractor
from acuity.features.extractor import Geometry
from acuity.video.picture import Picture, PixelFormat
from seeded import Plane, figures, pair, picture, plane

Reals = NDArray[np.float64]


def ciede(ref: Picture, dis: Picture, instruction_set: str = "") -> float:
    return figures("ciede", ref, dis, instruction_set=instruction_set)["ciede2000"]


def full(picture: Picture, chroma: tuple[Plane, ...]) -> Picture:
    """The picture in 4:4:4, with chroma planes of that size."""
    return Picture((picture.luma, *chroma), PixelFormat("444", picture.format.depth))


@pytest.mark.parametrize(("width", "height"), [(35, 23), (34, 23), (35, 22), (1, 1), (1, 9), (9, 1)])
def test_odd_chroma_is_that_of_the_nearest_sample(width: int, height: int) -> None:
    both = pair(width, height, "420", 8)
    repeated = [
        full(p, tuple(c.repeat(2, 0).repeat(2, 1)[:height, :width] for c in p.planes[1:])) for p in both
    ]
    assert ciede(*both) == ciede(repeated[0], repeated[1])


@pytest.mark.parametrize("width", [20, 64, 66, 90, 128])
def test_422_is_read_with_its_rows_halved(width: int) -> None:
    """libvmaf's own mistake: it runs on into the padding and the next row."""
    height = 12

    def as_read(chroma: Plane) -> Plane:
        memory = np.zeros((height, -(-chroma.shape[1] // 32) * 32), chroma.dtype)
        memory[:, : chroma.shape[1]] = chroma
        starts = np.arange(height) // 2 * memory.shape[1]
        return np.asarray(memory.ravel()[starts[:, None] + np.arange(width)])

    both = pair(width, height, "422", 10)
    seen = [full(p, tuple(as_read(c) for c in p.planes[1:])) for p in both]
    assert ciede(*both) == ciede(seen[0], seen[1])


def test_equal_pictures_are_infinitely_good() -> None:
    same = picture(20, 10, "420", 8, 3)
    assert ciede(same, same) == math.inf


def lab(y: Reals, cb: Reals, cr: Reals) -> tuple[Reals, Reals, Reals]:
    """8-bit BT.709 samples in CIE L*a*b*, by the textbook, with the constants libvmaf has."""
    luma, u, v = (y - 16) / 219, (cb - 128) / 224, (cr - 128) / 224
    rgb = np.stack([luma + 1.28033 * v, luma - 0.21482 * u - 0.38059 * v, luma + 2.12798 * u])
    light = np.where(rgb > 10 / 255, (np.maximum(rgb, 0.01) / 1.055 + 0.055 / 1.055) ** 2.4, rgb / 12.92)
    to_xyz = np.array(
        [
            [0.4124564390896921, 0.357576077643909, 0.18043748326639894],
            [0.21267285140562248, 0.715152155287818, 0.07217499330655958],
            [0.019333895582329317, 0.119192025881303, 0.9503040785363677],
        ]
    )
    xyz = np.tensordot(to_xyz, light, 1) / np.array([0.95047, 1.0, 1.08883])[:, None]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def delta_e(one: tuple[Reals, Reals, Reals], two: tuple[Reals, Reals, Reals]) -> Reals:
    """CIEDE2000 (Sharma, Wu and Dalal, 2005) with weights 0.65, 1 and 4, angles in degrees."""
    (l1, a1, b1), (l2, a2, b2) = one, two
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 1 + 0.5 * (1 - np.sqrt(mean**7 / (mean**7 + 25.0**7)))
    c1, c2 = np.hypot(g * a1, b1), np.hypot(g * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, g * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    h = np.where(abs(h1 - h2) > 180, (h1 + h2 + 360) / 2, (h1 + h2) / 2)
    off, c = (l1 + l2) / 2 - 50, (c1 + c2) / 2

    def cos(degrees: Reals) -> Reals:
        return np.asarray(np.cos(np.radians(degrees)))

    t = 1 - 0.17 * cos(h - 30) + 0.24 * cos(2 * h) + 0.32 * cos(3 * h + 6) - 0.2 * cos(4 * h - 63)
    s_l = 1 + 0.015 * off**2 / np.sqrt(20 + off**2)
    rotation = (
        -2 * np.sqrt(c**7 / (c**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2))))
    )
    dl, dc, dh = (l2 - l1) / (0.65 * s_l), (c2 - c1) / (1 + 0.045 * c), hue / (4 * (1 + 0.015 * c * t))
    return np.asarray(np.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh))


@pytest.mark.parametrize(
    "centre",
    [(128, 128, 128), (60, 190, 110), (100, 128, 200), (20, 128, 128), (230, 60, 60), (150, 131, 126)],
)
def test_it_is_the_textbooks_formula(centre: tuple[int, int, int]) -> None:
    ref, dis = (
        Picture(
            tuple(
                np.clip(plane(16, 64, 8, salt + 10 * i, 4).astype(int) % 64 + c - 32, 0, 255).astype(np.uint8)
                for i, c in enumerate(centre)
            ),
            PixelFormat("444", 8),
        )
        for salt in (1, 2)
    )
    colours = [lab(*(p.ravel().astype(np.float64) for p in x.planes)) for x in (ref, dis)]
    expected = 45 - 20 * math.log10(delta_e(*colours).mean())
    assert ciede(ref, dis) == pytest.approx(expected, rel=0, abs=2e-5)  # single precision in between


def test_luma_alone_is_refused() -> None:
    with pytest.raises(FeatureError, match="ciede needs chroma, and these pictures are luma alone"):
        get_extractor("ciede")().check_size(Geometry(64, 64, 8, None))

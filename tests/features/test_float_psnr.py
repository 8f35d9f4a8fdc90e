"""PSNR in floating point: libvmaf's figures, and what is said of no noise."""

from __future__ import annotations

import pytest

from acuity.video.picture import Picture, PixelFormat
from seeded import figures, pair, picture

# What libvmaf says about seeded.pair(). Above 12 bits squares are rounded to single precision.
LIBVMAF = {
    (46, 30, "420", 8): 26.227506930645994,
    (33, 29, "444", 10): 26.277254397632134,
    (34, 18, "420", 12): 26.485192940141722,
    (36, 20, "420", 16): 26.486605877252394,
    (17, 5, "400", 8): 26.258251417862564,
    (3, 3, "400", 16): 23.66738325313563,
}


def psnr(ref: Picture, dis: Picture, instruction_set: str = "") -> float:
    return figures("float_psnr", ref, dis, instruction_set=instruction_set)["float_psnr"]


@pytest.mark.parametrize("case", LIBVMAF, ids=str)
def test_figures_are_libvmafs(case: tuple[int, int, str, int], instruction_set: str) -> None:
    assert psnr(*pair(*case), instruction_set) == pytest.approx(LIBVMAF[case], rel=0, abs=1e-9)


@pytest.mark.parametrize(("depth", "limit"), [(8, 60), (10, 72), (12, 84), (14, 96), (16, 108)])
def test_no_noise_is_the_depths_limit(depth: int, limit: int) -> None:
    same = picture(20, 10, "400", depth, 1)
    assert psnr(same, same) == limit


def test_little_noise_is_the_limit_too() -> None:
    ref = picture(200, 100, "400", 16, 1)
    luma = ref.luma.copy()
    luma[3, 4] += 1
    assert psnr(ref, Picture((luma,), ref.format)) == 108


@pytest.mark.parametrize("depth", [8, 10, 12, 16])
def test_black_against_white_is_nothing(depth: int) -> None:
    luma = picture(20, 10, "400", depth, 1).luma
    black, white = (
        Picture((0 * luma + value,), PixelFormat("400", depth)) for value in (0, (1 << depth) - 1)
    )
    assert psnr(black, white) == pytest.approx(0.0, abs=1e-6)
    assert psnr(black, white) == psnr(white, black)

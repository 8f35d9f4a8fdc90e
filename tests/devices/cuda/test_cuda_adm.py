"""ADM on an emulated card beside the CPU's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acuity.features.extractor import Frame
from emulated_card import needs_compiler
from twin_bench import picture, random_frames, same

pytestmark = needs_compiler

SCREENS: list[dict[str, Any]] = [
    {"adm_csf_mode": 1},
    {"adm_csf_mode": 1, "adm_csf_scale": 50.0, "adm_csf_diag_scale": 20.0},
    {"adm_csf_mode": 2, "adm_norm_view_dist": 5.0},
    {"adm_csf_mode": 3, "adm_ref_display_height": 2160},
    {"adm_norm_view_dist": 24.0, "adm_ref_display_height": 4320},
    {"adm_csf_mode": 1, "adm_csf_scale": 0.0},
]


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize("size", [(17, 17), (131, 67), (1000, 17)])
def test_the_same_digits(size: tuple[int, int], depth: int, extreme: bool) -> None:
    same("adm", random_frames(2, *size, depth, extreme=extreme), {"debug": True, "adm_skip_aim": True})


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("screen", SCREENS)
def test_screens(screen: dict[str, Any], extreme: bool) -> None:
    same("adm", random_frames(1, 70, 42, 8, extreme=extreme), {"debug": True, **screen})


@pytest.mark.parametrize("aim", [False, True])
@pytest.mark.parametrize("extreme", [False, True])
def test_several_gains_and_noise_weights(aim: bool, extreme: bool) -> None:
    frames = random_frames(1, 68, 45, 8, extreme=extreme, seed=3)
    usual = [(gain, 0.03125) for gain in (100.0, 1.0, 1.2)]
    settings = [
        {"adm_enhn_gain_limit": gain, "adm_noise_weight": noise, "adm_skip_aim": not aim}
        for gain, noise in [*usual, (1.2, 7.0), (37.5, 0.0), (3.0, 1.0)]
    ]
    same("adm", frames, *settings)


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("contrast", [0.7, 1.15, 3.0])
def test_more_and_less_contrast(contrast: float, depth: int) -> None:
    # Gradients stay parallel, so that the limits of gain decide.
    half = 1 << (depth - 1)
    y, x = np.mgrid[:60, :140]
    ref = half + half * 0.6 * np.sin(x * x / 300.0 + y / 5.0) * np.cos(y * x / 900.0)
    dis = np.clip((ref - half) * contrast + half, 0, 2 * half - 1)
    dtype = np.uint8 if depth == 8 else np.uint16
    frame = Frame(0, *(picture([plane.astype(dtype)], "400", depth) for plane in (ref, dis)))
    same("adm", [frame], *({"adm_enhn_gain_limit": gain} for gain in (100.0, 1.0, 1.2, 2.0)))


@pytest.mark.parametrize("depth", [8, 14])
def test_equal_pictures_of_extremes(depth: int) -> None:
    # Shares of large coefficients are rounded, also where nothing was lost.
    frames = [Frame(f.index, f.ref, f.ref) for f in random_frames(2, 140, 60, depth, extreme=True)]
    same("adm", frames, {"adm_enhn_gain_limit": 1.0})


@pytest.mark.parametrize("depth", [8, 10])
def test_without_scale_0(depth: int) -> None:
    frames = random_frames(3, 150, 37, depth)
    for aim in (False, True):
        same("adm", frames, {"debug": True, "adm_skip_scale0": True, "adm_skip_aim": not aim}, most=2)


@pytest.mark.parametrize("depth", [8, 10])
def test_rows_that_are_not_aligned(depth: int) -> None:
    same("adm", random_frames(1, 251, 20, depth), {"debug": True, "adm_skip_aim": True}, packed=True)

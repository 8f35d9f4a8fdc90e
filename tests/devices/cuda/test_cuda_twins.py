"""Twins on an emulated card beside the CPU's extractors: the same digits, whatever the pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acuity.features.extractor import Frame
from acuity.video.picture import ColourTags
from emulated_card import needs_compiler
from twin_bench import extractors, on_cpu, picture, random_frames, same

pytestmark = needs_compiler

Size = tuple[int, int]
LCS = {"enable_lcs": True}
FAST = {"frame_rate": 50}


# ---- PSNR ----


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize(
    ("size", "layout"),
    [((1, 1), "420"), *[((67, 35), layout) for layout in ("400", "420", "422", "444")], ((600, 19), "420")],
)
def test_psnr(size: Size, layout: str, depth: int, extreme: bool) -> None:
    frames = random_frames(4, *size, depth, layout=layout, extreme=extreme)
    everything = {"enable_mse": True, "enable_apsnr": True, "reduced_hbd_peak": True, "min_sse": 0.5}
    for settings in ({}, {"enable_chroma": False}, everything):
        same("psnr", frames, settings)


@pytest.mark.parametrize("depth", [8, 16])
def test_psnr_of_the_largest_errors(depth: int) -> None:
    """Sums that need more than 32 bits, and none."""
    kind = np.uint8 if depth == 8 else np.uint16
    black, white = (np.full((70, 1100), value, kind) for value in (0, (1 << depth) - 1))
    pairs = [(black, white), (white, white), (white, black)]
    frames = [Frame(i, *(picture([one], "400", depth) for one in pair)) for i, pair in enumerate(pairs)]
    found = same("psnr", frames, {"enable_apsnr": True})
    assert found[0]["sse_y"] == 70 * 1100 * float((1 << depth) - 1) ** 2


# ---- XPSNR ----


@pytest.mark.parametrize(("settings", "extreme"), [({}, True), (FAST, False)])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize(("size", "layout"), [((1, 1), "420"), ((67, 35), "420"), ((131, 19), "422")])
def test_xpsnr(size: Size, layout: str, depth: int, settings: dict[str, int], extreme: bool) -> None:
    same("xpsnr", random_frames(3, *size, depth, layout=layout, extreme=extreme), settings, most=2)


@pytest.mark.parametrize(
    ("size", "depth", "settings"), [((2701, 881), 8, FAST), ((1301, 1817), 16, {}), ((700, 450), 8, {})]
)
def test_xpsnr_of_large_pictures(size: Size, depth: int, settings: dict[str, int]) -> None:
    """Beyond HD details are halved; narrow blocks at the edge have no texture."""
    same("xpsnr", random_frames(3, *size, depth)[-1:], settings)


# ---- SSIMULACRA 2 ----


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize(("layout", "depth"), [("420", 8), ("422", 10), ("444", 8), ("400", 8), ("420", 16)])
@pytest.mark.parametrize("size", [(8, 8), (35, 21)])
def test_ssimulacra2(size: Size, layout: str, depth: int, extreme: bool) -> None:
    same("ssimulacra2", random_frames(2, *size, depth, layout=layout, extreme=extreme))


@pytest.mark.parametrize("size", [(97, 64), (131, 140), (17, 290)])
def test_ssimulacra2_of_several_slabs_and_tiles(size: Size) -> None:
    same("ssimulacra2", random_frames(2, *size, 8, layout="420"))


@pytest.mark.parametrize(
    "options", [{"matrix": "bt2020", "transfer": "pq"}, {"range": "full", "transfer": "srgb"}]
)
def test_ssimulacra2_with_what_samples_mean(options: dict[str, str]) -> None:
    same("ssimulacra2", random_frames(2, 40, 24, 10, layout="420"), options)


def test_ssimulacra2_with_what_the_pair_says_about_its_samples() -> None:
    frames = random_frames(2, 40, 24, 10, layout="420")
    tags = ColourTags("bt2020nc", True, "smpte2084", "bt2020")
    assert same("ssimulacra2", frames, colour=tags) != on_cpu(extractors("ssimulacra2"), frames)


# ---- motion ----


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize("size", [(16, 16), (67, 35), (130, 19), (3, 3)])
def test_motion(size: Size, depth: int, extreme: bool) -> None:
    frames = random_frames(5, *size, depth, extreme=extreme)
    for settings in ({}, {"motion_five_frame_window": True}, {"motion_force_zero": True}):
        same("motion", frames, {**settings, "debug": True})


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("depth", [8, 10])
def test_motion_of_wide_strips_and_planes_that_are_aligned_to_nothing(depth: int, packed: bool) -> None:
    same("motion", random_frames(2, 381, 141, depth), packed=packed)


# ---- PSNR-HVS ----


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12])
@pytest.mark.parametrize(("size", "layout"), [((16, 16), "420"), ((67, 35), "444"), ((131, 91), "422")])
def test_psnr_hvs(size: Size, layout: str, depth: int, extreme: bool) -> None:
    same("psnr_hvs", random_frames(4, *size, depth, layout=layout, extreme=extreme))


def test_psnr_hvs_of_many_blocks() -> None:
    """Sums of several turns, errors that begin late, and errors far smaller than the sum before them."""
    random = np.random.default_rng(1)
    ref = random.integers(0, 256, (400, 400), np.uint8)
    late, faint, none = ref.copy(), ref.copy(), ref.copy()
    late[300:] ^= random.integers(0, 16, (100, 400), np.uint8)
    faint[:8] = ~faint[:8]
    faint[8:] ^= random.integers(0, 2, (392, 400), np.uint8)
    shown = [late, faint, none], [faint, late, ~ref]
    given = picture([ref] * 3, "444", 8)
    same("psnr_hvs", [Frame(i, given, picture(planes, "444", 8)) for i, planes in enumerate(shown)])


# ---- CIEDE2000 ----


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize("layout", ["420", "422", "444"])
@pytest.mark.parametrize("size", [(1, 1), (67, 35), (1, 7), (71, 1)])
def test_ciede(size: Size, layout: str, depth: int, extreme: bool) -> None:
    same("ciede", random_frames(4, *size, depth, layout=layout, extreme=extreme))


@pytest.mark.parametrize("depth", [8, 16])
def test_ciede_of_several_turns(depth: int) -> None:
    """Differences that begin late, that are small beside the sum before them, and none."""
    random = np.random.default_rng(1)
    kind = np.uint8 if depth == 8 else np.uint16
    planes = [random.integers(0, 1 << depth, (151, 133), kind) for _ in range(3)]
    late, faint = ([plane.copy() for plane in planes] for _ in range(2))
    late[0][130:] ^= kind(3)
    for plane in faint:
        plane[:2] = ~plane[:2]
        plane[2:] ^= random.integers(0, 2, (149, 133), kind)
    ref, shown = picture(planes, "444", depth), (late, faint, planes)
    same("ciede", [Frame(i, ref, picture(others, "444", depth)) for i, others in enumerate(shown)])


# ---- structural similarity ----


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize(
    ("size", "scale"), [((11, 11), 1), ((67, 35), 1), ((67, 35), 3), ((130, 43), 2), ((113, 111), 10)]
)
def test_float_ssim(size: Size, scale: int, depth: int, extreme: bool) -> None:
    frames = random_frames(4, *size, depth, extreme=extreme)
    for settings in ({}, LCS):
        same("float_ssim", frames, {**settings, "scale": scale})


@pytest.mark.parametrize("depth", [8, 10])
def test_float_ssim_in_decibels(depth: int) -> None:
    frames = random_frames(2, 50, 40, depth)
    frames.append(Frame(2, frames[0].ref, frames[0].ref))
    for settings in ({"enable_db": True}, {"enable_db": True, "clip_db": True, **LCS}):
        same("float_ssim", frames, settings)


def test_float_ssim_at_the_scale_that_it_chooses() -> None:
    same("float_ssim", random_frames(1, 401, 385, 8), LCS)


def test_float_ssim_of_flat_pictures() -> None:
    """Variances are what rounding left over."""
    flat = [picture([np.full((40, 70), value, np.uint8)], "400", 8) for value in (0, 77, 255)]
    frames = [Frame(i, ref, dis) for i, (ref, dis) in enumerate((r, d) for r in flat for d in flat)]
    same("float_ssim", frames, LCS)


@pytest.mark.parametrize(
    ("size", "depth", "extreme"),
    [((176, 177), 8, False), ((211, 180), 10, True), ((176, 183), 16, False), ((178, 176), 8, True)],
)
def test_float_ms_ssim(size: Size, depth: int, extreme: bool) -> None:
    frames = random_frames(2, *size, depth, extreme=extreme)
    for settings in ({}, LCS, {"enable_db": True}):
        same("float_ms_ssim", frames, settings)


# ---- VIF ----

LIMITS: list[list[dict[str, Any]]] = [
    [{"debug": True}],
    [{"debug": True, "vif_skip_scale0": True}],
    [{"vif_enhn_gain_limit": 1.0, "debug": True}],
    [{}, {"vif_enhn_gain_limit": 1.0, "debug": True}],
    [{"vif_enhn_gain_limit": 1.0, "debug": True}, {"vif_enhn_gain_limit": 1.3}],
    [{"vif_enhn_gain_limit": 1.0}, {"vif_enhn_gain_limit": 1.3}, {"debug": True}],
    [{"vif_enhn_gain_limit": limit, "debug": True} for limit in (1.0, 1.05, 2.0, 100.0, 1.5)],
]
STEEP: list[list[float]] = [[100.0], [1.0], [100.0, 1.0], [100.0, 1.2], [1.0, 3.0, 60.0]]


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 9, 10, 12, 16])
@pytest.mark.parametrize("size", [(16, 16), (67, 35)])
def test_vif(size: Size, depth: int, extreme: bool) -> None:
    frames = random_frames(2, *size, depth, extreme=extreme)
    same("vif", frames, {"debug": True}, {"debug": True, "vif_enhn_gain_limit": 1.0})


@pytest.mark.parametrize("depth", [8, 10])
@pytest.mark.parametrize("size", [(503, 17), (113, 49), (1025, 16)])
def test_vif_of_several_steps_and_blocks(size: Size, depth: int) -> None:
    same("vif", random_frames(2, *size, depth), {"debug": True})


@pytest.mark.parametrize("depth", [8, 10])
@pytest.mark.parametrize("size", [(61, 51), (64, 48)])
def test_vif_of_planes_that_are_aligned_to_nothing(size: Size, depth: int) -> None:
    same("vif", random_frames(2, *size, depth), {"debug": True}, packed=True)


@pytest.mark.parametrize("settings", LIMITS)
def test_vif_with_options_and_gain_limits(settings: list[dict[str, Any]]) -> None:
    same("vif", random_frames(2, 49, 26, 8), *settings)


@pytest.mark.parametrize("limits", STEEP)
@pytest.mark.parametrize(("low", "step", "contrast"), [(100, 8, 30), (252, 4, 85)])
def test_vif_of_flat_pictures_and_steep_gains(
    low: int, step: int, contrast: int, limits: list[float]
) -> None:
    """Places without variance, and distorted pictures with far more contrast than their references."""
    random = np.random.default_rng(1)
    ref = np.full((40, 60), low, np.uint8)
    ref[:, 24:] += random.integers(0, step, (40, 36), dtype=np.uint8)
    dis = np.clip((ref.astype(int) - low) * contrast, 0, 255).astype(np.uint8)
    frames = [Frame(0, picture([ref], "400", 8), picture([dis], "400", 8), ())]
    same("vif", frames, *({"debug": True, "vif_enhn_gain_limit": limit} for limit in limits))

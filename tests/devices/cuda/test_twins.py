"""Twins on a made-up card beside the CPU's extractors: the same digits, whatever the pictures and options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.devices.cuda.twins.cambi import CambiTwin
from acuity.devices.cuda.twins.speed import SpeedTemporalTwin
from acuity.errors import UnfitPictureError
from acuity.features.extractor import Frame
from acuity.video.picture import ColourTags, Picture
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, picture, random_frames, same

pytestmark = needs_compiler

Size = tuple[int, int]
Settings = Sequence[dict[str, Any]]  # of extractors that are computed together
DEPTHS = (8, 10, 12, 16)
BOTH = (False, True)


class Case(NamedTuple):
    """Frames of noise, or of the extreme samples, and what is computed of them."""

    name: str
    size: Size
    layout: str
    depth: int
    extreme: bool
    settings: Settings
    frames: int
    most: int  # frames of a batch
    packed: bool  # planes that are aligned to nothing

    def __str__(self) -> str:
        width, height = self.size
        settings = ",".join(f"{k}={v}" for given in self.settings for k, v in given.items())
        return f"{self.name}-{width}x{height}-{self.layout}p{self.depth}-{self.extreme}-{settings}"


def cases(
    name: str,
    sizes: Iterable[Size],
    *settings: Settings,
    layouts: Sequence[str] = ("400",),
    depths: Sequence[int] = DEPTHS,
    extremes: Sequence[bool] = BOTH,
    frames: int = 2,
    most: int = 3,
    packed: bool = False,
) -> list[Case]:
    """Each size in each layout and depth, with each of the settings."""
    every = product(sizes, layouts, depths, extremes, settings or [({},)])
    return [Case(name, *one, frames, most, packed) for one in every]


def each(*settings: dict[str, Any]) -> list[Settings]:
    """Settings of a single extractor."""
    return [(given,) for given in settings]


LCS, FAST, DEBUG, NO_AIM = {"enable_lcs": True}, {"frame_rate": 50}, {"debug": True}, {"adm_skip_aim": True}
GAINS = [{"adm_enhn_gain_limit": gain, "adm_noise_weight": 0.03125} for gain in (100.0, 1.0, 1.2)]
GAINS += [
    {"adm_enhn_gain_limit": gain, "adm_noise_weight": noise}
    for gain, noise in ((1.2, 7.0), (37.5, 0.0), (3.0, 1.0))
]
FLOORS = [{"speed_nn_floor": 0.3}, {"speed_nn_floor": 1.0, "speed_sigma_nn": 2.0}, {"speed_max_val": 2.0}]
SPEEDS = "speed_chroma", "speed_temporal"

CASES = [
    *cases("psnr", [(1, 1), (600, 19)], layouts=["420"], frames=4),
    *cases("psnr", [(67, 35)], *each({}, {"enable_chroma": False}, {"enable_mse": True, "enable_apsnr": True,
        "reduced_hbd_peak": True, "min_sse": 0.5}), layouts=["400", "420", "422", "444"]),
    *cases("xpsnr", [(1, 1), (67, 35)], layouts=["420"], extremes=[True], frames=3, most=2),
    *cases("xpsnr", [(131, 19)], *each(FAST), layouts=["422"], extremes=[False], frames=3, most=2),
    # beyond HD details are halved; narrow blocks at the edge have no texture
    *cases("xpsnr", [(2701, 881)], *each(FAST), depths=[8], extremes=[False]),
    *cases("xpsnr", [(1301, 1817)], depths=[16], extremes=[False]),
    *cases("ssimulacra2", [(8, 8), (35, 21)], layouts=["420", "400"], depths=[8, 16]),
    *cases("ssimulacra2", [(35, 21)], layouts=["422", "444"], depths=[10]),
    *cases("ssimulacra2", [(97, 64), (131, 140), (17, 290)], layouts=["420"], depths=[8], extremes=[False]),
    *cases("ssimulacra2", [(1061, 17)], depths=[8], extremes=[False], frames=1),  # chunks side by side
    *cases("ssimulacra2", [(40, 24)], *each({"matrix": "bt2020", "transfer": "pq"},
        {"range": "full", "transfer": "srgb"}), layouts=["420"], depths=[10], extremes=[False]),
    *cases("motion", [(67, 35)], *each(DEBUG, {"motion_five_frame_window": True}), frames=5),
    *cases("motion", [(16, 16), (130, 19), (3, 3)], *each(DEBUG), depths=[8, 16], frames=5),
    *cases("motion", [(67, 35)], *each({"motion_force_zero": True}), depths=[8], extremes=[False]),
    *cases("motion", [(381, 141)], depths=[8, 10], extremes=[False]),
    *cases("motion", [(381, 141)], depths=[8, 10], extremes=[False], packed=True),
    *cases("psnr_hvs", [(16, 16), (67, 35)], layouts=["420"], depths=[8, 10, 12], frames=4),
    *cases("psnr_hvs", [(131, 91)], layouts=["422", "444"], depths=[8]),
    *cases("ciede", [(67, 35)], layouts=["420", "422", "444"], frames=4),
    *cases("ciede", [(1, 1), (1, 7), (71, 1)], layouts=["420", "422", "444"], depths=[8], extremes=[False]),
    *cases("float_ssim", [(11, 11), (67, 35)], *each({"scale": 1}, {**LCS, "scale": 1}), frames=4),
    *cases("float_ssim", [(67, 35)], *each({**LCS, "scale": 3})),
    *cases("float_ssim", [(130, 43)], *each({"scale": 2})),
    *cases("float_ssim", [(113, 111)], *each({**LCS, "scale": 10})),
    *cases("float_ssim", [(401, 385)], *each(LCS), depths=[8], extremes=[False], frames=1),
    *cases("float_ms_ssim", [(176, 177), (211, 180)], *each({}, LCS, {"enable_db": True}), depths=[8, 10]),
    *cases("float_ms_ssim", [(176, 183)], depths=[16], extremes=[False]),
    *cases("vif", [(16, 16), (67, 35)], ({**DEBUG}, {**DEBUG, "vif_enhn_gain_limit": 1.0}),
        depths=[8, 9, 10, 12, 16]),
    *cases("vif", [(503, 17), (113, 49), (1025, 16)], *each(DEBUG), depths=[8, 10], extremes=[False]),
    *cases("vif", [(61, 51), (64, 48)], *each(DEBUG), depths=[8, 10], extremes=[False], packed=True),
    *cases("vif", [(49, 26)],
        *each({**DEBUG, "vif_skip_scale0": True}, {**DEBUG, "vif_enhn_gain_limit": 1.0}),
        [{"vif_enhn_gain_limit": 1.0, "debug": True}, {"vif_enhn_gain_limit": 1.3}],
        [{"vif_enhn_gain_limit": 1.0}, {"vif_enhn_gain_limit": 1.3}, DEBUG],
        [{"vif_enhn_gain_limit": limit, "debug": True} for limit in (1.0, 1.05, 2.0, 100.0, 1.5)],
        depths=[8], extremes=[False]),
    *cases("adm", [(17, 17), (131, 67), (1000, 17)], *each({**DEBUG, **NO_AIM})),
    *cases("adm", [(70, 42)], *each(
        {"adm_csf_mode": 1},
        {"adm_csf_mode": 1, "adm_csf_scale": 50.0, "adm_csf_diag_scale": 20.0},
        {"adm_csf_mode": 2, "adm_norm_view_dist": 5.0},
        {"adm_csf_mode": 3, "adm_ref_display_height": 2160},
        {"adm_norm_view_dist": 24.0, "adm_ref_display_height": 4320},
        {"adm_csf_mode": 1, "adm_csf_scale": 0.0}), depths=[8], frames=1),
    *cases("adm", [(68, 45)], GAINS, [{**gain, **NO_AIM} for gain in GAINS], depths=[8], frames=1),
    *cases("adm", [(150, 37)], *each({**DEBUG, "adm_skip_scale0": True},
        {**DEBUG, "adm_skip_scale0": True, **NO_AIM}), depths=[8, 10], extremes=[False], frames=3, most=2),
    *cases("adm", [(251, 20)], *each({**DEBUG, **NO_AIM}), depths=[8, 10], extremes=[False], packed=True),
    *cases("cambi", [(220, 17)], *each({"full_ref": True}), depths=[8, 16]),
    *cases("speed_chroma", [(251, 209)], layouts=["444"]),
    *cases("speed_temporal", [(251, 209)]),
    *[case for name in SPEEDS for case in (
        *cases(name, [(80, 80), (95, 600), (700, 81)], layouts=["444"], depths=[8], extremes=[False]),
        *cases(name, [(167, 161)], layouts=["420"], depths=[8], extremes=[False]),
        *cases(name, [(560, 170)], layouts=["422"], depths=[8], extremes=[False]),
        *cases(name, [(230, 210)], layouts=["444"], depths=[8], extremes=[False], frames=4),
        *cases(name, [(330, 301)], *each(
            {"speed_kernelscale": 0.5},
            {"speed_kernelscale": 360 / 97},
            {"speed_prescale": 0.9995},
            {"speed_prescale": 0.6, "speed_prescale_method": "bilinear"},
            {"speed_prescale": 0.7, "speed_prescale_method": "nearest", "speed_kernelscale": 1.5},
            {"speed_prescale": 1.3, "speed_prescale_method": "bicubic"},
            {"speed_prescale": 0.6, "speed_prescale_method": "lanczos4"}),
            layouts=["444"], depths=[8], extremes=[False]),
    )],
    *cases("speed_chroma", [(240, 225)],
        [*({"speed_weight_var_mode": mode, "speed_sigma_nn": 0.19} for mode in range(7)), *FLOORS],
        layouts=["444"], depths=[8, 10], extremes=[False]),
    *cases("speed_temporal", [(240, 225)], FLOORS,
        [{"speed_use_ref_diff": True}, {"speed_use_ref_diff": True, **FLOORS[0]}],
        depths=[8, 10], extremes=[False]),
    # planes larger than a tile
    *cases("speed_temporal", [(1040, 2300), (16560, 83)], depths=[8], extremes=[False]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_digits(case: Case) -> None:
    frames = random_frames(case.frames, *case.size, case.depth, layout=case.layout, extreme=case.extreme)
    same(case.name, frames, *case.settings, most=case.most, packed=case.packed)


# ---- pictures of other kinds ----


def one(value: int, shape: Size, depth: int = 8, layout: str = "400") -> Picture:
    """A flat picture of one plane."""
    return picture([np.full(shape, value, np.uint8 if depth == 8 else np.uint16)], layout, depth)


@pytest.mark.parametrize("depth", [8, 16])
def test_the_largest_errors(depth: int) -> None:
    """Sums that need more than 32 bits, and none."""
    black, white = (one(value, (70, 1100), depth) for value in (0, (1 << depth) - 1))
    frames = [Frame(i, *pair) for i, pair in enumerate([(black, white), (white, white), (white, black)])]
    found = same("psnr", frames, {"enable_apsnr": True})
    assert found[0]["sse_y"] == 70 * 1100 * float((1 << depth) - 1) ** 2


def test_what_the_pair_says_about_its_samples() -> None:
    frames = random_frames(2, 40, 24, 10, layout="420")
    tags = ColourTags("bt2020nc", True, "smpte2084", "bt2020")
    assert same("ssimulacra2", frames, colour=tags) != on_cpu(extractors("ssimulacra2"), frames)


def test_large_slabs_and_sums_of_several_turns() -> None:
    """On a card that is busy with a whole picture only."""
    same("ssimulacra2", random_frames(1, 67, 290, 8, layout="420"), processors=300)


@pytest.mark.parametrize("name", ["psnr_hvs", "ciede", "ssimulacra2"])
@pytest.mark.parametrize("depth", [8, 12])
def test_errors_that_begin_late_and_that_are_faint(name: str, depth: int) -> None:
    """Sums of several turns, and errors far smaller than the sum before them."""
    random = np.random.default_rng(1)
    kind, most = (np.uint8 if depth == 8 else np.uint16), (1 << depth) - 1
    ref = random.integers(0, most + 1, (400, 400), kind)
    late, faint = ref.copy(), ref.copy()
    late[300:] ^= random.integers(0, 16, (100, 400), kind)
    faint[:8] ^= kind(most)
    faint[8:] ^= random.integers(0, 2, (392, 400), kind)
    shown = [late, faint, ref], [faint, late, ref ^ kind(most)]
    given = picture([ref] * 3, "444", depth)
    same(name, [Frame(i, given, picture(planes, "444", depth)) for i, planes in enumerate(shown)])


def test_similarity_in_decibels_and_of_flat_pictures() -> None:
    """Variances of flat pictures are what rounding left over."""
    frames = random_frames(2, 50, 40, 10)
    frames.append(Frame(2, frames[0].ref, frames[0].ref))
    for settings in ({"enable_db": True}, {"enable_db": True, "clip_db": True, **LCS}):
        same("float_ssim", frames, settings)
    flat = [one(value, (40, 70)) for value in (0, 77, 255)]
    same("float_ssim", [Frame(i, *pair) for i, pair in enumerate(product(flat, flat))], LCS)


@pytest.mark.parametrize("limits", [[100.0], [1.0], [100.0, 1.0], [100.0, 1.2], [1.0, 3.0, 60.0]])
@pytest.mark.parametrize(("low", "step", "contrast"), [(100, 8, 30), (252, 4, 85)])
def test_flat_places_and_steep_gains(low: int, step: int, contrast: int, limits: list[float]) -> None:
    """Places without variance, and distorted pictures with far more contrast than their references."""
    random = np.random.default_rng(1)
    ref = np.full((40, 60), low, np.uint8)
    ref[:, 24:] += random.integers(0, step, (40, 36), dtype=np.uint8)
    dis = np.clip((ref.astype(int) - low) * contrast, 0, 255).astype(np.uint8)
    frame = Frame(0, picture([ref], "400", 8), picture([dis], "400", 8))
    same("vif", [frame], *({"debug": True, "vif_enhn_gain_limit": limit} for limit in limits))


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("contrast", [0.7, 1.15, 3.0])
def test_more_and_less_contrast(contrast: float, depth: int) -> None:
    """Gradients stay parallel, so that the limits of gain decide."""
    half = 1 << (depth - 1)
    y, x = np.mgrid[:60, :140]
    ref = half + half * 0.6 * np.sin(x * x / 300.0 + y / 5.0) * np.cos(y * x / 900.0)
    dis = np.clip((ref - half) * contrast + half, 0, 2 * half - 1)
    dtype = np.uint8 if depth == 8 else np.uint16
    frame = Frame(0, *(picture([plane.astype(dtype)], "400", depth) for plane in (ref, dis)))
    same("adm", [frame], *({"adm_enhn_gain_limit": gain} for gain in (100.0, 1.0, 1.2, 2.0)))


@pytest.mark.parametrize("depth", [8, 14])
def test_equal_pictures_of_extremes(depth: int) -> None:
    """Shares of large coefficients are rounded, also where nothing was lost."""
    frames = [Frame(f.index, f.ref, f.ref) for f in random_frames(2, 140, 60, depth, extreme=True)]
    same("adm", frames, {"adm_enhn_gain_limit": 1.0})


def flat(picture: Picture, number: int) -> Picture:
    planes = list(picture.planes)
    planes[number] = np.full_like(planes[number], 77)
    return Picture(tuple(planes), picture.format)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("number", [1, 2])
def test_planes_that_cannot_be_described(number: int, both: bool) -> None:
    """A flat plane counts for nothing, and a pair of which one is flat scores 0."""
    frames = [
        replace(f, ref=flat(f.ref, number), dis=flat(f.dis, number) if both else f.dis)
        for f in random_frames(2, 230, 210, 8, layout="444")
    ]
    same("speed_chroma", frames)


@pytest.mark.parametrize("flattened", [("ref",), ("ref", "dis")])
def test_changes_that_cannot_be_described(flattened: Sequence[str]) -> None:
    first, second = random_frames(2, 230, 210, 8)
    still = {side: getattr(first, side) for side in flattened}  # nothing changes
    same("speed_temporal", [first, replace(second, **still)], {"speed_max_val": 7.0})


def test_pictures_too_small_for_a_change() -> None:
    frames = random_frames(2, 60, 60, 8)
    same("speed_temporal", frames[:1])
    with pytest.raises(UnfitPictureError):
        on_card(SpeedTemporalTwin, extractors("speed_temporal"), frames)


# ---- banding ----


def banded(width: int, height: int, depth: int, *, count: int = 1, slope: float = 0.05) -> list[Frame]:
    """Bands with a little noise in places, whose values differ from frame to frame."""
    random = np.random.default_rng(width * height + depth)
    y, x = np.mgrid[0:height, 0:width]

    def plane(index: int, step: int) -> NDArray[Any]:
        shade = 80 + 90 * index + slope * x + 0.3 * abs(y - height / 3) + (x // 70) * 40 % 300  # 10 bits
        noise = random.integers(0, 3, (height, width)) == 0
        shade = shade // step * step + np.where(y * 5 // height == 2, noise, 0)
        scaled: NDArray[Any] = (shade * 2.0 ** (depth - 10)).astype(np.uint8 if depth == 8 else np.uint16)
        return scaled

    return [
        Frame(index, *(picture((plane(index, step),), "400", depth) for step in (1, 3)))
        for index in range(count)
    ]


FULL = {"full_ref": True}
BANDED: list[tuple[Size, int, dict[str, Any]]] = [
    *(((size, depth, FULL)) for size in ((216, 33), (301, 98), (45, 230)) for depth in DEPTHS),
    *(
        ((263, 75), depth, {**FULL, **settings})
        for depth in (8, 10)
        for settings in (
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
        )
    ),
    ((263, 171), 10, {**FULL, "enc_width": 231, "enc_height": 153}),
    ((263, 171), 10, {**FULL, "enc_width": 231, "enc_height": 153, "src_width": 330, "src_height": 222}),
    # windows of large pictures, with a share so small that contrasts are chosen
    *(((width, 24), 10, {"window_size": w, "topk": 0.02}) for width, w in ((1100, 65), (2500, 127))),
    # just large enough for the speed-up, both sides odd
    ((9001, 231), 8, {"cambi_high_res_speedup": 1080, "cambi_vis_lum_threshold": 0.06}),
]


@pytest.mark.parametrize(("size", "depth", "settings"), BANDED)
def test_bands(size: Size, depth: int, settings: dict[str, Any]) -> None:
    (found,) = same("cambi", banded(*size, depth, slope=0.4 if size == (263, 75) else 0.05), settings)
    if settings == FULL:
        assert found["cambi_source"] > 0
        assert len(set(found.values())) > 1


def test_batches_leave_nothing_for_those_after_them() -> None:
    settings: Settings = [{"full_ref": True, "topk": 0.3}, {"topk": 0.3, "cambi_max_val": 1.0}]
    first, *others = same("cambi", banded(240, 40, 10, count=5), *settings, most=2)
    assert first not in others


@pytest.mark.parametrize("value", [0, 1, 200, 65535])
def test_one_value(value: int) -> None:
    """The whole picture is flat, at values that are counted and that aren't."""
    whole = one(value, (40, 216), 16)
    same("cambi", [Frame(0, whole, whole)], {"full_ref": True, "topk": 1.0})


def test_many_equal_contrasts() -> None:
    """Stripes: most contrasts are equal, and the weakest that counts is one of them."""
    x = np.mgrid[0:64, 0:256][1]
    stripes = picture(((300 + x // 8 % 2 * 2).astype(np.uint16),), "400", 10)
    same("cambi", [Frame(0, stripes, stripes)], {"topk": 0.37}, {"topk": 0.37, "full_ref": True})


def test_heatmaps(tmp_path: Path) -> None:
    frames = banded(230, 50, 10, count=3)
    on_cpu(extractors("cambi", {"heatmaps_path": str(tmp_path / "cpu")}), frames)
    members = extractors("cambi", {"heatmaps_path": str(tmp_path / "card"), "full_ref": True})
    assert on_card(CambiTwin, members, frames, 2) == on_cpu(extractors("cambi", {"full_ref": True}), frames)
    names = sorted(path.name for path in (tmp_path / "cpu").iterdir())
    assert len(names) == 15
    for name in names:
        assert (tmp_path / "card" / name).read_bytes() == (tmp_path / "cpu" / name).read_bytes()

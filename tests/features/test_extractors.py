"""Extractors through their runners: sharing work changes nothing, options do what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import formula_pictures
from acuity import _native
from acuity.errors import FeatureError
from acuity.features import EXTRACTORS, get_extractor
from acuity.features.adm import Adm
from acuity.features.extractor import REACH, CpuContext, Extractor, Frame, Geometry, Pair
from acuity.features.options import OptionValue
from acuity.features.vif import Vif
from acuity.video.picture import Picture, PixelFormat

GEOMETRY = Geometry(61, 47, 8, (31, 24))
# Large enough for everybody's pyramid.
LARGE = Geometry(611, 407, 8, (306, 204))


def picture(seed: int, geometry: Geometry = GEOMETRY) -> Picture:
    rng = np.random.default_rng(seed)
    planes = []
    for width, height in ((geometry.width, geometry.height), *[geometry.chroma or (0, 0)] * 2):
        y, x = np.mgrid[0:height, 0:width]
        plane = 120 + 60 * np.sin(x * 0.3 + seed) * np.cos(y * 0.2) + rng.normal(0, 6, x.shape)
        planes.append(np.clip(plane, 0, 255).astype(np.uint8))
    return Picture(tuple(planes), PixelFormat("420", 8))


def frame(geometry: Geometry = GEOMETRY) -> Frame:
    one, two, three, four = (picture(seed, geometry) for seed in (1, 2, 3, 4))
    return Frame(2, one, two, (Pair(three, two), Pair(four, one)))


FRAME = frame()


def run(*members: Extractor, geometry: Geometry = GEOMETRY) -> dict[str, float]:
    runner = type(members[0]).runner(members, geometry, CpuContext(_native.Workspace(), ""))
    return runner(FRAME if geometry is GEOMETRY else frame(geometry))


def compute(extractor: Extractor, frame: Frame) -> dict[str, float]:
    return type(extractor).runner([extractor], GEOMETRY, CpuContext(_native.Workspace(), ""))(frame)


def make(name: str, options: dict[str, OptionValue] | None = None) -> Any:
    return get_extractor(name)(options)


SHARED = {
    "vif": [{}, {"vif_enhn_gain_limit": 1.0}, {"vif_enhn_gain_limit": 1.2, "debug": True}],
    "adm": [{}, {"adm_enhn_gain_limit": 1.0}, {"adm_noise_weight": 0.5, "debug": True},
        {"adm_dlm_weight": 0.7, "adm_min_val": 0.9}, {"adm_enhn_gain_limit": 1.1, "adm_skip_aim": True}],
    "motion": [{}, {"motion_fps_weight": 2.0, "debug": True}, {"motion_max_val": 3.0}],
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_shared_work_gives_the_same_figures(name: str) -> None:
    members = [make(name, options) for options in SHARED[name]]
    assert len({member.sharing for member in members}) == 1
    apart: dict[str, float] = {}
    for member in members:
        apart.update(run(member))
    assert run(*members) == apart


# Settings that share planes, statistics, or more than one pass of the kernels.
TOGETHER = {
    "float_adm": ["", "adm_enhn_gain_limit=1", "adm_enhn_gain_limit=1.2", "adm_csf_mode=1", "adm_p_norm=2.5",
        "adm_p_norm=2.5:adm_enhn_gain_limit=1", "adm_bypass_cm=1", "adm_dlm_weight=0.8",
        "adm_noise_weight=0.5", "adm_f1s2=0.3", "adm_skip_aim_scale=1"],
    "float_vif": [f"vif_enhn_gain_limit={limit}:debug=true" for limit in (1, 1.01, 1.05, 1.1, 1.2, 100)],
    "cambi": ["", "window_size=100:full_ref=true", "cambi_max_val=2", "topk=0.1"],
    "speed_chroma": ["", "speed_sigma_nn=0.19", "speed_kernelscale=1.5",
        "speed_sigma_nn=0.19:speed_nn_floor=0.1:speed_weight_var_mode=5:speed_max_val=3",
        "speed_prescale=1.25:speed_prescale_method=bicubic"],
    "speed_temporal": ["", "speed_use_ref_diff=true", "speed_sigma_nn=1.0"],
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER)
def test_settings_in_one_run_are_those_of_runs_of_their_own(name: str) -> None:
    features = [f"{name}={options}".removesuffix("=") for options in TOGETHER[name]]
    pairs = [formula_pictures.pair(260, 208, "444", 8, index) for index in range(2)]
    apart: dict[str, Any] = {}
    for feature in features:
        apart.update(formula_pictures.measure(pairs, feature).columns)
    found = formula_pictures.measure(pairs, *features).columns
    np.testing.assert_equal(dict(found), apart)


@pytest.mark.parametrize("name", EXTRACTORS)
@pytest.mark.parametrize("on", [False, True])
def test_runners_give_the_keys_the_extractor_says(name: str, on: bool) -> None:
    switches = [option.name for option in get_extractor(name).options if option.widens]
    extractor = make(name, dict.fromkeys(switches, on))
    given = set(extractor.hidden_keys())
    assert [key for key in run(extractor, geometry=LARGE) if key not in given] == extractor.keys(late=False)


def test_motion_compares_with_the_right_picture() -> None:
    kernel = _native.Motion(_native.Workspace(), GEOMETRY.width, GEOMETRY.height, GEOMETRY.depth)
    key = "VMAF_integer_feature_motion_sad_score"
    assert run(make("motion"))[key] == kernel.run(picture(3).luma, picture(1).luma)
    wide = make("motion", {"motion_five_frame_window": True})
    assert run(wide)[f"{key}_mffw"] == kernel.run(picture(4).luma, picture(1).luma)
    assert run(make("motion", {"motion_force_zero": True}))[f"{key}_force_0"] == 0.0


def test_a_skipped_aim_is_zero_in_adm3() -> None:
    full, skipped = run(make("adm")), run(make("adm", {"adm_skip_aim": True}))
    assert full["integer_aim"] > 0
    assert skipped["integer_aim"] == 0
    assert skipped["integer_adm3"] == skipped["integer_adm2"] * 0.5 + 0.5
    assert skipped["integer_adm2"] == full["integer_adm2"]


def test_a_skipped_scale_is_zero() -> None:
    assert run(make("vif", {"vif_skip_scale0": True}))["integer_vif_scale0_ssclz"] == 0
    adm = run(make("adm", {"adm_skip_scale0": True, "debug": True}))
    assert adm["integer_adm_scale0_ssz"] == 0
    assert adm["integer_adm_num_scale0_ssz"] == 0


def test_nothing_to_weigh_is_perfect_and_not_undefined() -> None:
    flat = Picture((np.full((GEOMETRY.height, GEOMETRY.width), 77, np.uint8),), PixelFormat("400", 8))
    adm = make("adm", {"adm_noise_weight": 0.0})
    figures = compute(adm, Frame(0, flat, flat))
    assert figures["integer_adm2_nw_0"] == 1.0
    assert figures["integer_aim_nw_0"] == 0.0


@pytest.mark.parametrize("name", ["adm", "float_adm", "float_motion", "float_vif", "motion", "vif"])
def test_smallest_sizes_are_the_kernels_own(name: str) -> None:
    smallest = getattr(_native, f"{name.upper()}_MIN_SIZE")
    extractor = make(name)
    assert extractor.min_size == smallest
    extractor.check_size(Geometry(smallest, smallest, 8))
    with pytest.raises(
        FeatureError, match=f"{name} needs pictures of at least {smallest}x{smallest} samples, because"
    ):
        extractor.check_size(Geometry(smallest - 1, 100, 8))


@pytest.mark.parametrize(
    ("name", "geometry", "message"),
    [
        ("ciede", Geometry(64, 64, 8), "ciede needs chroma, and these pictures are luma alone"),
        ("float_ansnr", Geometry(2, 9, 8), "at least 3x3 samples, because its smoothing reaches two samples"),
        ("float_ansnr", Geometry(9, 2, 8), "at least 3x3 samples"),
        ("psnr_hvs", Geometry(64, 7, 8, (32, 4)), "at least 8x8 samples, because it looks at blocks of 8x8"),
        ("psnr_hvs", Geometry(14, 64, 8, (7, 32)), "chroma planes of at least 8x8 samples.* these are 7x32"),
        ("psnr_hvs", Geometry(64, 64, 8), "needs chroma"),
        ("psnr_hvs", Geometry(64, 64, 14, (32, 32)), "psnr_hvs takes up to 12 bits .* have 14"),
        ("speed_chroma", Geometry(240, 208, 8), "speed_chroma needs chroma"),
    ],
)
def test_pictures_that_it_cannot_compute_are_refused(name: str, geometry: Geometry, message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        make(name).check_size(geometry)


@pytest.mark.parametrize("extractor", EXTRACTORS.values())
def test_nobody_reaches_further_than_is_kept(extractor: type[Extractor]) -> None:
    switches = [option.name for option in extractor.options if option.kind == "bool"]
    for on in (set(), *({switch} for switch in switches), set(switches)):
        made = extractor({switch: switch in on for switch in switches})
        assert max(made.lookback, made.lookahead) <= REACH


def test_covering_is_about_figures_not_names() -> None:
    assert Adm({"debug": True}).covers(Adm())
    assert not Adm().covers(Adm({"debug": True}))
    assert not Adm().covers(Adm({"adm_skip_aim": True}))
    assert not Adm({"adm_skip_aim": True}).covers(Adm())
    assert not Vif().covers(Vif({"vif_enhn_gain_limit": 1.0}))


def test_switches_that_change_figures_cannot_be_merged() -> None:
    with pytest.raises(
        FeatureError, match=r"psnr is asked for with min_sse=0 and with min_sse=0\.5, and both"
    ):
        make("psnr").merge(make("psnr", {"min_sse": 0.5}))
    assert make("psnr", {"enable_mse": True}).merge(make("psnr", {"enable_apsnr": True})).keys(
        late=False
    ) == [f"{kind}_{plane}" for plane in ("y", "cb", "cr") for kind in ("psnr", "mse")]

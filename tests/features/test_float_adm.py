"""float_adm: libvmaf's figures for made pictures and for every option, and settings that share work."""

from __future__ import annotations

import math
from typing import Any

import pytest

from acuity.errors import FeatureError
from acuity.features.adm import FloatAdm
from drawn_pictures import made_pairs
from float_figures import close, first_frame, run

KEYS = ["adm2", "aim", "adm3", *(f"adm_scale{scale}" for scale in range(4))]

# KEYS without adm3 of the second frame, as libvmaf's plain path says: pattern, width, height, depth.
FIGURES = {
    ("detail", 64, 48, 8): (0.9809175, 0.0088424804, 0.94226338, 0.92854998, 0.9819181, 1.0015189),
    ("identical", 64, 48, 8): (1.0, 0.0, 1.0, 1.0, 1.0, 1.0),
    ("black against white", 64, 48, 8): (
        0.99999863,
        1.3595736e-06,
        0.99999976,
        0.99999918,
        0.9999975,
        0.99999493,
    ),
    ("noise", 64, 48, 8): (0.33472052, 0.72607684, 0.46364238, 0.33664769, 0.25907885, 0.23168118),
    ("checkerboards", 64, 48, 8): (0.59594679, 0.40405327, 0.38615256, 1.0, 0.99986707, 0.9999978),
    ("gradients", 64, 48, 8): (0.99588623, 0.046863935, 1.0, 0.98348957, 0.99419339, 0.99953623),
    ("detail", 61, 47, 10): (0.9803296, 0.0094339796, 0.94066807, 0.9396203, 0.97862122, 0.99977879),
    ("noise", 66, 35, 12): (0.40610081, 0.61430415, 0.44414763, 0.38406202, 0.41015758, 0.38364014),
    ("checkerboards", 34, 64, 16): (0.60325302, 0.39674696, 0.38522883, 1.0, 0.99314432, 0.99888309),
    ("gradients", 40, 18, 16): (0.99082021, 0.033421923, 0.99370463, 0.96414012, 0.99096008, 0.9979625),
    ("detail", 17, 17, 8): (0.97359677, 0.0056096584, 0.9428863, 0.91373198, 0.96538172, 1.004602),
}

# The first four of KEYS of "detail", 64x48 at 8 bits, with options.
OPTIONS = {
    "adm_enhn_gain_limit=1": (0.96827373, 0.00888634, 0.9796937, 0.93865805),
    "adm_enhn_gain_limit=1.2": (0.98024751, 0.0088595055, 0.985694, 0.94026807),
    "adm_norm_view_dist=1.5": (0.9712966, 0.014579694, 0.97835845, 0.87506218),
    "adm_noise_weight=0.5": (0.98531661, 0.0068040302, 0.98925629, 0.97378405),
    "adm_csf_mode=1": (0.99108514, 0.0024651243, 0.99431001, 0.72022264),
    "adm_csf_mode=1:adm_csf_scale=2:adm_csf_diag_scale=0.3": (
        0.99182121,
        0.0025071088,
        0.99465705,
        0.74740309,
    ),
    "adm_csf_mode=2": (0.99282785, 0.00087552821, 0.99597616, 0.98396139),
    "adm_csf_mode=9:adm_ref_display_height=2160": (0.98886151, 0.0046742449, 0.99209363, 0.98184516),
    "adm_bypass_cm=1": (0.99393207, 0.047660049, 0.97313601, 0.98017378),
    "adm_adm3_apply_hm=true": (0.9809175, 0.0088424804, 0.017526964, 0.94226338),
    "adm_p_norm=1": (0.86821459, 0.02039863, 0.92390798, 0.66072099),
    "adm_p_norm=2.5": (0.97559681, 0.0095686964, 0.98301406, 0.92647457),
    "adm_p_norm=20": (0.99154212, 0.0072251398, 0.99215849, 0.97911452),
    "adm_dlm_weight=0.8": (0.9809175, 0.0088424804, 0.9829655, 0.94226338),
    "adm_min_val=0.99": (0.9809175, 0.0088424804, 0.99, 0.94226338),
    "adm_f1s0=0.1:adm_f1s1=0.2:adm_f1s2=0:adm_f1s3=3": (1.0006041, 0.0020812143, 0.99926142, 0.86191519),
    "adm_f2s0=1:adm_f2s1=2:adm_f2s2=0.01:adm_f2s3=10": (0.98603112, 0.022653475, 0.98168882, 0.80748903),
    "adm_skip_aim_scale=0": (0.9809175, 0.0021072286, 0.98940513, 0.94226338),
    "adm_skip_aim_scale=3": (0.9809175, 0.017291627, 0.98181293, 0.94226338),
    "adm_skip_scale0=true": (0.98551381, 0.0021072286, 0.99170329, 0.0),
}


@pytest.mark.parametrize(("pattern", "width", "height", "depth"), FIGURES)
def test_figures_are_libvmafs(
    pattern: str, width: int, height: int, depth: int, instruction_set: str
) -> None:
    pairs = made_pairs(pattern, width, height, depth, "444")
    found = run("float_adm", pairs, instruction_set)
    assert list(found) == KEYS
    adm2, aim, *scales = FIGURES[pattern, width, height, depth]
    close([column[1] for column in found.values()], [adm2, aim, (adm2 + 1 - aim) / 2, *scales])


@pytest.mark.parametrize("options", OPTIONS)
def test_options_do_what_libvmafs_do(options: str, instruction_set: str) -> None:
    found = run(f"float_adm={options}", made_pairs("detail"), instruction_set)
    close([column[1] for column in found.values()][:4], OPTIONS[options])


def test_debug_gives_the_fractions_too() -> None:
    figures = first_frame("float_adm=debug=true", made_pairs("detail")[1:])
    assert list(figures)[7:12] == ["adm", "adm_num", "adm_den", "adm_num_scale0", "adm_den_scale0"]
    close(
        [figures[key] for key in ("adm", "adm_num", "adm_den", "adm_num_scale3", "adm_den_scale3")],
        (0.9809174950, 93.80978012, 95.63473034, 46.80063629, 46.72966003),
    )


def test_settings_share_a_pass() -> None:
    options = [
        "adm_enhn_gain_limit=1",
        "adm_enhn_gain_limit=1.2",
        "adm_csf_mode=1",
        "adm_p_norm=2.5",
        "adm_p_norm=2.5:adm_enhn_gain_limit=1",
        "adm_bypass_cm=1",
        "adm_dlm_weight=0.8",
        "adm_noise_weight=0.5",
        "adm_f1s2=0.3",
        "adm_skip_aim_scale=1",
    ]
    features = ["float_adm", *(f"float_adm={text}" for text in options)]
    pairs = made_pairs("gradients")
    apart: dict[str, Any] = {}
    for feature in features:
        apart.update(run(feature, pairs))
    assert run(features, pairs) == apart


def test_only_the_first_scale_keeps_settings_apart() -> None:
    assert FloatAdm().sharing == FloatAdm({"adm_csf_mode": 2, "adm_p_norm": 4.0}).sharing
    assert FloatAdm().sharing != FloatAdm({"adm_skip_scale0": True}).sharing


def test_nothing_to_weigh_is_perfect_and_not_undefined() -> None:
    """libvmaf leaves the impairment of pictures without any detail unset."""
    factors = ":".join(f"adm_f{band}s{scale}=0" for band in (1, 2) for scale in range(4))
    figures = first_frame(f"float_adm=adm_noise_weight=0:{factors}", made_pairs("noise"))
    assert list(figures.values())[:3] == [1.0, 0.0, 1.0]


def test_sums_may_overflow_as_libvmafs_do() -> None:
    factors = ":".join(f"adm_f{band}s{scale}=10" for band in (1, 2) for scale in range(4))
    whole, aim, adm3, *scales = first_frame(
        f"float_adm=adm_p_norm=20:{factors}", made_pairs("noise")
    ).values()
    assert math.isnan(whole)
    assert (aim, adm3) == (1.0, 0.0)
    assert all(math.isnan(scale) for scale in scales)


def test_one_figure_has_one_name_whatever_the_options() -> None:
    limited = FloatAdm({"debug": True, "adm_enhn_gain_limit": 1.0})
    assert limited.keys(late=False)[6:9] == ["adm_scale3_egl_1", "adm", "adm_num_egl_1"]
    features = ["float_adm=debug=true", "float_adm=debug=true:adm_enhn_gain_limit=1"]
    with pytest.raises(FeatureError, match=r"float_adm and float_adm_egl_1 would both give 'adm': leave one"):
        run(features, made_pairs("detail"))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("adm_bypass_cm", 2),
        ("adm_csf_mode", 10),
        ("adm_p_norm", 0.5),
        ("adm_f2s3", 11),
        ("adm_skip_aim_scale", 4),
    ],
)
def test_values_out_of_range_are_refused(option: str, value: float) -> None:
    with pytest.raises(FeatureError, match=f"float_adm: {option} cannot be {value}: it must be between"):
        FloatAdm({option: value})

"""float_adm: libvmaf's figures for made pictures and for every option, and settings that share work."""

from __future__ import annotations

import math
from typing import Any

import pytest

import float_figures
from acuity.errors import FeatureError
from acuity.features.adm import FloatAdm
from drawn_pictures import made_pairs
from float_figures import close, first_frame, run

KEYS = ["adm2", "aim", "adm3", *(f"adm_scale{scale}" for scale in range(4))]
FIGURES, OPTIONS = float_figures.FIGURES["float_adm"].values()  # of KEYS without adm3; of the first four


@pytest.mark.parametrize(("case", "figures"), FIGURES, ids=str)
def test_figures_are_libvmafs(
    case: tuple[str, int, int, int], figures: list[float], instruction_set: str
) -> None:
    pairs = made_pairs(*case, "444")
    found = run("float_adm", pairs, instruction_set)
    assert list(found) == KEYS
    adm2, aim, *scales = figures
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

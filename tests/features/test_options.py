"""Option tables: parsing, limits, and what options do to feature names."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import FeatureError
from acuity.features import EXTRACTORS, extractor_for_feature, feature_key, get_extractor, parse_feature
from acuity.features.options import Option, OptionValue

VIF0 = "VMAF_integer_feature_vif_scale0_score"
ADM2 = "VMAF_integer_feature_adm2_score"
MOTION3 = "VMAF_integer_feature_motion3_score"


@pytest.mark.parametrize(
    ("feature", "options", "key"),
    [
        (VIF0, {}, "integer_vif_scale0"),
        (VIF0, {"vif_enhn_gain_limit": 100}, "integer_vif_scale0"),
        (VIF0, {"vif_enhn_gain_limit": 1.0}, "integer_vif_scale0_egl_1"),
        (VIF0, {"vif_enhn_gain_limit": "1.10"}, "integer_vif_scale0_egl_1.1"),
        (VIF0, {"vif_enhn_gain_limit": 1.20000001}, "integer_vif_scale0_egl_1.2"),
        (VIF0, {"vif_skip_scale0": True, "vif_enhn_gain_limit": 2}, "integer_vif_scale0_egl_2_ssclz"),
        (VIF0, {"debug": "true"}, "integer_vif_scale0"),
        ("integer_vif_num", {"vif_skip_scale0": "true"}, "integer_vif_num_ssclz"),
        (
            ADM2,
            {
                "adm_dlm_weight": 0.7,
                "adm_enhn_gain_limit": 1.0,
                "adm_noise_weight": 0.02,
                "adm_norm_view_dist": 3.0,
                "adm_ref_display_height": 1080,
                "adm_min_val": 0.5,
                "adm_csf_mode": 2,
            },
            "integer_adm2_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02",
        ),
        (ADM2, {"adm_csf_diag_scale": 0.7, "adm_csf_scale": 3.5}, "integer_adm2_scfd_0.7_scf_3.5"),
        (ADM2, {"adm_skip_aim": True}, "integer_adm2"),
        (MOTION3, {"motion_force_zero": True}, "integer_motion3_force_0"),
        (MOTION3, {"motion_moving_average": "true", "motion_five_frame_window": "true"},
         "integer_motion3_mffw_mma"),
        ("VMAF_integer_feature_motion_sad_score", {"motion_max_val": 18.0},
         "VMAF_integer_feature_motion_sad_score_mmxv_18"),
    ],
)  # fmt: skip
def test_keys_are_libvmafs(feature: str, options: dict[str, OptionValue], key: str) -> None:
    assert feature_key(feature, options) == key


@pytest.mark.parametrize(
    ("extractor", "options", "message"),
    [
        ("vif", {"gain": 1}, "vif has no option 'gain': it has debug, vif_enhn_gain_limit, vif_skip_scale0"),
        ("vif", {"vif_enhn_gain_limit": 0.9},
         "vif_enhn_gain_limit cannot be 0.9: it must be between 1 and 100"),
        ("vif", {"vif_enhn_gain_limit": "much"}, "cannot be 'much': it must be a number"),
        ("vif", {"vif_enhn_gain_limit": "nan"}, "must be a finite number"),
        ("vif", {"vif_enhn_gain_limit": True}, "must be a number"),
        ("vif", {"debug": "yes"}, "debug cannot be 'yes': it must be true or false"),
        ("vif", {"debug": 1}, "must be true or false"),
        ("adm", {"adm_csf_mode": 1.5}, "must be a whole number"),
        ("adm", {"adm_csf_mode": 4}, "between 0 and 3"),
        ("motion", {"motion_fps_weight": -0.1}, "between 0 and 5"),
        ("psnr", {"min_sse": -1}, "min_sse cannot be -1: it must be 0 or more"),
        ("psnr", {"enable_mes": True},
         "no option 'enable_mes': did you mean enable_mse\\? it has enable_chroma"),
        ("vif", {"adm_csf_mode": 1}, "vif has no option 'adm_csf_mode', which .*adm.* ha.*: it has debug"),
        ("adm", {"adm_norm_view_dist": 2.9}, "2.9 times adm_ref_display_height 1080 is below 3240"),
        ("adm", {"adm_csf_mode": 2, "adm_norm_view_dist": 4.0},
         "has no table for adm_norm_view_dist 4 at .* use one of 3 at 1080, 5 at 1080"),
    ],
)  # fmt: skip
def test_wrong_options_are_explained(extractor: str, options: dict[str, OptionValue], message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        get_extractor(extractor)(options)


def test_unknown_names_are_explained() -> None:
    with pytest.raises(FeatureError, match=r"unknown feature extractor 'psnrr': use one of adm, .*vif"):
        get_extractor("psnrr")
    with pytest.raises(FeatureError, match="no extractor provides the feature 'integer_vmaf'"):
        extractor_for_feature("integer_vmaf")


def test_every_feature_leads_back_to_its_extractor() -> None:
    for name, extractor in EXTRACTORS.items():
        assert extractor.name == name
        for feature in extractor.features:
            assert extractor_for_feature(feature.name) is extractor


def test_defaults_are_within_limits() -> None:
    for extractor in EXTRACTORS.values():
        for option in extractor.options:
            assert option.parse(option.default) == option.default
            assert option.suffix(option.default) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vif", ("vif", {})),
        ("vif=debug=true", ("vif", {"debug": "true"})),
        ("adm=a=1:b=x=y", ("adm", {"a": "1", "b": "x=y"})),
    ],
)
def test_features_are_split(text: str, expected: tuple[str, dict[str, str]]) -> None:
    assert parse_feature(text) == expected


@pytest.mark.parametrize("text", ["vif=", "vif=debug", "vif=debug=", "vif==true", "vif=debug=true:", "vif=:"])
def test_half_features_are_refused(text: str) -> None:
    with pytest.raises(FeatureError, match="vif="):
        parse_feature(text)


@given(st.text())
def test_any_text_is_split_or_refused(text: str) -> None:
    try:
        name, options = parse_feature(text)
    except FeatureError:
        return
    assert "=" not in name
    assert all(key and value for key, value in options.items())


@given(st.one_of(st.text(), st.floats(), st.integers(), st.booleans()))
def test_any_value_is_within_limits_or_refused(value: OptionValue) -> None:
    for option in (
        Option("number", "n", "float", 1.0, 0.5, 9.0),
        Option("count", "c", "int", 3, 1, 12),
        Option("switch", "s", "bool", False),
    ):
        try:
            parsed = option.parse(value)
        except ValueError:
            continue
        if option.kind == "bool":
            assert isinstance(parsed, bool)
        else:
            assert option.minimum <= parsed <= option.maximum


def test_texts_have_choices() -> None:
    option = Option("method", "m", "text", "near", choices=("near", "far"))
    assert option.parse("far") == "far"
    assert option.suffix("far") == "_m_far"
    assert option.suffix("near") == ""
    assert option.values() == "near, far"
    with pytest.raises(ValueError, match="one of near, far"):
        option.parse("middle")


def test_a_default_outside_the_range_stands_for_none() -> None:
    option = Option("size", "s", "int", 0, 16, 99)
    assert option.parse("0") == 0
    assert option.values() == "0, 16 to 99"
    assert Option("much", "", "float", 1.0, 0.5, math.inf).values() == "0.5 or more"
    with pytest.raises(ValueError, match="between 16 and 99"):
        option.parse(3)

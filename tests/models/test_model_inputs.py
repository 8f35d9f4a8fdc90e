"""Features of a model: options, overrides, extractors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acuity.errors import FeatureError, ModelError
from acuity.models import load_model

Save = Callable[..., str]


@pytest.mark.usefixtures("registry")
def test_overrides_reach_the_extractors_features(document: dict[str, Any], save: Save) -> None:
    path = save(document)
    model = load_model(f"{path}:vif.vif_enhn_gain_limit=1.20:vif.debug=true:adm.adm_csf_mode=2")
    assert [dict(feature.options) for feature in model.features] == [
        {"adm_csf_mode": "2"},
        {"vif_enhn_gain_limit": "1.20", "debug": "true"},
    ]
    assert model.extractors() == [
        ("adm", {"adm_csf_mode": "2"}),
        ("vif", {"vif_enhn_gain_limit": "1.20", "debug": "true"}),
    ]


@pytest.mark.usefixtures("registry")
def test_override_of_an_extractor_that_is_not_used(document: dict[str, Any], save: Save) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(f"{save(document)}:motion.motion_force_zero=true")
    assert "motion.motion_force_zero" in str(caught.value)
    assert "adm, vif" in str(caught.value)


@pytest.mark.usefixtures("registry")
def test_an_extractor_is_listed_once_for_each_set_of_options(document: dict[str, Any], save: Save) -> None:
    dictionary = document["model_dict"]
    dictionary["feature_names"] = ["VMAF_integer_feature_vif_scale0_score"] * 2
    dictionary["feature_opts_dicts"] = [{"vif_enhn_gain_limit": 1}, {"vif_enhn_gain_limit": 1.0}]
    assert len(load_model(save(document)).extractors()) == 1
    dictionary["feature_opts_dicts"] = [{}, {"vif_enhn_gain_limit": 1.0}]
    assert len(load_model(save(document)).extractors()) == 2


@pytest.mark.usefixtures("registry")
def test_features_unknown_here_load_but_cannot_be_measured(document: dict[str, Any], save: Save) -> None:
    document["model_dict"]["feature_names"][0] = "Cambi_feature_cambi_score"
    model = load_model(save(document))
    assert model.unknown_features() == ["Cambi_feature_cambi_score"]
    for ask in (model.extractors, model.feature_keys):
        with pytest.raises(FeatureError, match="Cambi_feature_cambi_score"):
            ask()


def test_real_models_name_real_features() -> None:
    model = load_model("vmaf_v0.6.1neg")
    assert model.extractors() == [
        ("adm", {"adm_enhn_gain_limit": 1.0}),
        ("motion", {}),
        ("vif", {"vif_enhn_gain_limit": 1.0}),
    ]
    assert model.feature_keys() == [
        "integer_adm2_egl_1",
        "integer_motion2",
        "integer_vif_scale0_egl_1",
        "integer_vif_scale1_egl_1",
        "integer_vif_scale2_egl_1",
        "integer_vif_scale3_egl_1",
    ]
    spec = "vmaf_v0.6.1:vif.vif_enhn_gain_limit=1.0:adm.adm_enhn_gain_limit=1.0:name=neg"
    assert load_model(spec).feature_keys() == model.feature_keys()

"""Bootstrap collections: what they print, and the statistics by hand."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from acuity.errors import ModelError
from acuity.models import ModelCollection, load_model
from small_model import SVM_TEXT, small_document

Save = Callable[..., str]
KIND = "BOOTSTRAP_LIBSVMNUSVR"


def collection(count: int = 5) -> dict[str, Any]:
    """Models that differ in rho alone, so that their scores lie at known distances."""
    return {
        str(index): small_document(
            KIND, SVM_TEXT.replace("rho -0.25", f"rho {-0.25 - 0.001 * index * index}")
        )
        for index in range(count)
    }


def load(save: Save, document: dict[str, Any], options: str = ":disable_clip") -> ModelCollection:
    model = load_model(save(document) + options)
    assert isinstance(model, ModelCollection)
    return model


def test_names_in_libvmafs_order(save: Save) -> None:
    model = load(save, collection(3), ":name=b")
    names = ["b", "b_0001", "b_0002", "b_bagging", "b_stddev", "b_ci_p95_lo", "b_ci_p95_hi"]
    assert list(model.outputs(np.ones((2, 2)))) == names
    assert model.output_names() == names
    assert len(model.models) == 3


def test_statistics_of_the_members_without_the_base(save: Save) -> None:
    result = load(save, collection(5)).predict(np.array([[0.2, 0.1]]))
    scores = sorted(float(result[f"vmaf_000{index}"][0]) for index in range(1, 5))
    assert result["vmaf_bagging"][0] == pytest.approx(statistics.fmean(scores), 1e-12)
    assert result["vmaf_stddev"][0] == pytest.approx(statistics.pstdev(scores), 1e-9)
    assert result["vmaf_ci_p95_lo"][0] == pytest.approx(scores[0] * 0.925 + scores[1] * 0.075, 1e-12)
    assert result["vmaf_ci_p95_hi"][0] == pytest.approx(scores[2] * 0.075 + scores[3] * 0.925, 1e-12)


def test_statistics_follow_the_transform(save: Save) -> None:
    values = np.array([[0.2, 0.1]])
    plain = load(save, collection(4)).predict(values)
    document = collection(4)
    for model in document.values():
        model["model_dict"]["score_transform"] = {"p0": 10.0, "p1": 2.0, "enabled": True}
    result = load(save, document).predict(values)
    for key in ("vmaf_bagging", "vmaf_ci_p95_lo", "vmaf_ci_p95_hi", "vmaf_0002", "vmaf"):
        assert result[key][0] == pytest.approx(10 + 2 * plain[key][0], 1e-12)
    assert result["vmaf_stddev"][0] == pytest.approx(2 * plain["vmaf_stddev"][0], 1e-9)


def test_clipped_scores_have_no_deviation(save: Save) -> None:
    result = load(save, collection(4), "").predict(np.array([[0.9, 0.6]]))
    assert result["vmaf_bagging"][0] == result["vmaf_ci_p95_lo"][0] == result["vmaf_0001"][0] == 100.0
    assert result["vmaf_stddev"][0] == 0.0


def test_members_may_read_different_features(save: Save) -> None:
    document = collection(3)
    document["2"]["model_dict"]["feature_opts_dicts"] = [{}, {"vif_enhn_gain_limit": 2.0}]
    model = load(save, document)
    assert [dict(feature.options) for feature in model.features] == [
        {},
        {"vif_enhn_gain_limit": 1.0},
        {"vif_enhn_gain_limit": 2.0},
    ]
    result = model.predict(np.array([[0.2, 0.1, 0.7]]))
    alone = load(save, collection(3)).predict(np.array([[0.2, 0.7]]))
    assert result["vmaf_0002"] == alone["vmaf_0002"]
    assert result["vmaf_0001"] != alone["vmaf_0001"]


@pytest.mark.parametrize("kind", ["LIBSVMNUSVR", "RESIDUEBOOTSTRAP_LIBSVMNUSVR"])
def test_members_of_another_kind_are_refused(kind: str, save: Save) -> None:
    document = collection(3)
    document["2"]["model_dict"]["model_type"] = kind
    with pytest.raises(ModelError, match=r"2\.model_dict\.model_type"):
        load_model(save(document))


def test_a_bad_member_is_named(save: Save) -> None:
    document = collection(3)
    del document["2"]["model_dict"]["slopes"]
    with pytest.raises(ModelError, match=r"2\.model_dict\.slopes"):
        load_model(save(document))

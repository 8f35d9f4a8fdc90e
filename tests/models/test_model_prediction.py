"""Prediction: the arithmetic and its order, however many frames come at once; collections; features."""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import FeatureError, ModelError
from acuity.models import Model, ModelCollection, load_model
from acuity.models.model import ChromaCorrection, LinearRescale, ScoreClip, ScoreTransform
from acuity.models.svm import SupportVectorRegression, exponential
from small_model import SVM_TEXT, small_document

Save = Callable[..., str]


@given(st.floats(-750.0, 0.0))
def test_exp_is_nearly_correctly_rounded(x: float) -> None:
    result = exponential()(x)
    with localcontext() as context:
        context.prec = 60
        error = abs(Decimal(result) - Decimal(x).exp())
        assert error <= Decimal("0.51") * Decimal(math.ulp(result))


def test_exp_at_the_edges() -> None:
    values = [exponential()(x) for x in (0.0, -0.0, -1e-300, -746.0, -1e300, -math.inf, math.nan)]
    assert np.array_equal(values, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, np.nan], equal_nan=True)


def plain_decision(svm: SupportVectorRegression, node: list[float]) -> float:
    """libsvm's loops, one operation at a time."""
    total = 0.0
    for coefficient, vector in zip(
        svm.coefficients, zip(*[iter(svm.vectors)] * len(node), strict=True), strict=True
    ):
        distance = 0.0
        for x, y in zip(node, vector, strict=True):
            distance += (x - y) * (x - y)
        total += coefficient * exponential()(-svm.gamma * distance)
    return total - svm.rho


@given(seed=st.integers(0, 2**32 - 1), vectors=st.integers(1, 40), features=st.integers(1, 8))
def test_svm_sums_in_order(seed: int, vectors: int, features: int) -> None:
    random = np.random.default_rng(seed)
    gamma, rho = random.uniform(0, 2), random.normal()
    coefficients = random.normal(0, 10.0 ** random.integers(0, 12, vectors))  # sizes that make order matter
    places = array("d", random.random(vectors * features))
    svm = SupportVectorRegression(gamma, rho, array("d", coefficients), places)
    nodes = random.random((5, features))
    assert svm.predict(nodes.T) == [plain_decision(svm, node) for node in nodes.tolist()]


def test_batches_do_not_change_a_bit(document: dict[str, Any], save: Save) -> None:
    model = load_model(save(document))
    assert isinstance(model, Model)
    frames = 5000
    values = np.random.default_rng(1).random((frames, 2))
    values[5] = np.nan
    scores = model.predict(values)
    some = [0, 1, 5, frames // 2, frames - 1]
    assert np.array_equal(scores[some], [model.predict(values[i : i + 1])[0] for i in some], equal_nan=True)
    assert np.isnan(scores).sum() == 1
    assert np.array_equal(model.predict({0: values[:, 0], 1: values[:, 1]}), scores, equal_nan=True)
    assert np.array_equal(model.predict(np.asfortranarray(values)), scores, equal_nan=True)
    assert model.predict(values[:0]).shape == (0,)
    single = values.astype(np.float32)
    assert np.array_equal(
        model.predict({0: single[:, 0], 1: single[:, 1]}), model.predict(single), equal_nan=True
    )


def test_model_from_end_to_end(document: dict[str, Any], save: Save) -> None:
    path = save(document)
    adm, vif = 0.9, 0.6
    x, y = 2.5 * adm - 1.5, 1.25 * vif - 0.2
    kernels = [((x - a) ** 2 + (y - b) ** 2) for a, b in ((0.5, 0.125), (0.0, 0.75), (1.0, 0.3))]
    decision = 4 * math.exp(-0.5 * kernels[0]) - 1.5 * math.exp(-0.5 * kernels[1])
    decision += 2.25 * math.exp(-0.5 * kernels[2]) + 0.25
    raw = (decision + 0.3) / 0.01
    values = np.array([[adm, vif]])
    assert raw > 100
    assert load_model(path).outputs(values)["vmaf"] == [100.0]
    assert load_model(f"{path}:disable_clip:name=raw").outputs(values)["raw"] == pytest.approx([raw], 1e-14)
    transformed = 1.5 + 0.75 * raw + 0.001 * raw * raw
    expected = max(transformed, raw)
    given = load_model(f"{path}:disable_clip:enable_transform").outputs(values)["vmaf"]
    assert given == pytest.approx([expected], 1e-14)
    document["model_dict"]["score_transform"]["enabled"] = True
    assert load_model(save(document) + ":disable_clip").outputs(values)["vmaf"] == given


def test_knots_extend_the_outer_lines_and_keep_flat_parts() -> None:
    transform = ScoreTransform(knots=((0.0, 10.0), (50.0, 60.0), (70.0, 60.0), (80.0, 90.0)))
    x = np.array([-5.0, 0.0, 25.0, 50.0, 60.0, 70.0, 75.0, 80.0, 90.0, np.nan])
    y = transform.apply(x)
    assert np.array_equal(y, [5.0, 10.0, 35.0, 60.0, 60.0, 60.0, 75.0, 90.0, 120.0, np.nan], equal_nan=True)


def test_rectification_and_clip() -> None:
    x = np.array([-10.0, 20.0, 200.0, np.nan])
    np.testing.assert_array_equal(ScoreTransform(p1=0.5, out_gte_in=True).apply(x), [-5, 20, 200, np.nan])
    np.testing.assert_array_equal(ScoreTransform(p1=0.5, out_lte_in=True).apply(x), [-10, 10, 100, np.nan])
    np.testing.assert_array_equal(ScoreTransform().apply(x), x)
    np.testing.assert_array_equal(ScoreClip(0, 100).apply(x), [0, 20, 100, np.nan])


@pytest.mark.parametrize(
    "scaling",
    [
        LinearRescale(1.0, 0.0, (1.0, 1.0), (0.0, 0.0)),
        LinearRescale(1.0, 0.0, (4.0, 0.5), (-3.0, 0.25)),
    ],
)
def test_chroma_is_guessed_only_where_it_is_zero(scaling: LinearRescale) -> None:
    nodes = scaling.normalise([[0.75, 0.75, 1.0], [0.0, 3.0, 0.0]])
    ChromaCorrection(120.0, luma=0, chroma=1).apply(nodes, scaling)
    assert scaling.restore_feature(1, nodes[1]) == [30.0, 3.0, 0.0]
    assert scaling.restore_feature(0, nodes[0]) == [0.75, 0.75, 1.0]


KIND = "BOOTSTRAP_LIBSVMNUSVR"


def collection(count: int = 5) -> dict[str, Any]:
    """Models that differ in rho alone, so that their scores lie at known distances."""
    rhos = (f"rho {-0.25 - 0.001 * index * index}" for index in range(count))
    texts = (SVM_TEXT.replace("rho -0.25", rho) for rho in rhos)
    return {str(index): small_document(KIND, text) for index, text in enumerate(texts)}


def load(save: Save, document: dict[str, Any], options: str = ":disable_clip") -> ModelCollection:
    model = load_model(save(document) + options)
    assert isinstance(model, ModelCollection)
    return model


def test_statistics_of_the_members_without_the_base(save: Save) -> None:
    result = load(save, collection(5)).predict(np.array([[0.2, 0.1]]))
    scores = sorted(float(result[f"vmaf_000{index}"][0]) for index in range(1, 5))
    assert result["vmaf_bagging"][0] == pytest.approx(statistics.fmean(scores), 1e-12)
    assert result["vmaf_stddev"][0] == pytest.approx(statistics.pstdev(scores), 1e-9)
    assert result["vmaf_ci_p95_lo"][0] == pytest.approx(scores[0] * 0.925 + scores[1] * 0.075, 1e-12)
    assert result["vmaf_ci_p95_hi"][0] == pytest.approx(scores[2] * 0.075 + scores[3] * 0.925, 1e-12)


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


def test_override_of_an_extractor_that_is_not_used(document: dict[str, Any], save: Save) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(f"{save(document)}:motion.motion_force_zero=true")
    assert "motion.motion_force_zero" in str(caught.value)
    assert "adm, vif" in str(caught.value)


def test_an_extractor_is_listed_once_for_each_set_of_options(document: dict[str, Any], save: Save) -> None:
    dictionary = document["model_dict"]
    dictionary["feature_names"] = ["VMAF_integer_feature_vif_scale0_score"] * 2
    dictionary["feature_opts_dicts"] = [{"vif_enhn_gain_limit": 1}, {"vif_enhn_gain_limit": 1.0}]
    assert len(load_model(save(document)).extractors()) == 1
    dictionary["feature_opts_dicts"] = [{}, {"vif_enhn_gain_limit": 1.0}]
    assert len(load_model(save(document)).extractors()) == 2


def test_features_unknown_here_load_but_cannot_be_measured(document: dict[str, Any], save: Save) -> None:
    document["model_dict"]["feature_names"][0] = "VMAF_feature_magic_score"
    model = load_model(save(document))
    assert model.unknown_features() == ["VMAF_feature_magic_score"]
    for ask in (model.extractors, model.feature_keys):
        with pytest.raises(FeatureError, match="VMAF_feature_magic_score"):
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

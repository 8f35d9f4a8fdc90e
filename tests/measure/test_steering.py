"""Swapping models while frames are fed: from which frame each holds, and that its figures are its own."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.measure import Measurement, Segment, Swap
from acuity.models import Model
from moving_pictures import equal, measuring, pair
from steered import MODELS, AnyModel, Steps, check, model, steer, unsteered

FRAMES = 9
LABELS = {name: model(name).label for name in MODELS}


def swap(to: str, name: str = "vmaf", *, repredict: bool = False) -> Swapping:
    return Swapping(model(to), name, repredict)


class Swapping:
    """A step of steer() that remembers what it was answered."""

    def __init__(self, to: AnyModel, name: str, repredict: bool) -> None:
        self._what = to, name, repredict
        self.answer = Swap(-1, [], [])

    def __call__(self, measurement: Measurement) -> None:
        to, name, repredict = self._what
        self.answer = measurement.swap_model(name, to, repredict=repredict)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("boundary", range(FRAMES + 1))
def test_at_every_frame(boundary: int, threads: int) -> None:
    step = swap("neg")
    results = steer(FRAMES, {boundary: step}, "v0.6.1", threads=threads)
    assert step.answer.first == boundary
    assert step.answer.waits_for == []
    check(results, FRAMES)
    expected = [Segment("vmaf", LABELS["v0.6.1"], 0, boundary - 1)] if boundary else []
    if boundary < FRAMES:
        expected.append(Segment("vmaf", LABELS["neg"], boundary, FRAMES - 1))
    assert results.segments == expected
    assert results.model_labels == {"vmaf": expected[-1].label}


@pytest.mark.parametrize("before", MODELS)
@pytest.mark.parametrize("after", MODELS)
def test_from_any_to_any(before: str, after: str) -> None:
    for boundary in (1, 2, 3, 5):
        check(steer(8, {boundary: swap(after)}, before), 8)


# The model, the boundary at which it is swapped in for one without motion, and the frame it holds from.
@pytest.mark.parametrize(
    ("name", "boundary", "first"),
    [
        ("motion", 1, 1),
        ("motion", 6, 6),
        ("average", 1, 1),
        ("average", 2, 3),
        ("average", 6, 7),
        ("wide", 1, 1),
        ("wide", 2, 2),
        ("wide", 3, 4),
        ("wide", 6, 7),
        ("wide average", 2, 2),
        ("wide average", 3, 5),
        ("wide average", 6, 8),
        ("v0.6.1", 6, 6),
    ],
)
def test_motion_that_was_not_measured(name: str, boundary: int, first: int) -> None:
    step = swap(name)
    results = steer(12, {boundary: step}, "still")
    assert step.answer.first == first
    assert bool(step.answer.waits_for) == (first > boundary)
    assert all("motion" in key for key in step.answer.waits_for)
    assert set(step.answer.waits_for) <= set(step.answer.starts) <= set(model(name).feature_keys())
    assert [s.first for s in results.segments] == [0, first]
    check(results, 12)


def test_extractors_stop_when_nobody_needs_them() -> None:
    columns = steer(FRAMES, {4: swap("neg")}, "v0.6.1").columns
    for key, values in columns.items():
        there = np.flatnonzero(~np.isnan(values))
        if "motion" in key or key == "vmaf":
            assert there.tolist() == list(range(FRAMES))  # both need it
        else:
            assert there.tolist() == (list(range(4, FRAMES)) if "egl_1" in key else list(range(4)))
    # Motion runs on for one frame: the last frame before the change waits for it.
    columns = steer(FRAMES, {4: swap("still")}, "v0.6.1").columns
    for key, there in (("VMAF_integer_feature_motion_sad_score", 5), ("integer_motion2", 4)):
        assert np.flatnonzero(~np.isnan(columns[key])).tolist() == list(range(there))


def test_a_later_swap_takes_the_place_of_one_that_waits() -> None:
    def waver(measurement: Measurement) -> None:
        assert measurement.swap_model("vmaf", model("average")).first == 6
        assert measurement.swap_model("vmaf", model("wide average")).first == 7

    for steps, last in (
        ({5: swap("wide average"), 6: swap("neg")}, ("neg", 6)),
        ({5: waver}, ("wide average", 7)),
    ):
        results = steer(12, steps, "still")
        found = [(s.label, s.first) for s in results.segments]
        assert found == [(LABELS["still"], 0), (LABELS[last[0]], last[1])]
        check(results, 12)


def test_a_swap_that_comes_too_late_changes_nothing() -> None:
    for boundary in (FRAMES - 1, FRAMES):
        results = steer(FRAMES, {boundary: swap("wide average")}, "still")
        assert [s.label for s in results.segments] == [LABELS["still"]]
        np.testing.assert_array_equal(results.columns["vmaf"], unsteered("still", FRAMES).columns["vmaf"])
        assert not [key for key, values in results.columns.items() if np.isnan(values).all()]


def test_before_the_first_frame_it_is_as_if_never_added() -> None:
    step = swap("neg")
    results = steer(FRAMES, {0: step}, "v0.6.1")
    assert step.answer == Swap(0, [], [])
    assert equal(results, unsteered("neg", FRAMES))
    assert not results.steered


def test_a_model_that_takes_all_frames_leaves_a_trace() -> None:
    """Every frame is predicted again, because the features of both were measured."""
    with measuring("vmaf_v0.6.1", "vmaf_v0.6.1neg:name=neg", frames=4, threads=1) as measurement:
        measurement.swap_model("vmaf", "vmaf_v0.6.1neg", repredict=True)
        measurement.add(*pair(4))
        measurement.flush()
        results = measurement.results()
    np.testing.assert_array_equal(results.columns["vmaf"], results.columns["neg"])
    assert results.steered
    assert results.label("vmaf") == "vmaf_v0.6.1neg"
    assert results.steering() == "vmaf is vmaf_v0.6.1neg in frames 0 to 4, in place of vmaf_v0.6.1"


def test_to_a_collection_and_back() -> None:
    results = steer(FRAMES, {3: swap("bag"), 6: swap("v0.6.1")}, "v0.6.1")
    check(results, FRAMES)
    assert results.models[0] == "vmaf"
    assert {"vmaf_0001", "vmaf_bagging", "vmaf_ci_p95_hi"} < set(results.models)
    assert np.flatnonzero(~np.isnan(results.columns["vmaf_bagging"])).tolist() == [3, 4, 5]
    assert results.pool("vmaf_bagging") == results.pool("vmaf_bagging", first=3, last=5)


@pytest.mark.parametrize("threads", [1, 3])
def test_subsampling_changes_from_the_next_frame_on(threads: int) -> None:
    thinned: Steps = {4: lambda m: m.set_subsample(3), 11: lambda m: m.set_subsample(2)}
    steps: Steps = {**thinned, 7: swap("neg"), 13: swap("wide average")}
    results = steer(18, steps, "v0.6.1", threads=threads)
    assert results.frames == [0, 1, 2, 3, 6, 9, 12, 14, 16]
    assert results.steps == [(0, 1), (4, 3), (11, 2)]
    assert results.steered
    check(results, 18)


def test_frames_are_predicted_once_by_the_model_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    predicted: list[tuple[str, int]] = []
    predict = Model.outputs

    def count(self: Model, columns: dict[int, list[float]]) -> dict[str, list[float]]:
        predicted.append((self.label, len(columns[0])))
        return predict(self, columns)

    monkeypatch.setattr(Model, "outputs", count)
    steps: Steps = {2: swap("v0.6.1"), 6: lambda m: m.set_subsample(2)}
    steer(FRAMES, steps, "still", features=("vif", "adm", "motion"))
    assert predicted == [(LABELS["still"], 2), (LABELS["v0.6.1"], 6)]  # frames 2 to 6 and 8


def test_repredicting_takes_what_features_allow() -> None:
    kept = steer(FRAMES, {5: swap("still", repredict=True)}, "v0.6.1")
    np.testing.assert_array_equal(kept.columns["vmaf"], unsteered("still", FRAMES).columns["vmaf"])
    lost = steer(FRAMES, {5: swap("neg", repredict=True)}, "v0.6.1")
    assert [s.first for s in lost.segments] == [0, 5]
    # Measured, not measured, measured: frame 3 waits for motion of frame 4, which both models use.
    steps = {4: swap("still"), 7: swap("v0.6.1", repredict=True)}
    between = steer(FRAMES, steps, "v0.6.1", features=("adm",))
    held = [(LABELS["v0.6.1"], 0), (LABELS["still"], 4), (LABELS["v0.6.1"], 7)]
    assert [(s.label, s.first) for s in between.segments] == held
    for results in (kept, lost, between):
        check(results, FRAMES)


def test_figures_of_another_kind_under_the_same_name_are_not_taken() -> None:
    results = steer(FRAMES, {5: swap("aim", repredict=True)}, "no aim", features=("vif",))
    assert [s.first for s in results.segments] == [0, 5]
    check(results, FRAMES)


def test_repredicted_scores_are_not_overtaken_by_old_ones() -> None:
    """What was read before is kept for the model it belongs to, and not for the frame."""
    with measuring(model("v0.6.1"), threads=1, frames=4) as measurement:
        assert measurement._scheduler is not None
        measurement._scheduler.drain()
        before = measurement.score_at(1)
        measurement.swap_model("vmaf", model("still"), repredict=True)
        assert measurement.score_at(1) == unsteered("still", 4).columns["vmaf"][1] != before
        measurement.swap_model("vmaf", model("v0.6.1"), repredict=True)
        assert measurement.score_at(1) == before
        assert measurement.repredictions == 2

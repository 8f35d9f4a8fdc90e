"""Scores as they come: whoever asks late, or after frames were given to another model, gets the same."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from acuity.agents.embedded.live.scores import Scores
from acuity.errors import NotReady, ScoreError
from acuity.measure import BoundarySnapshot, Measurement, Results
from acuity.measure.pooling import POOLS
from live_ground import MODEL, NEG
from moving_pictures import measure, pair
from small_model import OVERFLOWING, small_document

FRAMES = 90


def reading(measurement: Any) -> Scores:
    live: Any = SimpleNamespace(measurement=measurement, revision=math.nan)  # never what it was
    return Scores(live)


def _all(results: Results) -> dict[str, Any]:
    whole = {"first": results.frames[0], "last": results.frames[-1], "frames": len(results.frames)}
    return whole | results.pooled()["vmaf"]


@pytest.mark.parametrize("ask_at", [[FRAMES], [1, 2, 3, FRAMES], list(range(1, FRAMES + 1))])
@pytest.mark.parametrize("subsample", [1, 3])
def test_it_does_not_matter_when_one_asks(ask_at: list[int], subsample: int) -> None:
    whole = measure(FRAMES, MODEL, threads=3, subsample=subsample)
    with Measurement(threads=3, subsample=subsample) as measurement:
        measurement.add_model(MODEL)
        scores = reading(measurement)
        assert scores.headline() is None
        for index in range(FRAMES):
            measurement.add(*pair(index))
            if index + 1 in ask_at:
                rows, _ = scores.since("vmaf", 0)
                assert [row["frame"] for row in rows] == whole.frames[: len(rows)]
                assert [row["score"] for row in rows] == whole.columns["vmaf"][: len(rows)].tolist()
        measurement.flush()
        assert scores.newest()["aggregate"] == _all(whole)


def test_frames_given_to_another_model_are_taken_again() -> None:
    neg = measure(FRAMES, NEG)
    with Measurement(threads=1) as measurement:
        measurement.add_model(MODEL)
        measurement.add_model(f"version={NEG}:name=other")
        scores = reading(measurement)
        for index in range(FRAMES):
            measurement.add(*pair(index))
            if index == 70:
                scores.headline()
                measurement.swap_model("vmaf", NEG, repredict=True)
        measurement.flush()
        assert np.array_equal([row["score"] for row in scores.since("vmaf", 0)[0]], neg.columns["vmaf"])
        assert scores.newest()["aggregate"] == _all(neg)


class Given:
    """Looks like a measurement that gave these scores."""

    repredictions = 0
    segments = ()
    models = (SimpleNamespace(name="vmaf"),)

    def __init__(self, *scores: float) -> None:
        self._scores = scores
        self.frames = len(scores)

    def snapshot(self) -> BoundarySnapshot:
        return BoundarySnapshot(self.frames, self.frames, self.frames - 1)

    def next_counted(self, frame: int) -> int:
        return frame

    def predict_known(self, _: int) -> None:
        pass

    def score_at(self, frame: int, _: str) -> float:
        if math.isnan(self._scores[frame]):
            raise ScoreError("the picture is of one colour, which the model can't judge")
        return self._scores[frame]


def test_a_score_of_minus_one_pools_as_in_the_report() -> None:
    """Unclipped scores may be anything; one of exactly -1 makes the harmonic mean's sum infinite."""
    found = reading(Given(50.0, -1.0, 20.0)).newest()["aggregate"]
    expected = {name: function(np.array([50.0, -1.0, 20.0])) for name, function in POOLS.items()}
    assert found == {"first": 0, "last": 2, "frames": 3} | expected
    assert math.isclose(expected["harmonic_mean"], -1.0)


def test_frames_that_a_model_cannot_judge_are_passed_over() -> None:
    scores = reading(Given(50.0, math.nan, 20.0, math.nan))
    assert [row["frame"] for row in scores.since("vmaf", 0)[0]] == [0, 2]
    assert scores.newest()["aggregate"]["mean"] == 35.0


def test_scores_that_are_no_number_are_not_taken(tmp_path: Path) -> None:
    """Whoever asks the measurement for one is told; whoever only follows it is not disturbed."""
    model = tmp_path / "overflowing.json"
    model.write_text(json.dumps(small_document(svm=OVERFLOWING)))
    with Measurement(threads=1) as measurement:
        measurement.add_model(f"path={model}")
        scores = reading(measurement)
        for index in range(3):
            measurement.add(*pair(index))
            assert scores.headline() is None
        measurement.flush()
        with pytest.raises(NotReady):
            scores.newest()
        with pytest.raises(ScoreError, match=r"frame 1 by .* is not a number"):
            measurement.score_at(1)

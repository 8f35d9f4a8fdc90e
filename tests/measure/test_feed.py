"""Feeding a stream of pairs: all of it, with progress, and a running mean only for those who want it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from acuity.measure.feed import feed
from acuity.models import Model
from acuity.video.picture import Picture
from moving_pictures import measuring, pair

Told = tuple[int, int | None, float | None]


def pairs(count: int = 9) -> Iterator[tuple[Picture, Picture]]:
    return (pair(index) for index in range(count))


@pytest.fixture
def predictions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many frames each prediction was about."""
    sizes: list[int] = []
    predict = Model.outputs

    def count(self: Model, columns: dict[int, Sequence[float]]) -> dict[str, list[float]]:
        sizes.append(len(columns[0]))
        return predict(self, columns)

    monkeypatch.setattr(Model, "outputs", count)
    return sizes


@pytest.mark.parametrize("subsample", [1, 4])
def test_progress_ends_with_the_mean_of_all(subsample: int) -> None:
    told: list[Told] = []
    with measuring("vmaf_v0.6.1", threads=2, subsample=subsample) as measurement:
        feed(measurement, pairs(), total=9, progress=lambda *state: told.append(state))
        results = measurement.results()
    assert len(told) == 10
    done = [frames for frames, _, _ in told]
    assert done == sorted(done)
    assert done[-1] == 9
    assert {total for _, total, _ in told} == {9}
    assert told[-1][2] == pytest.approx(results.pool())
    means = [mean for _, _, mean in told if mean is not None]
    assert all(results.pool(method="min") <= mean <= results.pool(method="max") for mean in means)


def test_the_running_mean_changes_no_digit(predictions: list[int]) -> None:
    found = []
    for running_mean in (True, False):
        predictions.clear()
        with measuring("vmaf_v0.6.1", threads=2) as measurement:
            feed(measurement, pairs(), progress=lambda *_: None, running_mean=running_mean)
            found.append(measurement.results().columns["vmaf"])
        assert predictions == ([1] * 9 if running_mean else [9])
    np.testing.assert_array_equal(*found)


def test_told_rarely_frames_are_predicted_together(predictions: list[int]) -> None:
    told: list[Told] = []
    with measuring("vmaf_v0.6.1", threads=2) as measurement:
        feed(measurement, pairs(), total=9, progress=lambda *state: told.append(state), every=3600.0)
        assert measurement.results().pool() == pytest.approx(told[-1][2])
    assert [frames for frames, _, _ in told][1:] == [9]  # the first frame, and the end
    assert sum(predictions) == 9
    assert len(predictions) <= 2


def test_it_says_whether_the_pairs_came_to_their_end() -> None:
    def until(last: int) -> Iterator[tuple[Picture, Picture]]:
        yield from pairs(last)
        assert measurement.interrupt()  # while the end, or the next pair, is being read
        yield from pairs(9 - last)

    for last, ended in ((4, False), (9, True)):
        with measuring(features=("psnr",), threads=2) as measurement:
            assert feed(measurement, until(last)) is ended
            assert measurement.results().frames == list(range(last))

"""Clips made on the spot: always the same, moving, cheap in memory, and the same as files."""

from __future__ import annotations

import io

import numpy as np
import pytest

from acuity.jobs.tasks.engines import Clip, GreyClip
from acuity.measure import Measurement
from acuity.measure.feed import feed


def test_a_clip_is_the_same_every_time_and_moves() -> None:
    for index in (0, 7, 100_000):
        for once, again in zip(Clip(70, 52, 9).pair(index), Clip(70, 52, 9).pair(index), strict=True):
            assert np.array_equal(once.luma, again.luma)
            assert once.luma.shape == (52, 70)
    pairs = list(Clip(70, 52, 9).pairs())
    assert len(pairs) == 9
    assert not np.array_equal(pairs[3][0].luma, pairs[4][0].luma)
    assert not np.array_equal(pairs[3][0].luma, pairs[3][1].luma)


def test_frames_are_views_however_many_there_are() -> None:
    clip = Clip(64, 48, 10_000)
    bases = {id(picture.luma.base) for pair in clip.pairs(500) for picture in pair}
    assert len(bases) <= 4  # the texture and its worse copies


def test_scores_tell_frames_apart() -> None:
    with Measurement(threads=1) as measurement:
        measurement.add_model("vmaf_v0.6.1")
        feed(measurement, Clip(96, 64, 6).pairs())
        scores = measurement.results().columns["vmaf"]
    assert scores.min() > 10
    assert scores.max() < 99
    assert scores.std() > 1


@pytest.mark.parametrize(("width", "height"), [(64, 48), (65, 49)])
def test_as_files_for_other_programs(width: int, height: int) -> None:
    clip, reference, distorted = Clip(width, height, 5), io.BytesIO(), io.BytesIO()
    clip.write(reference, distorted, 3)
    chroma = ((width + 1) // 2) * ((height + 1) // 2)
    assert clip.raw_bytes == width * height + 2 * chroma
    assert len(reference.getvalue()) == len(distorted.getvalue()) == 3 * clip.raw_bytes
    second = np.frombuffer(distorted.getvalue(), np.uint8)[clip.raw_bytes : 2 * clip.raw_bytes]
    assert np.array_equal(second[: width * height].reshape(height, width), clip.pair(1)[1].luma)
    assert set(second[width * height :]) == {128}


def test_grey_is_grey() -> None:
    reference, distorted = GreyClip(64, 64, 1).pair(0)
    assert set(reference.luma.ravel()) == set(distorted.luma.ravel()) == {128}

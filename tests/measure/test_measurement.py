"""Measurement: what a host sees when it feeds pictures and asks for figures."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.errors import FeatureError, NoFramesError, NotReady
from moving_pictures import HEIGHT, WIDTH, equal, measure, measuring, pair

V061 = "vmaf_v0.6.1"
NEG = "version=vmaf_v0.6.1neg:name=neg"


def test_output_does_not_depend_on_threads_or_instruction_set(instruction_set: str) -> None:
    features = ("motion=motion_five_frame_window=true:motion_moving_average=true", "vif=debug=true")
    expected = measure(9, V061, NEG, features=features, threads=1, instruction_set="plain")
    for threads in (1, 2, 5):
        found = measure(9, V061, NEG, features=features, threads=threads, instruction_set=instruction_set)
        assert equal(found, expected)


def test_columns_are_in_report_order() -> None:
    results = measure(3, V061, features=("motion=debug=true:motion_force_zero=true",))
    adm = ["adm2", "aim", "adm3", "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3"]
    assert list(results.columns) == [
        *(f"integer_{name}" for name in adm),
        "VMAF_integer_feature_motion_sad_score",
        *(f"integer_vif_scale{scale}" for scale in range(4)),
        "VMAF_integer_feature_motion_sad_score_force_0",
        "integer_motion_force_0",
        "integer_motion2",
        "integer_motion3",
        "integer_motion2_force_0",
        "integer_motion3_force_0",
        "vmaf",
    ]
    assert results.models == ["vmaf"]
    assert results.model_labels == {"vmaf": V061}
    assert (results.width, results.height) == (WIDTH, HEIGHT)
    assert results.fps > 0


def test_scores_are_known_as_soon_as_their_inputs_are() -> None:
    with measuring(V061, threads=1) as measurement:
        with pytest.raises(NotReady):
            measurement.score_at(0)
        for index in range(4):
            measurement.add(*pair(index))
        with pytest.raises(NotReady, match="frame 3 has no vmaf yet: feed more frames or flush"):
            measurement.score_at(3)
        assert measurement._scheduler is not None
        measurement._scheduler.drain()
        assert measurement.snapshot().frames_done == 4
        early = [measurement.score_at(index) for index in range(3)]
        assert measurement.feature_at(2, "integer_motion2") >= 0
        with pytest.raises(NotReady):
            measurement.score_at(3)  # its motion needs the next frame
        measurement.flush()
        last = measurement.score_at(3)
        assert measurement.feature_at(3, "vmaf") == last
        np.testing.assert_array_equal(measurement.results().columns["vmaf"], [*early, last])
        with pytest.raises(NotReady, match="frame 4 has no vmaf: 4 frames were measured"):
            measurement.score_at(4)


def test_subsampling_skips_frames_but_sees_all_motion() -> None:
    every = measure(10, V061)
    third = measure(10, V061, subsample=3)
    assert third.frames == [0, 3, 6, 9]
    for key, values in every.columns.items():
        np.testing.assert_array_equal(third.columns[key], values[::3])


def test_subsampled_frames_have_no_score() -> None:
    with measuring(V061, frames=4, subsample=2) as measurement:
        measurement.flush()
        assert measurement.score_at(2) > 0
        with pytest.raises(NotReady, match="one frame in 2 is measured"):
            measurement.score_at(1)
        with pytest.raises(NotReady, match="one frame in 2 is measured"):
            measurement.feature_at(1, "integer_vif_scale0")


def test_pooling() -> None:
    with measuring(V061, frames=5) as measurement:
        measurement.flush()
        scores = measurement.results().columns["vmaf"]
        assert measurement.pool() == pytest.approx(scores.mean())
        assert measurement.pool(method="min") == scores.min()
        assert measurement.pool("vmaf", "max", first=1, last=3) == scores[1:4].max()
        assert measurement.pool("integer_adm2", "p50") == np.median(
            measurement.results().columns["integer_adm2"]
        )
        with pytest.raises(FeatureError, match="nothing named 'psnr' was measured"):
            measurement.pool("psnr")
        with pytest.raises(NoFramesError):
            measurement.pool(first=77)
        assert measurement.results().worst(1) == [(int(scores.argmin()), scores.min())]

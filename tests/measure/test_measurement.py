"""Measurement: what a host sees when it feeds pictures and asks for figures."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from acuity.errors import (
    BackendError,
    ClosedError,
    FeatureError,
    InputError,
    NoFramesError,
    NotReady,
    PairingError,
)
from acuity.measure import Measurement, Results, available_threads
from acuity.models import load_model
from acuity.video.picture import Picture, PixelFormat
from moving_pictures import HEIGHT, WIDTH, luma, pair

V061 = "vmaf_v0.6.1"
NEG = "version=vmaf_v0.6.1neg:name=neg"


def measure(frames: int, *models: str, features: tuple[str, ...] = (), **options: Any) -> Results:
    with Measurement(**options) as measurement:
        for model in models:
            measurement.add_model(model)
        for feature in features:
            measurement.add_feature(feature)
        for index in range(frames):
            assert measurement.add(*pair(index)) == index
        measurement.flush()
        return measurement.results()


def equal(a: Results, b: Results) -> bool:
    same = list(a.columns) == list(b.columns) and a.frames == b.frames
    return same and all(np.array_equal(a.columns[key], b.columns[key], equal_nan=True) for key in a.columns)


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


def test_models_share_features() -> None:
    alone = measure(4, V061)
    both = measure(4, V061, NEG)
    for key, values in alone.columns.items():
        np.testing.assert_array_equal(both.columns[key], values)
    assert "integer_vif_scale0_egl_1" in both.columns
    assert both.models == ["vmaf", "neg"]


def test_the_same_extractor_twice_is_computed_once() -> None:
    results = measure(2, V061, features=("vif", "vif=debug=true", "adm"))
    assert list(results.columns).count("integer_vif_scale0") == 1
    assert "integer_vif_num_scale3" in results.columns


def test_scores_are_known_as_soon_as_their_inputs_are() -> None:
    with Measurement(threads=1) as measurement:
        measurement.add_model(V061)
        with pytest.raises(NotReady):
            measurement.score_at(0)
        for index in range(4):
            measurement.add(*pair(index))
        with pytest.raises(NotReady, match="frame 3 has no vmaf yet: feed more frames or flush"):
            measurement.score_at(3)
        wait_for_frames(measurement, 4)
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


def wait_for_frames(measurement: Measurement, count: int) -> None:
    scheduler = measurement._scheduler
    assert scheduler is not None
    scheduler.drain()
    assert measurement.snapshot().frames_done == count


def test_one_by_one_equals_all_at_once() -> None:
    with Measurement() as measurement:
        measurement.add_model("path=" + str(load_model(V061).path) + ":name=a")
        measurement.add_model(NEG)
        for index in range(6):
            measurement.add(*pair(index))
        measurement.flush()
        singles = [measurement.score_at(index, "neg") for index in range(6)]
        np.testing.assert_array_equal(measurement.results().columns["neg"], singles)
    np.testing.assert_array_equal(measure(6, NEG).columns["neg"], singles)


def test_subsampling_skips_frames_but_sees_all_motion() -> None:
    every = measure(10, V061)
    third = measure(10, V061, subsample=3)
    assert third.frames == [0, 3, 6, 9]
    for key, values in every.columns.items():
        np.testing.assert_array_equal(third.columns[key], values[::3])


def test_subsampled_frames_have_no_score() -> None:
    with Measurement(subsample=2) as measurement:
        measurement.add_model(V061)
        for index in range(4):
            measurement.add(*pair(index))
        measurement.flush()
        assert measurement.score_at(2) > 0
        with pytest.raises(NotReady, match="one frame in 2 is measured"):
            measurement.score_at(1)


def test_frames_without_work_are_counted() -> None:
    with Measurement(subsample=4) as measurement:
        measurement.add_feature("vif")
        for index in range(6):
            measurement.add(*pair(index))
        measurement.flush()
        assert measurement.snapshot().frames_done == 6
        assert measurement.results().frames == [0, 4]


def test_pooling() -> None:
    with Measurement() as measurement:
        measurement.add_model(V061)
        for index in range(5):
            measurement.add(*pair(index))
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


# ---- input -----------------------------------------------------------------------------------


def test_arrays_are_copied_and_pictures_are_not() -> None:
    expected = measure(3, V061)
    ref, dis = np.empty((HEIGHT, WIDTH), np.uint8), np.empty((HEIGHT, WIDTH), np.uint8)
    with Measurement(threads=2) as measurement:
        measurement.add_model(V061)
        for index in range(3):
            ref[:], dis[:] = luma(index), luma(index, worse=True)
            measurement.add(ref, dis)
        ref[:] = dis[:] = 0
        measurement.flush()
        assert equal(measurement.results(), expected)


def test_arrays_may_be_strided_and_have_chroma() -> None:
    chroma = np.zeros((HEIGHT // 2, WIDTH // 2), np.uint8)
    with Measurement() as measurement:
        measurement.add_model(V061)
        for index in range(3):
            ref = np.repeat(luma(index), 2, axis=1)[:, ::2]
            measurement.add((ref, chroma, chroma), (luma(index, worse=True), chroma, chroma))  # type: ignore[arg-type]
        measurement.flush()
        assert equal(measurement.results(), measure(3, V061))


def test_deep_arrays_say_their_depth() -> None:
    with Measurement() as measurement:
        measurement.add_feature("vif")
        with pytest.raises(InputError, match="pass bitdepth="):
            measurement.add(luma(0, depth=10), luma(0, depth=10, worse=True))
        measurement.add(luma(0, depth=10), luma(0, depth=10, worse=True), bitdepth=10)
        measurement.flush()
        found = measurement.results()
    with Measurement() as measurement:
        measurement.add_feature("vif")
        measurement.add(*pair(0, depth=10))
        measurement.flush()
        assert equal(measurement.results(), found)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((52, 70), np.float32), "must be uint8 or uint16 arrays, and these are float32"),
        (np.zeros((52, 70, 3), np.uint8), "rows and columns"),
        ((np.zeros((52, 70), np.uint8), np.zeros((5, 5), np.uint8)), "are no 400, 420, 422 or 444 picture"),
    ],
)
def test_wrong_arrays_are_explained(array: Any, message: str) -> None:
    with Measurement() as measurement:
        measurement.add_feature("vif")
        with pytest.raises(InputError, match=message):
            measurement.add(array, array)


def test_pictures_that_do_not_fit_are_explained() -> None:
    small = np.zeros((40, 40), np.uint8)
    with Measurement() as measurement:
        measurement.add_feature("vif")
        with pytest.raises(
            PairingError, match="the reference is 70x52 at 8 bits and the distorted picture 40x40"
        ):
            measurement.add(luma(0), small)
        measurement.add(luma(0), luma(0))
        with pytest.raises(InputError, match="frame 1 is 40x40 at 8 bits, but the video was 70x52"):
            measurement.add(small, small)


def test_samples_deeper_than_said_are_refused() -> None:
    good, bad = luma(0, depth=10), luma(0, depth=10)
    bad[HEIGHT - 1, WIDTH - 1] = 1024
    with Measurement() as measurement:
        measurement.add_feature("motion")
        measurement.add(good, good, bitdepth=10)
        measurement.add(good, bad, bitdepth=10)
        with pytest.raises(
            InputError, match="frame 1 of the distorted video has the sample 1024, and 10 bits"
        ):
            measurement.flush()


@pytest.mark.parametrize(("model", "side"), [(V061, 16), (V061, 15)])
def test_sizes_without_an_answer_are_refused_with_the_reason(model: str, side: int) -> None:
    tiny = np.zeros((side, 64), np.uint8)
    with Measurement() as measurement:
        measurement.add_model(model)
        with pytest.raises(
            FeatureError, match="adm needs pictures of at least 17x17 samples, because its coarsest"
        ):
            measurement.add(tiny, tiny)


# ---- life ------------------------------------------------------------------------------------


def test_nothing_to_measure_is_refused() -> None:
    with Measurement() as measurement, pytest.raises(FeatureError, match="add a model or a feature first"):
        measurement.add(*pair(0))


def test_two_models_of_one_name_are_refused() -> None:
    with Measurement() as measurement:
        measurement.add_model(V061)
        with pytest.raises(FeatureError, match="both be reported as 'vmaf': give one of them a name"):
            measurement.add_model("vmaf_v0.6.1neg")


def test_models_come_before_frames() -> None:
    with Measurement() as measurement:
        measurement.add_feature("vif")
        measurement.add(*pair(0))
        with pytest.raises(ClosedError, match="before the first frame"):
            measurement.add_model(V061)


def test_flushed_and_closed_measurements_take_no_frames() -> None:
    measurement = Measurement()
    measurement.add_feature("vif")
    measurement.add(*pair(0))
    measurement.flush()
    with pytest.raises(ClosedError, match="was flushed"):
        measurement.add(*pair(1))
    with pytest.raises(ClosedError, match="was flushed"):
        measurement.flush()
    measurement.close()
    measurement.close()
    assert measurement.feature_at(0, "integer_vif_scale0") > 0


def test_no_frames_no_results() -> None:
    with Measurement() as measurement:
        measurement.add_model(V061)
        measurement.flush()
        with pytest.raises(NoFramesError, match="no frame was measured"):
            measurement.results()


def test_unknown_scores_and_features_are_explained() -> None:
    with Measurement() as measurement:
        measurement.add_feature("motion")
        with pytest.raises(FeatureError, match="no model was added"):
            measurement.score_at(0)
        measurement.add_model(V061)
        with pytest.raises(FeatureError, match="no model is reported as 'neg': there are vmaf"):
            measurement.score_at(0, "neg")
        with pytest.raises(FeatureError, match="nothing named 'psnr_y' is measured"):
            measurement.feature_at(0, "psnr_y")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"subsample": 0}, InputError),
        ({"threads": -1}, InputError),
        ({"instruction_set": "mmx"}, BackendError),
    ],
)
def test_wrong_settings_are_refused_at_once(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Measurement(**options)


def test_all_cores_by_default() -> None:
    with Measurement() as measurement:
        assert measurement.threads == available_threads() == len(os.sched_getaffinity(0))
    with Measurement(threads=0) as measurement:
        assert measurement.threads == available_threads()


def worker_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("acuity-worker")]


def test_threads_end_with_the_measurement() -> None:
    assert not worker_threads()
    with Measurement(threads=3) as measurement:
        measurement.add_feature("vif")
        measurement.add(*pair(0))
        assert len(worker_threads()) == 3
    assert not worker_threads()


def test_a_forgotten_measurement_ends_its_threads() -> None:
    measurement = Measurement(threads=2)
    measurement.add_feature("vif")
    measurement.add(*pair(0))
    del measurement
    gc.collect()
    assert not worker_threads()


def test_pictures_are_let_go() -> None:
    """Memory must not grow with the clip: only pictures under way and those looked back at are kept."""
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    most = 0

    class Tracked(Picture):
        __slots__ = ("__weakref__",)
        __hash__ = object.__hash__
        __eq__ = object.__eq__

    with Measurement(threads=2) as measurement:
        measurement.add_feature("motion=motion_five_frame_window=true")
        measurement.add_feature("vif")
        for index in range(30):
            ref, dis = (Tracked(p.planes, p.format) for p in pair(index))
            alive.update((ref, dis))
            measurement.add(ref, dis)
            del ref, dis
            most = max(most, len(alive))
        measurement.flush()
        assert not alive
    # Two frames with each of two workers, one waiting, two looked back at by each, and the one just fed.
    assert most <= 14


def test_an_error_in_a_worker_reaches_the_feeder() -> None:
    broken = Picture((np.zeros((HEIGHT, WIDTH), np.uint8).T.copy().T,), PixelFormat("400", 8))
    with Measurement(threads=2) as measurement:
        measurement.add_feature("vif")
        with pytest.raises(ValueError, match="contiguous"):
            for _ in range(10):
                measurement.add(broken, broken)
            measurement.flush()
    assert not worker_threads()

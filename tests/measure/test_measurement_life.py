"""A measurement from its first model to the end of its threads."""

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
)
from acuity.measure import Measurement, available_threads
from acuity.video.picture import Picture, PixelFormat
from moving_pictures import HEIGHT, WIDTH, pair

V061 = "vmaf_v0.6.1"
NEG = "version=vmaf_v0.6.1neg:name=neg"


def test_nothing_to_measure_is_refused() -> None:
    with Measurement() as measurement, pytest.raises(FeatureError, match="add a model or a feature first"):
        measurement.add(*pair(0))


def test_two_models_of_one_name_are_refused() -> None:
    with Measurement() as measurement:
        measurement.add_model(V061)
        with pytest.raises(FeatureError, match=r"both be reported as 'vmaf': .* :name=LABEL"):
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
        ({"threads": 5000}, InputError),
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

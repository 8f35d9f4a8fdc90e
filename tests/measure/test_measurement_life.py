"""A measurement from its first model to the end of its threads."""

from __future__ import annotations

import gc
import os
import select
import signal
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from acuity.errors import BackendError, ClosedError, FeatureError, FeedingError, InputError, NoFramesError
from acuity.measure import Measurement, available_threads
from acuity.video.picture import Picture, PixelFormat
from moving_pictures import HEIGHT, WIDTH, measuring, pair

V061 = "vmaf_v0.6.1"


def test_nothing_to_measure_is_refused() -> None:
    with Measurement() as measurement, pytest.raises(FeatureError, match="add a model or a feature first"):
        measurement.add(*pair(0))


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(FeatureError, match=r"both be reported as 'vmaf': .* :name=LABEL"):
        measuring(V061, "vmaf_v0.6.1neg")


def test_flushed_and_closed_measurements_take_no_frames() -> None:
    measurement = measuring(features=("vif",), frames=1)
    measurement.flush()
    with pytest.raises(ClosedError, match="was flushed"):
        measurement.add(*pair(1))
    with pytest.raises(ClosedError, match="was flushed"):
        measurement.flush()
    measurement.close()
    measurement.close()
    assert measurement.feature_at(0, "integer_vif_scale0") > 0


def test_no_frames_no_results() -> None:
    with measuring(V061) as measurement:
        measurement.flush()
        with pytest.raises(NoFramesError, match="no frame was measured"):
            measurement.results()


def test_unknown_scores_and_features_are_explained() -> None:
    with measuring(features=("motion",)) as measurement:
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
    with measuring(features=("vif",), frames=1, threads=3):
        assert len(worker_threads()) == 3
    assert not worker_threads()


def test_a_forgotten_measurement_ends_its_threads() -> None:
    measurement = measuring(features=("vif",), frames=1, threads=2)
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

    with measuring(features=("motion=motion_five_frame_window=true", "vif"), threads=2) as measurement:
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
    with (
        measuring(features=("vif",), threads=2) as measurement,
        pytest.raises(ValueError, match="contiguous"),
    ):
        for _ in range(10):
            measurement.add(broken, broken)
        measurement.flush()
    assert not worker_threads()


def _in_a_child(action: Callable[[], object]) -> str:
    """What a process that is forked now makes of the action: the name and text of its error, or 'done'."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
            text = "done"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write_end, text.encode())
        os._exit(0)
    os.close(write_end)
    try:
        ready, _, _ = select.select([read_end], [], [], 30)
        if not ready:
            os.kill(child, signal.SIGKILL)
        return os.read(read_end, 1000).decode() if ready else "hangs"
    finally:
        os.waitpid(child, 0)
        os.close(read_end)


@pytest.mark.parametrize(
    "what", ["add", "flush", "score_at", "feature_at", "results", "pool", "swap_model", "stop_after"]
)
def test_a_forked_process_is_refused_its_parents_measurement(what: str) -> None:
    with measuring(V061, frames=3, threads=2) as measurement:
        arguments: dict[str, tuple[Any, ...]] = {"add": pair(3), "score_at": (0,), "stop_after": (9,)}
        arguments |= {"feature_at": (0, "integer_adm2"), "swap_model": ("vmaf", "vmaf_v0.6.1neg")}
        found = _in_a_child(lambda: getattr(measurement, what)(*arguments.get(what, ())))
        assert found.startswith("ClosedError: the measurement belongs to the process that made it")
        measurement.flush()
        assert measurement.frames == 3  # the parent's goes on


def test_a_forked_process_may_close_it_and_make_its_own() -> None:
    def make_another() -> None:
        measurement.close()
        with measuring(features=("psnr",), frames=1, threads=1) as own:
            own.flush()
            assert own.feature_at(0, "psnr_y") > 0

    with measuring(V061, frames=1, threads=2) as measurement:
        assert _in_a_child(make_another) == "done"


def test_two_threads_that_feed_are_noticed() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait(_: object) -> None:
        inside.set()
        assert go_on.wait(30)

    with measuring(features=("psnr",), threads=1) as measurement:
        stop_listening = measurement.boundary.on_frame(wait)
        other = threading.Thread(target=measurement.add, args=pair(0))
        other.start()
        try:
            assert inside.wait(30)
            with pytest.raises(FeedingError, match="feed from one thread"):
                measurement.add(*pair(1))
        finally:
            go_on.set()
            other.join()
        stop_listening()
        assert measurement.add(*pair(1)) == 1  # one after the other, from any thread


@pytest.mark.parametrize("name", ["psnr_y", "integer_adm2", "integer_motion2", "frameNum", "Frame"])
def test_a_model_labelled_like_a_column_is_refused(name: str) -> None:
    with pytest.raises(FeatureError, match=f"reported as '{name}', which is the"):
        measuring(f"version={V061}:name={name}")


def test_a_model_that_is_swapped_in_brings_no_clash() -> None:
    limited = "integer_vif_scale0_egl_1"
    with measuring(V061, f"version={V061}:name={limited}") as measurement:
        measurement.add(*pair(0))
        with pytest.raises(FeatureError, match=f"a model is reported as '{limited}'"):
            measurement.swap_model("vmaf", "vmaf_v0.6.1neg")
        measurement.add(*pair(1))
        measurement.flush()
        assert [segment.label for segment in measurement.segments] == [V061, V061]

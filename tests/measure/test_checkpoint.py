"""Going on from a checkpoint gives the figures of an uninterrupted measurement, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity.errors import ResumeError
from acuity.features import EXTRACTORS
from acuity.measure import Measurement, Results
from acuity.measure.checkpoint import Checkpoint
from acuity.video.picture import Picture, PixelFormat
from moving_pictures import luma, measuring
from steered import model

FRAMES = 7
# Every extractor, and those that look back or ahead with the options that make them do it differently.
FEATURES = (
    *EXTRACTORS,
    "motion=motion_five_frame_window=true",
    "motion=motion_five_frame_window=true:motion_moving_average=true",
    *("motion=motion_moving_average=true:debug=true", "motion=motion_force_zero=true"),
    *("float_motion=debug=true", "speed_temporal=speed_use_ref_diff=true", "xpsnr=frame_rate=60"),
    *("psnr=enable_apsnr=true", "cambi=full_ref=true"),
)
MODELS = ("v0.6.1", "bag", "motion", "average", "wide", "wide average", "aim")
Setup = Callable[[Measurement], object]


def pictures(index: int) -> tuple[Picture, Picture]:
    """4:2:0 pictures, larger than any extractor's least size."""

    def picture(*, worse: bool) -> Picture:
        plane = np.ascontiguousarray(np.tile(luma(index, worse=worse), (4, 4)))
        return Picture((plane, plane[::2, ::2].copy(), plane[1::2, 1::2].copy()), PixelFormat("420", 8))

    return picture(worse=False), picture(worse=True)


PAIRS = [pictures(index) for index in range(FRAMES)]


def run(
    setup: Setup, stop: int, known: Checkpoint | None = None, subsample: int = 1
) -> tuple[Results, Checkpoint]:
    """Measure until `stop` frames were fed; the checkpoint goes through JSON."""
    with Measurement(2, subsample) as measurement:
        setup(measurement)
        if known is not None:
            measurement.restore(known)
        for pair in PAIRS[:stop]:
            measurement.add(*pair)
        measurement.flush()
        checkpoint = measurement.checkpoint()
        assert checkpoint is not None
        text = json.dumps(checkpoint.to_document(), allow_nan=False)
        return measurement.results(), Checkpoint.from_document(json.loads(text))


def same(found: Results, wanted: Results) -> None:
    assert found.frames == wanted.frames
    assert list(found.columns) == list(wanted.columns)
    for key, values in wanted.columns.items():
        assert found.columns[key].tobytes() == values.tobytes(), key
    assert repr(found.aggregate) == repr(wanted.aggregate)
    assert found.models == wanted.models
    assert not found.steered


def feature(name: str) -> Setup:
    return lambda measurement: measurement.add_feature(name)


def scored(name: str) -> Setup:
    return lambda measurement: measurement.add_model(model(name))


SETUPS = {**{name: feature(name) for name in FEATURES}, **{f"model {n}": scored(n) for n in MODELS}}


@pytest.mark.parametrize("name", SETUPS)
def test_going_on_after_any_frame(name: str) -> None:
    whole, _ = run(SETUPS[name], FRAMES)
    for stop in (1, 2, 4, FRAMES - 1, FRAMES):  # before and after every look back and ahead
        part, checkpoint = run(SETUPS[name], stop)
        assert part.frames == list(range(stop))
        same(run(SETUPS[name], FRAMES, checkpoint)[0], whole)


@settings(max_examples=25)
@given(
    names=st.lists(st.sampled_from(MODELS[2:]), unique=True, max_size=2),
    features=st.lists(
        st.sampled_from(["psnr=enable_apsnr=true", "xpsnr", "float_motion", "ciede"]), unique=True
    ),
    subsample=st.integers(1, 4),
    stops=st.sets(st.integers(1, FRAMES), min_size=1),
)
def test_interrupted_again_and_again(
    names: list[str], features: list[str], subsample: int, stops: set[int]
) -> None:
    def setup(measurement: Measurement) -> None:
        measurement.add_feature("speed_temporal")
        for number, name in enumerate(names):
            measurement.add_model(model(name).renamed(f"vmaf{number}"))
        for name in features:
            measurement.add_feature(name)

    whole, _ = run(setup, FRAMES, subsample=subsample)
    checkpoint = None
    for stop in sorted(stops):
        _, checkpoint = run(setup, stop, checkpoint, subsample)
        assert checkpoint.frames == stop
    same(run(setup, FRAMES, checkpoint, subsample)[0], whole)


def test_known_frames_are_fed_and_not_computed() -> None:
    _, checkpoint = run(feature("psnr"), 3)
    with measuring(features=("psnr",), threads=1) as measurement:
        measurement.restore(checkpoint)
        assert measurement.restored == 3
        for index, (ref, _) in enumerate(PAIRS):
            measurement.add(ref, ref if index < 3 else PAIRS[index][1])  # whatever the known ones look like
        measurement.flush()
        wanted, _ = run(feature("psnr"), FRAMES)
        same(measurement.results(), wanted)


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (feature("vif"), "extractors"),
        (feature("psnr=enable_apsnr=true"), "extractors"),
        (scored("motion"), "models"),
    ],
)
def test_other_measurements_are_refused(other: Setup, part: str) -> None:
    _, checkpoint = run(feature("psnr"), 3)
    with Measurement(1) as measurement:
        other(measurement)
        with pytest.raises(ResumeError, match=f"other {part}"):
            measurement.restore(checkpoint)
    with (
        measuring(features=("psnr",), threads=1, subsample=2) as measurement,
        pytest.raises(ResumeError, match="other subsample"),
    ):
        measurement.restore(checkpoint)


@pytest.mark.parametrize(
    "steering",
    [
        lambda measurement: measurement.swap_model("vmaf", model("wide")),
        lambda measurement: measurement.set_subsample(2),
        lambda measurement: measurement.stop_after(8),
    ],
)
def test_a_steered_measurement_has_no_checkpoint(steering: Setup) -> None:
    with measuring(model("motion"), threads=1) as measurement:
        measurement.add(*PAIRS[0])
        steering(measurement)
        measurement.add(*PAIRS[1])
        measurement.flush()
        assert measurement.checkpoint() is None


def test_an_interrupted_measurement_is_not_a_steered_one() -> None:
    with measuring(features=("psnr",), threads=1) as measurement:
        assert not measurement.interrupt()  # nothing to keep
        measurement.add(*PAIRS[0])
        assert measurement.interrupt()
        assert measurement.gate.interrupted
        assert measurement.add(*PAIRS[1]) is None
        assert measurement.last_frame is None
        assert not measurement.interrupt()
        measurement.flush()
        assert measurement.results().stopped_after is None


@pytest.mark.parametrize(
    "damage",
    [
        {"frames": 0},
        {"frames": "3"},
        {"frames": 4000},
        {"columns": {"psnr_y": {"values": "AAAA", "frames": "4A=="}}},
        {"columns": {"psnr_y": {"values": "?", "frames": "4A=="}}},
        {"columns": {"psnr_y": {"values": ""}}},
        {"columns": 3},
        {"subject": None},
    ],
)
def test_a_malformed_document(damage: dict[str, object]) -> None:
    document = run(feature("psnr"), 3)[1].to_document()
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        Checkpoint.from_document({**document, **damage})

"""Steering at its edges: what is refused, what it must not cost; and schedules made by chance."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import ClosedError, FeatureError, InputError, ModelError, NotReady
from acuity.features.vif import Vif
from acuity.measure import Measurement
from acuity.measure.agenda import Agenda
from acuity.measure.gate import Pause
from acuity.models import load_model
from moving_pictures import measuring
from steered import MODELS, check, model, pictures, steer


def test_wrong_swaps_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with measuring(model("v0.6.1"), model("still").renamed("vmaf_0001"), threads=1, frames=3) as measurement:
        agenda: Agenda = measurement._agenda
        with pytest.raises(FeatureError, match="no model is reported as 'neg': there are vmaf, vmaf_0001"):
            measurement.swap_model("neg", model("neg"))
        with pytest.raises(ModelError, match="vmaf_v9"):
            measurement.swap_model("vmaf", "vmaf_v9")
        with pytest.raises(FeatureError, match="both be reported as 'vmaf_0001'"):
            measurement.swap_model("vmaf", model("bag"))
        with pytest.raises(InputError, match="subsample -1"):
            measurement.set_subsample(-1)
        monkeypatch.setattr(Vif, "min_size", 1000)
        with pytest.raises(FeatureError, match="vif needs pictures of at least 1000x1000"):
            measurement.swap_model("vmaf", model("neg"))
        monkeypatch.undo()
        monkeypatch.setattr(Vif, "needs_chroma", True)
        with pytest.raises(FeatureError, match="vif needs chroma, and the pictures come without"):
            measurement.swap_model("vmaf", model("neg"))
        assert measurement._agenda is agenda
        measurement.flush()
        with pytest.raises(ClosedError, match="was flushed"):
            measurement.swap_model("vmaf", model("neg"))
        with pytest.raises(ClosedError, match="was flushed"):
            measurement.set_subsample(2)


def test_frames_without_a_figure_say_why() -> None:
    late = "integer_motion3_mffw_mma"
    with measuring(model("still"), threads=1) as measurement:
        for index in range(10):
            if index == 4:
                measurement.swap_model("vmaf", model("bag"))
            if index == 6:
                assert measurement.swap_model("vmaf", model("wide average")).first == 8
            measurement.add(*pictures(index))
        with pytest.raises(
            NotReady, match=r"frame 1 has no vmaf_bagging, because '.*still.json' holds there"
        ):
            measurement.score_at(1, "vmaf_bagging")
        with pytest.raises(
            NotReady, match="frame 8 has no integer_vif_scale0_egl_1, because it was not meas"
        ):
            measurement.feature_at(8, "integer_vif_scale0_egl_1")
        with pytest.raises(NotReady, match=f"frame 7 has no {late}, because it was not measured there"):
            measurement.feature_at(7, late)
        with pytest.raises(NotReady, match=f"frame 9 has no {late} yet: feed more"):
            measurement.feature_at(9, late)
        measurement.flush()
        assert measurement.feature_at(9, late) >= 0


def test_many_swaps_cost_no_memory() -> None:
    """Also those to ever new models, as long as no frame is measured for them."""
    with measuring(model("v0.6.1"), threads=1) as measurement:
        measurement.add(*pictures(0))
        for number in range(200):
            spec = f"vmaf_v0.6.1:vif.vif_enhn_gain_limit={1 + number / 10}"
            made = model("bag") if number % 5 == 0 else load_model(spec)
            measurement.swap_model("vmaf", made, repredict=number % 2 == 0)
        measurement.swap_model("vmaf", model("wide average"))
        assert len(measurement._candidates._made) <= 8
        assert len(measurement._collector._runs) <= 3
        assert len(measurement._agenda.plans) <= 4
        assert len(measurement._collector._columns) < 40
        assert len(measurement.features) < 40
        measurement.flush()


Command = Callable[[Measurement], object]


def usable(slots: int) -> list[str]:
    # Beside others it has other figures also when nobody steers.
    return [name for name in MODELS if slots == 1 or name != "no aim"]


@st.composite
def swaps(draw: st.DrawFn, slots: int) -> Command:
    slot = draw(st.sampled_from(["vmaf", "vmaf2"][:slots]))
    chosen = model(draw(st.sampled_from(usable(slots))))
    again = draw(st.booleans())
    return lambda measurement: measurement.swap_model(slot, chosen, repredict=again)


@st.composite
def subsamples(draw: st.DrawFn) -> Command:
    step = draw(st.integers(1, 4))
    return lambda measurement: measurement.set_subsample(step)


@st.composite
def pauses(draw: st.DrawFn) -> Command:
    """A client's pause, on a clock that moves only while somebody waits."""
    lease, owner = draw(st.integers(1, 5)), draw(st.sampled_from("ab"))

    def pause(measurement: Measurement) -> None:
        gate = measurement.gate
        now, fed = [0.0], measurement.frames

        def wait() -> None:
            assert measurement.frames == fed
            now[0] += 1.0
            assert now[0] <= 20.0, "it waits for ever"

        gate.clock = lambda: now[0]
        measurement.boundary.on_pause(wait)
        gate.hold(owner, Pause(owner, "uds", float(lease)))

    return pause


@st.composite
def stops(draw: st.DrawFn) -> Command:
    ahead = draw(st.integers(0, 3))

    def stop(measurement: Measurement) -> None:
        if measurement.frames and not measurement.finished:
            measurement.stop_after(measurement.frames - 1 + ahead) if ahead else measurement.stop()

    return stop


@given(st.data(), st.integers(1, 12), st.sampled_from([1, 3]), st.integers(1, 2))
def test_any_schedule(data: st.DataObject, frames: int, threads: int, slots: int) -> None:
    commands = st.one_of(swaps(slots), swaps(slots), subsamples(), pauses(), stops())
    schedule = data.draw(
        st.dictionaries(st.integers(0, frames), st.lists(commands, min_size=1, max_size=3), max_size=5)
    )
    names = data.draw(st.lists(st.sampled_from(usable(slots)), min_size=slots, max_size=slots))

    def take(several: list[Command]) -> Command:
        def run(measurement: Measurement) -> None:
            for command in several:
                command(measurement)

        return run

    results = steer(frames, {n: take(several) for n, several in schedule.items()}, *names, threads=threads)
    assert results.frames
    stopped = results.stopped_after
    check(results, frames if stopped is None else stopped + 1)

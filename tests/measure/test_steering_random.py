"""Whatever is commanded when: each stretch of a steered run equals a run of its own, digit for digit."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from acuity.measure import Measurement
from acuity.measure.gate import Pause
from steered import MODELS, check, model, steer

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

"""What is said about a running measurement is cheap to say again, and never old where that matters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acuity._native import Bridge
from acuity.agents.embedded.live.state import LiveState
from acuity.agents.embedded.steering.bridge import BoundaryListener
from acuity.agents.embedded.steering.commands import Handoff
from acuity.measure import Measurement
from acuity.measure.plan import ExtractorSet
from bridge_room import measuring
from moving_pictures import pair
from small_model import small_document


@contextmanager
def looking(fresh: float, model: str = "vmaf_v0.6.1") -> Iterator[tuple[Measurement, Bridge, LiveState]]:
    """A measurement with a model, whose scores stay fresh for so many seconds."""
    native = Bridge(4)
    with measuring((model,)) as measurement:
        side = BoundaryListener(measurement, native, Handoff(), max_per_frame=4, on_end=lambda: None)
        # At this clock its input never stalls.
        live = LiveState(measurement, native, side, max_age=fresh, clock=lambda: 0.0)
        yield measurement, native, live
        side.detach()
    native.close()


def latest_of(live: LiveState) -> tuple[int, float] | None:
    status = live.status()
    return None if status["last_frame"] is None else (status["last_frame"], status["last_score"])


def test_a_status_counts_frames() -> None:
    with looking(0.0) as (measurement, _, live):
        measurement.add(*pair(0))
        first = live.status()
        for index in range(1, 4):
            measurement.add(*pair(index))
        assert (first["frames_read"], live.status()["frames_read"]) == (1, 4)
        measurement.flush()
        assert live.status()["frames_scored"] == 4


def test_a_model_that_holds_later_shows_later(tmp_path: Path) -> None:
    small = tmp_path / "small.json"
    small.write_text(json.dumps(small_document()))
    with looking(0.0, str(small)) as (measurement, _, live):
        for index in range(4):
            measurement.add(*pair(index))
        # Its motion has to be known of neighbours.
        swap = measurement.swap_model("vmaf", "vmaf_v0.6.1:motion.motion_moving_average=true")
        assert swap.first > measurement.frames
        agenda = measurement.agenda
        while measurement.frames < swap.first + 2:
            found = live.status()
            assert found["model"] == ("vmaf_v0.6.1" if measurement.frames >= swap.first else str(small))
            assert found["features"] == ExtractorSet(measurement.extractors).keys()
            measurement.add(*pair(measurement.frames))
        assert measurement.agenda is agenda  # only the number of frames told that there was news


def test_every_change_shows_at_once() -> None:
    with looking(1000.0) as (measurement, native, live):
        assert live.status()["state"] == "waiting"
        measurement.add(*pair(0))
        assert live.status()["frames_read"] == 1
        measurement.pause()
        assert (live.status()["state"], live.status()["paused"]) == ("paused", True)
        measurement.resume()
        assert live.status()["paused"] is False
        measurement.set_subsample(3)
        assert live.status()["subsample"] == 3
        measurement.swap_model("vmaf", "vmaf_v0.6.1neg")
        assert live.status()["model"] == "vmaf_v0.6.1neg"
        measurement.stop_after(7)
        assert live.status()["stop_after"] == 7
        native.send(1, 1, b"")
        assert live.status()["queue"]["waiting"] == 1


@pytest.mark.parametrize("pauses", [False, True])
def test_a_score_is_looked_for_again_only_after_a_while_or_when_no_other_comes(pauses: bool) -> None:
    with looking(1000.0) as (measurement, _, live):
        for index in range(8):
            measurement.add(*pair(index))
        while (first := latest_of(live)) is None:
            pass  # it is looked for each time while there is none
        for index in range(8, 12):
            measurement.add(*pair(index))
        assert latest_of(live) == first
        (measurement.pause if pauses else measurement.flush)()
        last = 10 if pauses else 11  # the frame after it isn't there
        while latest_of(live)[0] < last:
            pass
        assert latest_of(live) == (last, measurement.score_at(last))

"""Commands for a measurement that comes to no frame boundary, and commands that nobody wants any more."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from acuity import EmbeddedConfig, EmbeddedServer
from acuity.agents.embedded.live.state import LiveState
from acuity.agents.embedded.steering import bridge
from acuity.errors import EmbeddedError
from bridge_room import PATIENCE, Room, measuring
from embedded_client import connected, hosted
from live_ground import MODEL, SECONDS, Ground
from moving_pictures import pair


async def test_a_command_that_no_boundary_comes_for_is_taken_back() -> None:
    room = Room(timeout=0.01)
    with pytest.raises(EmbeddedError, match=r"came for 0\.01 seconds, so \'set_subsample\' was"):
        await room.steer.submit("set_subsample", {"n": 5})
    assert room.handoff.commands == {}
    await room.feed()  # what is still in the ring is not carried out
    assert room.measurement.subsample == 1
    while room.native.outstanding:
        await asyncio.sleep(0)
    room.close()


async def test_a_command_that_is_carried_out_just_then_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    now, looks = [time.monotonic()], [0]

    def clock() -> float:
        looks[0] += 1
        return now[0]

    room = Room(timeout=0.01)
    monkeypatch.setattr(bridge, "time", SimpleNamespace(monotonic=clock))
    begun, go_on = threading.Event(), threading.Event()

    def slowly(n: int) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    room.measurement.set_subsample = slowly  # type: ignore[method-assign]
    answer = await room.send("set_subsample", {"n": 5})
    feeding = asyncio.create_task(room.feed())
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    now[0] += PATIENCE  # it would be too late by now
    seen = looks[0]
    while looks[0] == seen:
        await asyncio.sleep(0)
    assert not answer.done()
    go_on.set()
    assert (await answer)["next_frame"] == 1
    await feeding
    room.close()


def test_the_host_chooses_how_long(tmp_path: Path) -> None:
    with measuring() as measurement:
        config = EmbeddedConfig(command_timeout=0.05)
        with EmbeddedServer(measurement, config) as server:
            server.start_uds(tmp_path / "s")
            measurement.add(*pair(0))
            with connected(tmp_path / "s") as client:
                assert "no frame boundary came for 0.05 seconds" in client.refused("vmaf.pause")
                assert client.call("vmaf.stop") == {"stopped": True, "frames_read": 1}
                assert client.call("vmaf.status")["state"] == "finishing"
        assert measurement.add(*pair(1)) is None
        measurement.flush()
        assert measurement.results().stopped_after == 0


async def test_status_says_what_it_waits_for() -> None:
    room = Room()
    now = [room.side.attached + 7.0]
    live = LiveState(room.measurement, room.native, room.side, clock=lambda: now[0])
    assert (live.status()["state"], live.status()["waiting_seconds"]) == ("waiting", 7.0)
    await room.feed(2)
    while room.measurement.snapshot().frames_done < 2:
        await asyncio.sleep(0)
    last = room.native.status()[1]
    now[0] = last + 0.9
    assert (live.status()["state"], live.status()["waiting_seconds"]) == ("measuring", None)
    now[0] = last + 12.0
    assert (live.status()["state"], live.status()["waiting_seconds"]) == ("waiting_for_input", 12.0)
    room.measurement.pause()
    assert (live.status()["state"], live.status()["waiting_seconds"]) == ("paused", None)
    room.close()


# ---- nobody wants it any more -----------------------------------------------------------------


def test_what_was_cancelled_while_it_waited_is_not_carried_out(tmp_path: Path) -> None:
    with hosted(tmp_path) as (measurement, _):
        with connected(tmp_path / "s") as client:
            number = client.send("tools/call", name="vmaf.set_subsample", arguments={"n": 7})
            while not client.call("vmaf.status")["queue"]["waiting"]:
                pass
            client.notify("notifications/cancelled", requestId=number)
            assert client.ask("ping")["result"] == {}  # handled after it
            stays = client.send("tools/call", name="vmaf.stop_after", arguments={"frame": 9})
            while client.call("vmaf.status")["queue"]["waiting"] < 2:
                pass
            measurement.add(*pair(0))
            answer = client.receive()
            assert answer["id"] == stays
        assert measurement.subsample == 1
        assert measurement.last_frame == 9


def test_the_command_of_a_client_that_left_is_not_carried_out(tmp_path: Path) -> None:
    with hosted(tmp_path) as (measurement, _):
        with connected(tmp_path / "s") as watches:
            with connected(tmp_path / "s") as leaves:
                leaves.send("tools/call", name="vmaf.pause", arguments={})
                while not watches.call("vmaf.status")["queue"]["waiting"]:
                    pass
                measurement.add(*pair(0))
                leaves.send("tools/call", name="vmaf.stop_after", arguments={"frame": 3})
                while not watches.call("vmaf.status")["queue"]["waiting"]:
                    pass
            while watches.call("vmaf.status")["paused"]:  # until the server has noticed that it left
                pass
            measurement.add(*pair(1))
            while watches.call("vmaf.status")["queue"]["outstanding"]:
                pass
        assert measurement.last_frame is None


# ---- swapping to what is there ----------------------------------------------------------------


@pytest.mark.parametrize("repredict", [False, True])
async def test_a_swap_to_the_same_model_begins_no_segment(ground: Ground, repredict: bool) -> None:
    await ground.feed(3)
    done = await ground.steered("vmaf.request_model_swap", name=MODEL, repredict=repredict)
    assert (done["status"], done["first"], done["starts"]) == ("MODEL_SWAPPED", 4, [])
    await ground.finish(2)
    assert len(ground.measurement.segments) == 1
    report: dict[str, Any] = await ground.ask("vmaf.report")
    assert "steering" not in report["acuity"]
    with anyio.fail_after(SECONDS):
        assert not ground.measurement.results().steered

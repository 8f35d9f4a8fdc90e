"""Commands and models on their way to the measuring thread, and replies on their way back."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from acuity.access.paths import AllowedPaths
from acuity.agents.embedded.steering import commands
from acuity.agents.embedded.steering.commands import ModelLoader
from acuity.errors import CommandQueueFull, EmbeddedError
from acuity.measure.feed import feed
from bridge_room import Counting, Room
from moving_pictures import pair
from small_model import small_document


async def test_a_command_is_carried_out_at_the_next_boundary_and_not_before() -> None:
    room = Room()
    answer = await room.send("set_subsample", {"n": 3})
    assert room.measurement.subsample == 1
    assert not answer.done()
    await room.feed()
    assert await answer == {"subsample": 3, "next_frame": 1}
    assert room.measurement.subsample == 3
    room.close()


async def test_so_many_at_one_boundary_and_no_more() -> None:
    room = Room(max_per_frame=3)
    answers = [await room.send("set_subsample", {"n": n}) for n in range(1, 9)]
    for left in (5, 2, 0, 0):
        await room.feed()
        assert room.native.waiting == left
    found = await asyncio.gather(*answers)
    assert [answer["subsample"] for answer in found] == list(range(1, 9))
    assert [answer["next_frame"] for answer in found] == [1, 1, 1, 2, 2, 2, 3, 3]
    room.close()


async def test_a_fault_of_ours_ends_nobodys_measurement(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> dict[str, Any]:
        raise ZeroDivisionError

    monkeypatch.setitem(commands.COMMANDS, "pause", broken)
    room = Room()
    answer = await room.send("pause")
    await room.feed()
    with pytest.raises(EmbeddedError, match="'pause' failed in a way it should not"):
        await answer
    await room.feed()
    assert not room.measurement.paused
    room.close()
    assert "ZeroDivisionError" in caplog.text


async def test_a_flood_is_answered_one_by_one() -> None:
    """20,000 commands into a ring of 64: each has its own result or QUEUE_FULL, none twice."""
    count, batch = 20_000, 500
    measured = Counting()
    room = Room(measured.as_measurement(), depth=64)
    over = threading.Event()
    measuring_thread = threading.Thread(target=measured.run, args=(over,))
    measuring_thread.start()
    results: list[int] = []
    refused = 0

    async def one(n: int) -> None:
        nonlocal refused
        try:
            results.append((await room.steer.submit("set_subsample", {"n": n}))["subsample"])
        except CommandQueueFull:
            refused += 1

    try:
        for first in range(0, count, batch):
            await asyncio.gather(*(one(n) for n in range(first + 1, first + batch + 1)))
    finally:
        over.set()
        await asyncio.to_thread(measuring_thread.join)
    assert len(results) + refused == count
    assert results == measured.told  # in order, so each once
    assert len(results) > 64
    assert refused == room.native.refused > 0
    assert (room.native.outstanding, room.native.waiting) == (0, 0)
    assert (room.handoff.commands, room.handoff.replies) == ({}, {})
    room.steer.detach()
    room.native.close()


@pytest.mark.parametrize("by_client", [True, False])
async def test_leaving_lets_a_measurement_go_on_that_a_client_paused(by_client: bool) -> None:
    room = Room()
    if by_client:
        answer = await room.send("pause")
        await room.feed()
        await answer
    else:
        room.measurement.pause()
    room.side.detach()
    assert room.measurement.paused is not by_client
    assert room.measurement.boundary.waiter is None
    assert not room.measurement.boundary.on_frame.all
    room.close()


async def test_closing_a_paused_measurement_from_another_thread() -> None:
    room = Room()
    first = await room.send("pause")
    feeding = asyncio.create_task(asyncio.to_thread(feed, room.measurement, map(pair, range(9))))
    await first
    room.measurement.close()
    with pytest.raises(Exception, match="was closed"):
        await feeding
    room.close()


@pytest.mark.parametrize("end", ["flush", "close"])
async def test_when_the_measurement_is_over_whoever_waits_is_told(end: str) -> None:
    room = Room(max_per_frame=1)
    carried_out = await room.send("set_subsample", {"n": 2})
    left = [await room.send("pause"), await room.send("resume")]
    await room.feed()
    await asyncio.to_thread(getattr(room.measurement, end))
    assert (await carried_out)["subsample"] == 2
    for answer in left:
        with pytest.raises(EmbeddedError, match="is over, so it can't be steered"):
            await answer
    with pytest.raises(EmbeddedError, match="is over"):
        await room.steer.submit("pause")
    assert room.steer.over
    assert not room.measurement.paused
    room.close()


async def test_a_bridge_that_closes_at_a_boundary_disturbs_nobody() -> None:
    room = Room()
    room.steer.detach()
    room.native.close()
    await room.feed(3)
    assert not room.measurement.boundary.on_frame.all
    room.measurement.flush()
    room.close()


async def test_a_model_that_comes_back_is_the_same_unless_its_file_changed(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps(small_document()))
    loader = ModelLoader(AllowedPaths([tmp_path]))
    first = await loader.load(f"path={file}")
    assert await loader.load(f"path={file}") is first
    changed = small_document()
    changed["model_dict"]["slopes"][1] = 3.5
    file.write_text(json.dumps(changed))
    os.utime(file, ns=(1, 1))
    assert await loader.load(f"path={file}") is not first
    others = [await loader.load(f"path={file}:name=n{number}") for number in range(9)]
    assert await loader.load(f"path={file}:name=n8") is others[8]
    assert await loader.load(f"path={file}:name=n0") is not others[0]  # eight are kept

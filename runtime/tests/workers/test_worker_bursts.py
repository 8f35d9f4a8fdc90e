"""Workers that send more than a store or a client takes at once: they wait, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from core_bench import call, reply_of
from fake_responder import FakeResponder
from longwire.settings import WireLimits
from scripted_worker import Frame, ScriptedWorker, Wire, answering, fronting, message, replied, sent
from waiting import until

BURST = 3000
EVENTS = {"accept": "text/event-stream, application/json"}


def note(number: int) -> Frame:
    return {"method": "notifications/message", "params": {"level": "info", "data": number}}


def bursting(wire: Wire, frame: Frame) -> None:
    """A worker whose calls send a burst, half of it in frames of their own and half in one frame.

    With the name 'announce' it is for all sessions, outside of the call.
    """
    request = frame.get("jsonrpc", {})
    if request.get("method") != "tools/call" or request["params"]["name"] == "echo":
        answering(wire, frame)
        return
    notes = [note(number) for number in range(BURST)]
    for part in (*([one] for one in notes[: BURST // 2]), notes[BURST // 2 :]):
        if request["params"]["name"] == "announce":
            told = [message(data) for data in part]
            wire.send({"mode": "mcp", "event": "notify", "session_id": None, "messages": told})
        else:
            wire.send(sent(frame, *part))
    wire.send(replied(frame))


def numbers(answer: FakeResponder) -> list[int]:
    return [found["params"]["data"] for found in map(json.loads, answer.messages) if "params" in found]


async def test_a_burst_waits_for_the_store_and_comes_whole(tmp_path: Path) -> None:
    worker = ScriptedWorker(bursting)
    async with fronting(worker, store=f"sqlite:{tmp_path / 'sessions.db'}") as front:
        client = await front.client.connected()
        answer = await client.answered(call(7, "burst"), EVENTS)
        assert numbers(answer) == list(range(BURST))
        assert "result" in reply_of(answer)
        assert front.counters.messages_dropped == 0


async def test_announcements_wait_for_the_store_and_come_whole(tmp_path: Path) -> None:
    worker = ScriptedWorker(bursting)
    async with fronting(worker, store=f"sqlite:{tmp_path / 'sessions.db'}") as front:
        client = await front.client.connected()
        stream = (await front.client.connected()).get()
        mine = client.get()
        assert "result" in reply_of(await client.answered(call(7, "announce")))
        for found in (stream, mine):
            await until(lambda found=found: len(found.messages) == BURST)  # type: ignore[misc]
            assert numbers(found) == list(range(BURST))


async def test_a_client_that_does_not_read_ends_its_own_call_alone() -> None:
    worker = ScriptedWorker(bursting)
    async with fronting(worker, limits=WireLimits(send_timeout=0.05)) as front:
        client = await front.client.connected()
        stuck = FakeResponder(reading=False, weight=1000)
        client.post(call(7, "burst"), EVENTS, responder=stuck)
        assert "result" in reply_of(await client.answered(call(8, "echo")))
        await until(lambda: worker.events("cancel"))
        stuck.read()
        error = reply_of(stuck)["error"]
        assert error["data"]["errorClass"] == "worker_protocol"
        assert "more messages than its client takes" in error["message"]


async def test_clients_that_have_read_nothing_for_long_hold_their_worker_no_further_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck_calls: list[Frame] = []

    def flooding(wire: Wire, frame: Frame) -> None:
        """A worker that fills each client, and later sends all of them far more before it answers."""
        request = frame.get("jsonrpc", {})
        name = request["params"]["name"] if request.get("method") == "tools/call" else "echo"
        if name == "fill":
            stuck_calls.append(frame)
            wire.send(sent(frame, *map(note, range(100))))
            return
        for stuck in stuck_calls if name == "flood" else []:
            for number in range(BURST // 5):
                wire.send(sent(stuck, note(number)))
        answering(wire, frame)

    worker = ScriptedWorker(flooding)
    async with fronting(worker) as front:
        client = await front.client.connected()
        stuck = [FakeResponder(reading=False, weight=10_000) for _ in range(5)]
        for number, responder in enumerate(stuck):
            client.post(call(number, "fill"), EVENTS, responder=responder)
        await until(lambda: len(stuck_calls) == len(stuck))
        await client.answered(call(8, "echo"))  # so what the others were sent has come
        loop = asyncio.get_running_loop()
        now = loop.time() + 2.0
        monkeypatch.setattr(loop, "time", lambda: now)
        answer = FakeResponder()
        client.post(call(9, "flood"), responder=answer)
        for _ in range(20_000):  # in 1.5 s by this clock, in which a worker could be held once
            now += 1.5 / 20_000
            await asyncio.sleep(0)
            if answer.gone:
                break
        monkeypatch.undo()
        assert answer.gone
        assert "result" in reply_of(answer)

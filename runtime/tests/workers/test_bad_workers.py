"""Workers that break the contract: each in its own way, and none takes the server with it."""

from __future__ import annotations

import asyncio
import struct
import tempfile
from pathlib import Path

import pytest

from core_bench import call, reply_of
from longwire.contract.frames import MOST_VALUES
from longwire.settings import WireLimits
from longwire.workers import link, signs_of_life
from longwire.workers.home import WorkerPlan
from scripted_worker import (
    HELLO_BACK,
    Frame,
    Script,
    ScriptedWorker,
    Wire,
    WorkerCore,
    answering,
    fronting,
    holding,
    on_calls,
    replied,
    result,
    sent,
    silent,
)
from waiting import until


def error_of(reply: Frame) -> tuple[str, int]:
    return reply["error"]["data"]["errorClass"], reply["error"]["code"]


_TOO_LONG = struct.pack(">I", (16 << 20) + 1)
BROKEN: dict[str, bytes | Frame] = {
    "too many values": struct.pack(">I", 3 * MOST_VALUES + 10) + b'{"a":[' + b"{}," * MOST_VALUES + b"{}]}",
    "no JSON": struct.pack(">I", 3) + b"abc",
    "no object": struct.pack(">I", 2) + b"[]",
    "empty": struct.pack(">I", 0),
    "oversized": _TOO_LONG,
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "no event": {"mode": "mcp"},
    "another mode": {"mode": "http", "event": "pong", "id": "1"},
    "a second hello": dict(HELLO_BACK),
    "messages that are none": {"mode": "mcp", "event": "messages", "id": "1", "messages": [1]},
    "a reply that is none": result("1", {"jsonrpc": "2.0"}),
}


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_worker_that_sends_nonsense_loses_its_connection_and_its_calls_fail(
    front: WorkerCore, broken: str
) -> None:
    front.worker.script = on_calls(lambda wire, _: wire.send(BROKEN[broken]))
    assert error_of(await front.called()) == ("worker_protocol", -32603)
    front.worker.script = answering
    await until(lambda: front.worker.connections == 2)  # it is connected again, after a wait
    assert "result" in await front.called(2)
    assert front.counters.worker_events["worker_protocol"] == 1
    assert front.counters.worker_failures == {"worker_protocol": 1}


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [("FRAME_SECONDS", "did not end a frame within 0.05 s"), ("PONG_SECONDS", "whether it is alive")],
)
async def test_bytes_of_a_frame_that_never_ends_are_no_sign_of_life(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, limit: str, sentence: str
) -> None:
    for module in (link, signs_of_life):
        monkeypatch.setattr(module, limit, 0.05, raising=False)
    worker = ScriptedWorker(silent)
    async with fronting(worker, ping_seconds=0.05 if limit == "PONG_SECONDS" else 60) as front:
        wire = worker.wires[0]
        wire.send(struct.pack(">I", 1 << 20))
        await until(lambda: wire.send(b" ") or front.counters.worker_events["restarts"])
    assert sentence in caplog.text


async def test_answers_for_wrong_ids_and_second_answers_are_dropped_and_counted() -> None:
    def confused(wire: Wire, frame: Frame) -> None:
        wire.send(result("99", None))
        wire.send({"mode": "mcp", "event": "error", "id": "nobody", "error": "x"})
        wire.send(sent({"id": "98"}, {"method": "notifications/message"}))
        wire.send({"mode": "mcp", "event": "dance"})
        wire.send(replied(frame))
        wire.send(replied(frame))

    async with fronting(ScriptedWorker(on_calls(confused))) as front:
        assert "result" in await front.called()
        assert "result" in await front.called(2)
        events = front.counters.worker_events
        await until(lambda: events["late"] == 2)
        assert (events["unknown_id"], events["unknown_event"]) == (6, 2)


async def test_a_reply_to_another_request_fails_the_call_alone(front: WorkerCore) -> None:
    scripts: tuple[Script, ...] = (
        lambda wire, frame: wire.send(result(frame["id"], {"jsonrpc": "2.0", "id": "other", "result": {}})),
        lambda wire, frame: wire.send(result(frame["id"], None)),
        lambda wire, frame: wire.send(replied(frame, session={"state": {"a": "x" * 70_000}})),
        lambda wire, frame: wire.send(replied(frame, {"a": 1})),
    )
    for number, script in enumerate(scripts, 1):
        front.worker.script = on_calls(script)
        assert error_of(await front.called(number)) == ("app_contract_error", -32603)
    assert front.worker.connections == 1


async def test_a_worker_that_never_answers_is_given_up_and_told() -> None:
    worker = ScriptedWorker(on_calls(silent))
    async with fronting(worker, call_seconds=0.1) as front:
        assert error_of(await front.called()) == ("worker_timeout", -32603)
        await until(lambda: worker.events("cancel") and worker.events("ping"))
        listed = await front.client.alone({"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}})
        assert "result" in reply_of(listed)  # it is alive


async def test_a_socket_that_is_no_worker_is_given_up_and_tried_again() -> None:
    mute = ScriptedWorker(hello=None)
    async with fronting(mute, ready=False, queue_seconds=0.1) as front:
        await until(lambda: mute.connections == 1)
        assert error_of(await front.called()) == ("worker_queue_timeout", -32012)
        assert front.pool.statuses()[0].state == "starting"


@pytest.mark.parametrize(
    "hello",
    [
        {**HELLO_BACK, "contract": 2},
        {**HELLO_BACK, "max_in_flight": 0},
        {"mode": "mcp", "event": "pong", "id": "1"},
        struct.pack(">I", 5) + b"hello",
    ],
)
async def test_a_hello_that_is_none_is_refused(hello: Frame | bytes) -> None:
    worker = ScriptedWorker(hello=hello)  # type: ignore[arg-type]
    async with fronting(worker, ready=False) as front:
        await until(lambda: front.counters.worker_events["worker_protocol"] >= 2)
        status = front.pool.statuses()[0]
        assert worker.connections >= 2
        assert status.restarts >= 1


async def test_a_socket_that_does_not_exist_is_waited_for() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "later.sock")
        front = WorkerCore(WorkerPlan(sockets=(path,), queue_seconds=20), WireLimits())
        await front.pool.start()
        async with front.core.run():
            await until(lambda: front.pool.statuses()[0].state == "waiting")
            assert path in (front.pool.statuses()[0].problem or "")
            answer = front.client.stateless(call(1, "echo"))
            worker = ScriptedWorker()
            server = await asyncio.get_running_loop().create_unix_server(lambda: Wire(worker), path)
            await until(lambda: answer.gone)
            assert "result" in reply_of(answer)
            server.close()


async def test_the_queue_is_bounded_in_length_and_time() -> None:
    hello = {**HELLO_BACK, "max_in_flight": 1}
    worker = ScriptedWorker(on_calls(silent), hello)
    async with fronting(worker, queue=2, queue_seconds=0.2) as front:
        first, *waiting = (front.client.stateless(call(number, "echo")) for number in range(3))
        refused = await front.client.alone(call(7, "echo"))
        assert (refused.status, refused.headers[b"retry-after"]) == (503, b"2")
        assert error_of(reply_of(refused)) == ("worker_queue_full", -32012)
        assert front.pool.queued == 2
        await until(lambda: all(answer.gone for answer in waiting))
        assert {error_of(reply_of(answer))[0] for answer in waiting} == {"worker_queue_timeout"}
        left = front.client.stateless(call(8, "echo"))
        assert front.pool.queued == 1
        left.drop()
        assert front.pool.queued == 0
        last = front.client.stateless(call(9, "echo"))
        await until(worker.calls)
        worker.script = answering
        worker.wire.send(replied(worker.calls()[0]))
        await until(lambda: first.gone and last.gone)
        assert "result" in reply_of(last)


async def test_a_worker_that_says_bye_finishes_and_gets_no_more(front: WorkerCore) -> None:
    def leaving(wire: Wire, frame: Frame) -> None:
        wire.send({"mode": "mcp", "event": "bye", "reason": "tired"})
        wire.send(replied(frame))

    front.worker.script = on_calls(leaving)
    assert "result" in await front.called()
    front.worker.script = answering
    await until(lambda: front.worker.connections == 2)
    assert "result" in await front.called(2)


async def test_a_drained_worker_finishes_its_calls_beside_its_successor(front: WorkerCore) -> None:
    worker = front.worker
    worker.script = on_calls(silent)
    slow = front.client.stateless(call(1, "echo"))
    message = {"jsonrpc": "2.0", "id": 2, "method": "subscriptions/listen", "params": {"notifications": {}}}
    worker.script = holding
    endless = front.client.stateless(message)
    await until(lambda: worker.calls() and worker.calls("subscriptions/listen"))
    old = worker.wire
    assert old is not None
    assert front.pool.drain("s1")
    assert not front.pool.drain("w7")
    await until(lambda: worker.events("drain") and worker.connections == 2)
    worker.script = answering
    await until(lambda: endless.gone)  # it would never end by itself
    assert "result" in await front.called(3)
    assert [status.state for status in front.pool.statuses()] == ["ready", "draining"]
    old.send(replied(worker.calls()[0]))
    await until(lambda: slow.gone)
    assert "result" in reply_of(slow)
    await until(lambda: len(front.pool.statuses()) == 1)

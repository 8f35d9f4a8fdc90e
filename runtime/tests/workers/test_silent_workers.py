"""Workers that don't say whether they are alive get no calls and are replaced; the others share the calls."""

from __future__ import annotations

import pytest

from core_bench import call, reply_of
from fake_responder import FakeResponder
from longwire.workers import link as link_module
from scripted_worker import (
    HELLO_BACK,
    Frame,
    ScriptedWorker,
    Wire,
    WorkerCore,
    answering,
    fronting,
    holding,
    replied,
    silent,
)
from waiting import until


def sent(front: WorkerCore, number: int) -> FakeResponder:
    return front.client.stateless(call(number, "echo"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "DOUBT_SECONDS", 0.02)


async def test_a_worker_in_an_endless_loop_gets_no_more_calls_and_is_replaced() -> None:
    bad, good = ScriptedWorker(silent), ScriptedWorker()
    async with fronting(bad, good, ping_seconds=0.05, silent_seconds=1.5) as front:
        answers = [sent(front, number) for number in range(2)]  # one of which goes to the bad one
        await until(bad.calls)
        await until(lambda: bad.events("ping"))  # though a call is in flight
        await until(lambda: front.pool.statuses()[0].problem)
        for number in range(2, 8):
            assert "result" in await front.called(number)
        assert len(bad.calls()) == 1
        assert not all(answer.gone for answer in answers)
        await until(lambda: all(answer.gone for answer in answers))
        lost = [reply_of(a)["error"] for a in answers if "error" in reply_of(a)]
        assert [error["data"]["errorClass"] for error in lost] == ["worker_lost"]
        bad.script = answering
        await until(lambda: bad.connections == 2)


async def test_a_worker_that_does_one_thing_at_a_time_is_kept() -> None:
    worker = ScriptedWorker(silent, {**HELLO_BACK, "max_in_flight": 4})
    async with fronting(worker, ping_seconds=0.05, silent_seconds=60.0) as front:
        first = sent(front, 1)
        await until(lambda: worker.events("ping"))
        await until(lambda: front.pool.statuses()[0].problem)
        second = sent(front, 2)
        assert front.pool.queued == 1  # nobody else is there: it waits
        worker.script = answering
        worker.wire.send(replied(worker.calls()[0]))  # only now it reads on
        await until(lambda: first.gone and second.gone)
        assert "result" in reply_of(first)
        assert "result" in reply_of(second)
        assert worker.connections == 1


async def test_a_call_waits_for_any_worker_until_one_has_read_what_it_was_sent() -> None:
    bad, good = ScriptedWorker(silent), ScriptedWorker(holding)
    async with fronting(bad, good, queue=1) as front:
        answers = [sent(front, number) for number in range(9)]  # as many as one has room for, and one
        await until(lambda: len(good.calls()) == 8)
        assert len(bad.calls()) == 1
        assert front.pool.queued == 0
        assert not any(answer.gone for answer in answers)
        assert front.pool.statuses()[0].problem is None  # it may be at work


async def test_a_call_that_took_too_long_is_still_the_workers() -> None:
    bad, good = ScriptedWorker(silent), ScriptedWorker(silent)
    async with fronting(bad, good, call_seconds=0.2) as front:
        first = sent(front, 1)
        await until(lambda: first.gone)
        error = reply_of(first)["error"]
        assert error["data"]["errorClass"] == "worker_timeout"
        assert "s1" not in error["message"]
        slow, quick = (bad, good) if bad.calls() else (good, bad)
        quick.script = answering
        for number in range(2, 6):
            assert "result" in await front.called(number)
        assert len(slow.calls()) == 1
        assert [status.in_flight for status in front.pool.statuses()].count(1) == 1
        slow.script = answering
        slow.wire.send(replied(slow.calls()[0]))  # late, but now it is free
        await until(lambda: all(status.in_flight == 0 for status in front.pool.statuses()))
        for number in range(6, 10):
            await front.called(number)
        assert len(slow.calls()) > 1


async def test_a_cancelled_call_is_the_workers_until_it_has_read_that(front: WorkerCore) -> None:
    def deaf(wire: Wire, frame: Frame) -> None:
        if frame["event"] == "ping":
            pings.append(frame)

    pings: list[Frame] = []
    front.worker.script = deaf
    answer = sent(front, 1)
    await until(front.worker.calls)
    answer.drop()
    await until(lambda: front.worker.events("cancel") and pings)
    assert front.pool.statuses()[0].in_flight == 1
    front.worker.wire.send({"mode": "mcp", "event": "pong", "id": pings[0]["id"]})  # and no more
    await until(lambda: front.pool.statuses()[0].in_flight == 0)


async def test_calls_go_round_where_workers_have_as_little_to_do() -> None:
    workers = [ScriptedWorker() for _ in range(3)]
    async with fronting(*workers) as front:
        for number in range(9):
            assert "result" in await front.called(number)
        assert [len(worker.calls()) for worker in workers] == [3, 3, 3]


async def test_quiet_sessions_are_shared_out_and_each_stays_with_its_worker() -> None:
    hello = {**HELLO_BACK, "affinity": "session"}
    workers = [ScriptedWorker(hello=hello), ScriptedWorker(hello=hello)]
    async with fronting(*workers) as front:
        clients = [await front.client.connected() for _ in range(4)]
        for client in clients:
            for number in range(3):
                await client.answered(call(number, "echo"))
        assert [len(worker.calls()) for worker in workers] == [6, 6]
        one, other = ({frame["session_id"] for frame in worker.calls()} for worker in workers)
        assert len(one) == len(other) == 2
        assert not one & other


async def test_a_worker_that_is_about_to_be_replaced_comes_last() -> None:
    workers = [ScriptedWorker(hello=dict(HELLO_BACK)) for _ in range(2)]
    async with fronting(*workers, max_requests=2) as front:
        for worker in workers:
            worker.hello = None  # the next ones are slow to start
        for number in range(3):
            await front.called(number)  # one has had two, which is the most
        before = [len(worker.calls()) for worker in workers]
        await front.called(4)
        after = [len(worker.calls()) for worker in workers]
        assert sorted(before) == [1, 2]
        assert after == [2, 2]


async def test_no_worker_is_a_reason_not_to_be_ready(caplog: pytest.LogCaptureFixture) -> None:
    worker = ScriptedWorker(silent)
    async with fronting(worker) as front:
        assert front.pool.problem() is None
        assert front.pool.missing_seconds == 0
        answer = sent(front, 1)
        await until(worker.calls)
        hello, worker.hello = worker.hello, {**HELLO_BACK, "contract": 7}
        worker.wire.transport.close()
        await until(lambda: answer.gone)
        await until(lambda: front.counters.worker_events["restarts"] >= 2)
        assert front.pool.problem() == "no worker is running"
        assert front.pool.missing_seconds > 0
        worker.hello = hello
        await until(lambda: front.pool.problem() is None)
    told = [getattr(record, "event", "") for record in caplog.records]
    assert (told.count("workers_missing"), told.count("workers_back")) == (1, 1)


async def test_pools_begin_without_a_worker() -> None:
    async with fronting(ScriptedWorker(hello=None), ready=False) as front:
        assert front.pool.problem() == "no worker has started yet"

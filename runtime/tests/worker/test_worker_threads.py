"""Tools in threads: how many, those that outlive their calls, and what they can do meanwhile."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from longwire.contract import writing
from longwire.contract.envelopes import Cancel
from longwire.errors import AskingError
from longwire.worker import App
from worker_ground import served


async def test_a_thread_reports_progress_and_asks() -> None:
    app = App("mine", "1")

    @app.tool(thread=True)
    def work() -> str:
        app.from_thread(app.progress(1, 2, "half"))
        app.from_thread(app.log("info", "words"))
        return str(app.session_id)

    async with served(app) as runtime:
        session = {"state": {}, "initialized": True}
        answer = await runtime.tool("work", session=session, meta={"progressToken": "t"})
        methods = [message["method"] for message in answer.messages]
        assert methods == ["notifications/progress", "notifications/message"]
        assert not answer.result.get("isError")


def test_outside_of_a_thread_one_awaits() -> None:
    app = App("mine", "1")
    with pytest.raises(AskingError, match="thread=True"):
        app.from_thread(app.progress(1))


async def test_threads_that_outlive_their_calls_are_bounded_and_the_worker_is_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = App("mine", "1", threads=2)
    begun, go_on, told = threading.Semaphore(0), threading.Event(), []

    @app.tool(thread=True)
    def block() -> str:
        begun.release()
        go_on.wait(30)
        try:
            app.from_thread(app.progress(1))
        except AskingError as error:
            told.append(str(error))
            raise
        return "done"

    with caplog.at_level(logging.ERROR):
        async with served(app) as runtime:
            calls = [runtime.begin_tool("block") for _ in range(2)]
            waits = runtime.begin_tool("block")
            for _ in calls:
                await _acquired(begun)
            runtime.send(writing.envelope(Cancel(calls[0], "too late")))
            runtime.send(writing.envelope(Cancel(calls[1], "too late")))
            refused = (await runtime.answer(waits)).result
            assert "all 2 threads still work for calls that are over" in refused["content"][0]["text"]
            assert "all 2 threads" in (await runtime.wait_for("bye"))["reason"]
            again = (await runtime.tool("block")).result
            assert "all 2 threads" in again["content"][0]["text"]
            go_on.set()
    assert any("asks to be replaced" in one.getMessage() for one in caplog.records)


async def _acquired(semaphore: threading.Semaphore) -> None:
    assert await asyncio.to_thread(semaphore.acquire, timeout=20)


async def test_more_calls_than_threads_wait_for_their_turn() -> None:
    app = App("mine", "1", threads=1)

    @app.tool(thread=True)
    def double(number: int) -> int:
        return 2 * number

    async with served(app) as runtime:
        calls = [runtime.begin_tool("double", {"number": number}) for number in range(8)]
        found = [(await runtime.answer(call)).result["structuredContent"] for call in calls]
        assert found == [{"result": 2 * number} for number in range(8)]


async def test_a_plain_function_that_holds_all_others_is_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App("mine", "1")
    clock = iter([0.0, 1.5])
    monkeypatch.setattr("longwire.worker.handlers.now", lambda: next(clock))

    @app.tool
    def slow() -> str:
        return "done"

    with caplog.at_level(logging.WARNING):
        async with served(app) as runtime:
            await runtime.tool("slow")
    assert any("tool 'slow' held all other calls for 1.5 s" in one.getMessage() for one in caplog.records)

"""A session's event log: what is replayed, and what is dropped."""

from __future__ import annotations

import mcp_types as types
from mcp.server.streamable_http import EventMessage

from acuity.mcp.wire.event_log import EventLog
from transport_bench import run


def note(text: str) -> types.JSONRPCNotification:
    return types.JSONRPCNotification(jsonrpc="2.0", method=text)


def answer(number: int) -> types.JSONRPCResponse:
    return types.JSONRPCResponse(jsonrpc="2.0", id=number, result={})


async def replayed(log: EventLog, event_id: str) -> tuple[list[str], str | None]:
    """Methods of what comes after the event, "answer" for an answer, and the stream that goes on."""
    found: list[str] = []

    async def send(event: EventMessage) -> None:
        found.append(getattr(event.message, "method", "answer"))

    return found, await log.replay_events_after(event_id, send)


def test_each_stream_is_replayed_by_itself() -> None:
    async def main() -> None:
        log = EventLog()
        first = await log.store_event("1", None)
        other = await log.store_event("2", None)
        await log.store_event("1", note("a"))
        await log.store_event("2", note("b"))
        middle = await log.store_event("1", note("c"))
        assert await replayed(log, first) == (["a", "c"], "1")
        assert await replayed(log, middle) == ([], "1")
        assert await replayed(log, other) == (["b"], "2")

    run(main)


def test_a_stream_that_was_answered_does_not_go_on() -> None:
    async def main() -> None:
        log = EventLog()
        first = await log.store_event("1", None)
        last = await log.store_event("1", answer(1))
        assert await replayed(log, first) == (["answer"], None)
        assert await replayed(log, last) == ([], None)

    run(main)


def test_an_id_that_is_used_again_is_another_stream() -> None:
    async def main() -> None:
        log = EventLog()
        old = await log.store_event("1", None)
        await log.store_event("1", answer(1))
        await log.store_event("1", note("of the second request"))
        assert await replayed(log, old) == (["answer"], None)

    run(main)


def test_the_oldest_go_first_but_a_stream_that_goes_on_is_not_forgotten() -> None:
    async def main() -> None:
        log = EventLog(max_events=4)
        first = await log.store_event("1", None)
        for number in range(10):
            await log.store_event("2", note(str(number)))
        assert len(log) == 4
        await log.store_event("1", answer(1))
        assert await replayed(log, first) == (["answer"], None)

    run(main)


def test_a_stream_that_nobody_will_ask_for_is_dropped() -> None:
    async def main() -> None:
        log = EventLog(max_bytes=1000)
        first = await log.store_event("1", None)
        other = await log.store_event("2", note("x" * 800))
        await log.store_event("1", answer(1))
        log.forget("1")
        log.forget("3")
        assert len(log) == 1
        assert await replayed(log, first) == ([], None)
        await log.store_event("2", note("y" * 100))  # for which there is room
        assert await replayed(log, other) == (["y" * 100], "2")
        assert len(log) == 2

    run(main)


def test_answered_streams_are_forgotten() -> None:
    async def main() -> None:
        log = EventLog(max_events=4)
        for number in range(1000):
            await log.store_event(str(number), None)
            await log.store_event(str(number), answer(number))
        assert len(log) == 4
        assert len(log._by_name) == len(log._by_number) == 2

    run(main)


def test_streams_that_end_without_an_answer_are_forgotten() -> None:
    async def main() -> None:
        log = EventLog()
        for number in range(10_000):
            await log.store_event(str(number), None)
            log.end(str(number))
        assert len(log) == len(log._by_name) == len(log._by_number) == 256

    run(main)


def test_an_answer_that_comes_after_the_end_belongs_to_the_request_that_ended() -> None:
    async def main() -> None:
        log = EventLog()
        first = await log.store_event("1", None)
        log.end("1")
        await log.store_event("1", answer(1))
        second = await log.store_event("1", None)
        log.end("1")
        third = await log.store_event("1", None)
        await log.store_event("1", note("of the third"))
        assert await replayed(log, first) == (["answer"], None)
        assert await replayed(log, second) == ([], None)
        assert await replayed(log, third) == (["of the third"], "1")

    run(main)


def test_bytes_are_bounded_and_the_newest_event_is_kept() -> None:
    async def main() -> None:
        log = EventLog(max_bytes=1000)
        first = await log.store_event("1", None)
        for _ in range(50):
            await log.store_event("1", note("x" * 100))
        assert len(log) < 10
        await log.store_event("1", note("y" * 5000))
        assert await replayed(log, first) == (["y" * 5000], "1")

    run(main)


def test_events_stored_during_a_replay_are_part_of_it() -> None:
    async def main() -> None:
        log = EventLog()
        first = await log.store_event("1", None)
        await log.store_event("1", note("a"))
        found = []

        async def send(event: EventMessage) -> None:
            found.append(getattr(event.message, "method", "answer"))
            if found == ["a"]:
                await log.store_event("1", answer(1))

        assert await log.replay_events_after(first, send) is None
        assert found == ["a", "answer"]

    run(main)

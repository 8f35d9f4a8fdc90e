"""The form of an answer within a session: JSON for what is over in a moment, events for the rest."""

from __future__ import annotations

import pytest

from longwire.endpoints import Http
from longwire.product.catalog import Answer, Call, Catalog, Tool
from raw_http import call, raw_session
from transport_bench import LOCAL, Bench, serving

AT = Http(LOCAL)
NOTHING = {"type": "object", "properties": {}}


class Polled(Bench):
    """With a tool that sends its client away until the result is there."""

    def catalog(self) -> Catalog:
        return Catalog(tools=[*super().catalog().tools, Tool("later", "L", "Later.", NOTHING, self._later)])

    async def _later(self, call: Call) -> Answer:
        assert call.context.close_sse_stream is not None
        await call.context.close_sse_stream()
        return await self._wait(call)


async def test_a_quick_answer_is_json_and_leaves_nothing_to_resume() -> None:
    async with serving(AT) as server, raw_session(server.where) as session:
        answer = await session.post(call(1, text="a"))
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["mcp-session-id"] == session.headers["Mcp-Session-Id"]
        assert answer.json()["result"]["structuredContent"]["text"] == "a"
        for last in ("1-1", "2-2"):
            again = {**session.headers, "Last-Event-ID": last}
            assert (await session.http.get(session.url, headers=again)).status_code == 400


async def test_a_client_that_names_events_first_gets_them() -> None:
    async with serving(AT) as server, raw_session(server.where) as session:
        session.headers["Accept"] = "text/event-stream, application/json"
        async with session.stream(call(1)) as stream:
            first, last = [event async for event in stream]
        assert (first.message, last.message["id"]) == ({}, 1)


async def test_what_takes_longer_is_a_stream_with_an_id_to_come_back_with() -> None:
    async with (
        serving(AT) as server,
        raw_session(server.where) as session,
        session.stream(call(1, "wait")) as stream,
    ):
        first = await anext(stream)
        assert (first.message, first.retry) == ({}, "1000")
        server.bench.release.set()
        last = await anext(stream)
        assert last.message["id"] == 1
        assert int(last.id.partition("-")[2]) > int(first.id.partition("-")[2])
        assert [event async for event in stream] == []


async def test_older_clients_get_no_empty_event() -> None:
    async with serving(AT) as server, raw_session(server.where, "2025-06-18") as session:
        session.headers["Accept"] = "text/event-stream, application/json"
        async with session.stream(call(1)) as stream:
            assert [event.message["id"] async for event in stream] == [1]


@pytest.mark.parametrize(
    "accept", ["application/json, text/event-stream", "text/event-stream, application/json"]
)
async def test_a_tool_may_send_its_client_away_at_once(accept: str) -> None:
    async with serving(AT, bench=Polled()) as server, raw_session(server.where) as session:
        session.headers["Accept"] = accept
        async with session.stream(call(1, "later")) as stream:
            (only,) = [event async for event in stream]
        assert only.message == {}
        await server.bench.started.reaches()
        async with session.resume(only.id) as stream:
            server.bench.release.set()
            assert [event.message["id"] async for event in stream if event.message] == [1]


async def test_a_session_that_ends_during_a_call_ends_its_stream() -> None:
    async with (
        serving(AT) as server,
        raw_session(server.where) as session,
        session.stream(call(1, "wait")) as stream,
    ):
        await anext(stream)
        await session.http.delete(session.url, headers=session.headers)
        await server.bench.cancelled.reaches()
        assert [event.message async for event in stream if "result" in event.message] == []

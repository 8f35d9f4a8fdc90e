"""The life of a session: whose it is, how it begins and ends, and its limits."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types

from core_bench import BOB, EVENTS_FIRST, Asking, CoreClient, Running, call, cancel, reply_of, running
from fake_journal import FakeJournal
from longwire.product.catalog import Answer, Call
from longwire.settings import Settings, WireLimits
from raw_http import HELLO
from waiting import until


async def test_a_session_is_only_for_who_began_it(served: Running) -> None:
    client = served.client.begin()
    thief = CoreClient(served.core, BOB)
    thief.headers = dict(client.headers)
    for answer in (thief.post(call(1, "plain")), thief.get(), thief.send("DELETE")):
        assert (answer.status, reply_of(answer)["error"]["message"]) == (404, "Session not found")
    assert client.post(call(1, "plain")).status == 200


async def test_the_header_names_the_version_that_was_agreed_on(served: Running) -> None:
    client = served.client.begin("2025-06-18")
    wrong = {"MCP-Protocol-Version": "2025-11-25"}
    for answer in (client.post(call(1), wrong), client.send("GET", headers=wrong)):
        assert answer.status == 400
        assert re.search("2025-11-25.*2025-06-18", reply_of(answer)["error"]["message"])
    assert client.post(call(1, "plain"), {"MCP-Protocol-Version": None}).status == 200


async def test_nothing_but_a_handshake_begins_one(served: Running) -> None:
    for message in (call(1), cancel(1), {"jsonrpc": "2.0", "id": 1, "result": {}}):
        answer = served.client.post(message)
        assert (answer.status, answer.headers) == (400, {})
        assert reply_of(answer)["error"]["message"] == "Bad Request: Missing session ID"
    assert served.client.post(HELLO, {"Mcp-Session-Id": "0" * 32}).status == 404  # no client chooses its id
    assert len(served.sessions) == served.counters.sessions_created == 0


async def test_ending_a_session_stops_its_work(served: Running) -> None:
    client = served.client.begin()
    streaming, waiting = client.post(call(7, "wait"), EVENTS_FIRST), client.post(call(8, "wait"))
    get = client.get()
    await served.bench.started.reaches(2)
    assert client.send("DELETE").status == 200
    await served.bench.cancelled.reaches(2)
    await waiting.over()
    assert (streaming.gone, get.gone, waiting.status) == (True, True, 404)
    assert "the session ended before the request did" in waiting.body.decode()
    assert client.send("DELETE").status == client.post(call(9)).status == 404


async def test_a_full_table_makes_room_by_ending_an_idle_session() -> None:
    async with running(WireLimits(max_sessions=2, safe_idle=0)) as served:
        idle, busy = served.client.begin(), served.client.begin()
        first = busy.post(call(1, "wait"), EVENTS_FIRST)
        new = served.client.begin()
        assert idle.post(call(1)).status == 404
        second = new.post(call(1, "wait"), EVENTS_FIRST)
        full = served.client.post(HELLO)
        assert (full.status, full.headers[b"retry-after"]) == (503, b"5")
        assert (reply_of(full)["id"], reply_of(full)["error"]["code"]) == (0, -32010)
        served.bench.release.set()
        await until(lambda: first.gone and second.gone)


async def test_what_handlers_leave_for_the_end_of_a_session_is_done(served: Running) -> None:
    done: list[str] = []

    async def leaving(context: Any, call_next: Any) -> Any:
        connection = context.session  # the SDK's own way to a connection is private
        done.append(connection.protocol_version)
        return await call_next(context)

    client = served.behind(leaving)
    session = next(iter(served.sessions))
    client.post(call(1, "plain"))
    session.connection.exit_stack.callback(done.append, "cleaned up")
    client.send("DELETE")
    await until(lambda: "cleaned up" in done)
    assert session.connection is None


async def test_a_client_over_its_limit_is_told_when_to_come_back() -> None:
    async with running(settings=Settings(calls_each=1)) as served:
        client = served.client.begin()
        first = client.post(call(1, "wait"))
        await served.bench.started.reaches()
        events = client.post(call(2, "plain"), EVENTS_FIRST)  # which have no status to say it by
        for answer in (client.post(call(2, "plain")), events, served.client.stateless(call(2, "plain"))):
            assert (answer.status, answer.headers[b"retry-after"]) == (429, b"1")
            assert (reply_of(answer)["id"], reply_of(answer)["error"]["code"]) == (2, -32010)
        served.limits.stop()
        for answer in (client.post(call(3, "plain")), served.client.stateless(call(3, "plain"))):
            assert (answer.status, answer.headers[b"retry-after"]) == (503, b"1")
        served.bench.release.set()
        await first.over()


# ---- messages and the store -------------------------------------------------------------------


@asynccontextmanager
async def talking(limits: WireLimits) -> AsyncIterator[tuple[Running, CoreClient, FakeJournal]]:
    """A session with a tool that sends a thousand notifications; its store waits for the test."""

    async def talk(call: Call) -> Answer:
        for number in range(1000):
            params = types.LoggingMessageNotificationParams(level="info", data=number)
            note = types.LoggingMessageNotification(params=params)
            await call.context.session.send_notification(note, related_request_id=call.context.request_id)
            served.bench.started.add()
        return {"sent": 1000}

    journal = FakeJournal(at_once=True)
    async with running(limits, bench=Asking(talk=talk), journal=journal) as served:
        client = served.client.begin()
        journal.at_once = False
        yield served, client, journal


async def test_a_tool_sends_no_faster_than_the_store_takes_it() -> None:
    async with talking(WireLimits()) as (served, client, journal):
        answer = client.post(call(7, "talk"), EVENTS_FIRST)
        while not answer.gone:
            await until(lambda: journal.waiting or answer.gone)
            assert journal.waiting < 1000
            journal.store()
        found = [json.loads(text) for text in answer.messages]
        assert [one["params"]["data"] for one in found[:-1]] == list(range(1000))
        assert "result" in found[-1]
        assert served.counters.messages_dropped == 0


async def test_a_call_whose_messages_the_store_does_not_take_in_time_is_told_so() -> None:
    async with talking(WireLimits(send_timeout=0.02)) as (served, client, journal):
        answer = client.post(call(7, "talk"), EVENTS_FIRST)
        await until(lambda: served.bench.started.count)
        await until(lambda: not served.limits.in_flight)
        assert served.bench.started.count < 1000
        await until(lambda: journal.store() or answer.gone)
        sentence = reply_of(answer)["error"]["message"]
        assert "more messages than the session store took within 0.02 s" in sentence


async def test_announcements_are_no_faster_than_the_store_takes_them() -> None:
    async with talking(WireLimits()) as (served, client, journal):
        answer = client.get()
        note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%d}}'
        told = asyncio.ensure_future(served.sessions.notify(None, [note % data for data in range(1000)]))
        while not told.done() or journal.waiting:
            journal.store()
            for _ in range(500):  # more than there is room for
                await asyncio.sleep(0)
        assert [json.loads(text)["params"]["data"] for text in answer.messages] == list(range(1000))
        assert served.counters.messages_dropped == 0

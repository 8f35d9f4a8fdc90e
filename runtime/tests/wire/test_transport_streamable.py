"""Streamable HTTP: sessions, resuming, bad input, and what the SDK alone would get wrong."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import anyio
import pytest

from longwire.endpoints import Http
from longwire.settings import Settings
from raw_http import (
    ACCEPT,
    HELLO,
    RawSession,
    call,
    http_client,
    modern,
    open_session,
    raw_session,
    silent_reader,
)
from transport_bench import LOCAL, serving

AT = Http(LOCAL)


def code(response: Any) -> tuple[int, int]:
    return response.status_code, response.json()["error"]["code"]


async def test_bad_bodies_are_answered_in_both_eras_and_the_session_goes_on() -> None:
    bad: list[tuple[bytes, tuple[int, int]]] = [
        (b"{", (400, -32700)),
        (b"", (400, -32700)),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', (400, -32700)),
        (b"[" * 5000 + b"]" * 5000, (400, -32600)),
        (json.dumps([call(1)]).encode(), (400, -32600)),
        (b"[]", (400, -32600)),
        (b'"text"', (400, -32600)),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', (400, -32600)),
        (b'{"jsonrpc":"2.0","id":1}', (400, -32600)),
        (json.dumps(call(1, text="x" * 200_000)).encode(), (413, -32600)),
    ]
    settings = Settings(body=100_000, grace=0.2)
    async with serving(AT, settings=settings) as server, raw_session(server.where) as session:
        for body, expected in bad:
            assert code(await session.post(body)) == expected, body[:40]
            headers = modern(call(1))[1]
            assert code(await session.http.post(session.url, content=body, headers=headers)) == expected
        assert (await session.post(call(1))).status_code == 200


async def test_a_body_without_a_length_is_cut_off_where_it_gets_too_long() -> None:
    async with serving(AT, settings=Settings(body=50_000, grace=0.2)) as server:
        headers = {**ACCEPT, "Transfer-Encoding": "chunked"}
        async with silent_reader(server.where, "POST", headers) as stream:
            for _ in range(6):
                await stream.send(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
            answer = b""
            with suppress(anyio.EndOfStream):  # nor is the rest waited for
                while True:
                    answer += await stream.receive()
            assert answer.startswith(b"HTTP/1.1 413 ")
            assert b"over 50000 bytes" in answer


async def test_an_id_in_flight_is_refused_within_a_session_only() -> None:
    async with (
        serving(AT) as server,
        raw_session(server.where) as session,
        anyio.create_task_group() as tasks,
    ):
        answers: list[Any] = []

        async def wait(of: RawSession) -> None:
            answers.append((await of.post(call(7, "wait"))).text)

        tasks.start_soon(wait, session)
        await server.bench.started.reaches()
        answer = await session.post(call(7))
        assert code(answer) == (400, -32600)
        assert "still in flight" in answer.text
        assert (await session.post(call("7"))).json()["id"] == "7"  # another id
        other = await open_session(server.where, session.http)
        tasks.start_soon(wait, other)
        await server.bench.started.reaches(2)
        server.bench.release.set()
        while len(answers) < 2:
            await anyio.lowlevel.checkpoint()
        assert all('"waited":true' in text.replace(" ", "") for text in answers)
        assert (await session.post(call(7))).status_code == 200  # free again


async def test_cancelling_frees_the_id_and_ends_the_stream() -> None:
    async with serving(AT) as server, raw_session(server.where) as session:
        async with session.stream(call(7, "wait")) as stream:
            await server.bench.started.reaches()
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
            assert (await session.post(cancel)).status_code == 202
            await server.bench.cancelled.reaches()
            answers = [event.message async for event in stream if event.message]
        assert answers == []  # a cancelled request gets no reply
        assert (await session.post(call(7))).status_code == 200


async def test_one_session_is_never_sent_what_another_was() -> None:
    """Streams are named by request id alone; with one log for all, B would be sent A's result."""

    async with serving(AT) as server, raw_session(server.where) as a:
        b = await open_session(server.where, a.http)
        async with (
            a.stream(call(7, "wait", text="of A")) as of_a,
            b.stream(call(7, "wait", text="of B")) as of_b,
        ):
            await anext(of_a)
            last = await anext(of_b)
        assert int(last.retry or 0) > 0  # when to come back
        await server.bench.started.reaches(2)
        server.bench.release.set()
        await server.limits.idle()
        async with b.resume(last.id) as stream:
            got = [event.message["result"]["structuredContent"] async for event in stream]
        assert got == [{"waited": "of B"}]


async def test_a_lost_connection_is_resumed_and_nothing_is_lost() -> None:
    async with serving(AT) as server, raw_session(server.where) as session:
        async with session.stream(call(7, "wait")) as stream:
            first = await anext(stream)
        # The client is gone, its work isn't: it may come back.
        await server.bench.started.reaches()
        assert server.bench.cancelled.count == 0
        server.bench.release.set()
        await server.limits.idle()
        async with session.resume(first.id) as stream:
            got = [event.message async for event in stream]  # which ends, as there is no more to come
        assert [message["id"] for message in got] == [7]


@pytest.mark.parametrize("event_id", ["1-1-1", "9999-1", "x", "-1-0", "1-" + "9" * 5000])
async def test_event_ids_that_never_were(event_id: str) -> None:
    async with serving(AT) as server, raw_session(server.where) as session:
        headers = {**session.headers, "Last-Event-ID": event_id}
        refused = await session.http.get(session.url, headers=headers)
        assert refused.status_code == 400
        assert "error" in refused.json()
        assert (await session.post(call(1))).status_code == 200


async def test_ending_a_session_stops_its_work() -> None:
    async with serving(AT) as server, raw_session(server.where) as session:
        async with session.stream(call(7, "wait")) as stream:
            await anext(stream)
            await server.bench.started.reaches()
        assert (await session.http.delete(session.url, headers=session.headers)).status_code == 200
        await server.bench.cancelled.reaches()
        assert (await session.post(call(8))).status_code == 404


async def test_a_session_that_nobody_uses_ends_with_its_work() -> None:
    settings = Settings(idle_timeout=0.1, grace=0.2)
    async with serving(AT, settings=settings) as server, raw_session(server.where) as session:
        async with session.stream(call(7, "wait")) as stream:
            await anext(stream)
            await server.bench.started.reaches()
        await server.bench.cancelled.reaches()
        assert (await session.post(call(8))).status_code == 404


async def test_a_client_of_the_stateless_era_that_leaves_stops_its_work() -> None:
    async with serving(AT) as server, http_client() as http:
        body, headers = modern(call(1, "wait"))
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                await http.post(server.where, json=body, headers=headers)

            tasks.start_soon(ask)
            await server.bench.started.reaches()
            tasks.cancel_scope.cancel()
        await server.bench.cancelled.reaches()


async def test_progress_reaches_clients_of_both_eras_by_plain_http() -> None:
    """In the SDK's JSON-only mode it would be dropped."""

    async with serving(AT) as server, raw_session(server.where) as session:
        request = call(1, "steps")
        request["params"]["_meta"] = {"progressToken": "t"}
        answer = await session.post(request)
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.text.count("notifications/progress") == 3
        body, headers = modern(call(1, "steps"))
        body["params"]["_meta"] = {**body["params"]["_meta"], "progressToken": "t"}
        answer = await session.http.post(session.url, json=body, headers=headers)
        assert answer.text.count("notifications/progress") == 3


async def test_blanks_after_a_header_value_do_not_count() -> None:
    """httptools leaves them there, and the header then differs from the body."""

    async with serving(AT) as server:
        body, headers = modern(call(1))
        headers["Mcp-Name"] = "echo \t "
        async with silent_reader(server.where, "POST", headers, json.dumps(body).encode()) as stream:
            assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")


async def test_a_full_table_of_sessions_makes_room_by_ending_an_idle_one() -> None:
    settings = Settings(max_sessions=2, safe_idle=0, grace=0.2)
    async with serving(AT, settings=settings) as server, raw_session(server.where) as idle:
        busy = await open_session(server.where, idle.http)
        async with busy.stream(call(1, "wait")) as stream:
            await anext(stream)
            await server.bench.started.reaches()
            new = await open_session(server.where, idle.http)
            assert (await new.post(call(1))).status_code == 200
            assert (await idle.post(call(1))).status_code == 404
            async with new.stream(call(2, "wait")) as another:
                await anext(another)
                await server.bench.started.reaches(2)
                full = await idle.http.post(server.where, json=HELLO, headers=ACCEPT)
                assert full.status_code == 503
            server.bench.release.set()


async def test_a_stream_that_is_not_read_does_not_stall_its_session_for_good() -> None:
    """Without a deadline for writing, every answer of the session would wait for that stream."""

    settings = Settings(write_timeout=0.2, grace=0.2)
    async with (
        serving(AT, settings=settings) as server,
        raw_session(server.where) as session,
        silent_reader(session.url, "GET", session.headers) as stream,
    ):
        await stream.receive(10)  # it is open
        assert "shouted" in (await session.post(call(1, "shout"))).text
        assert (await session.post(call(2))).status_code == 200


async def test_many_calls_over_many_connections_do_not_all_start() -> None:
    settings = Settings(calls_each=5, grace=0.2)
    async with serving(AT, settings=settings) as server, raw_session(server.where) as session:
        texts: list[str] = []

        async def ask(number: int) -> None:
            texts.append((await session.post(call(number, "wait"))).text)
            if len(texts) == 95:
                server.bench.release.set()

        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(ask, number)
        assert server.bench.most == 5
        assert sum("5 requests of this client are in flight" in text for text in texts) == 95

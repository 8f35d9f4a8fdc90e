"""Requests for sessions of other nodes: passed on as they are, taken over, or refused clearly."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from fake_nodes import LIMITS, SESSION, Node, answered, ask, get, hello, pair, post
from fake_responder import FakeResponder
from longwire.cluster import cluster_handler
from longwire.cluster.cluster_handler import ClusterHandler
from longwire.cluster.forwarding import Forwarder
from longwire.cluster.signatures import FORWARDED, Signatures
from longwire.errors import ClusterUnavailable
from longwire.principals.principal import Holders, Principal
from longwire.sessions.session import LOST_CALL
from longwire.wire.http.request import Request, Responder
from waiting import until


def reason(responder: FakeResponder) -> str:
    return str(json.loads(responder.body)["error"]["message"])


async def test_answers_come_back_as_they_are_and_the_principal_goes_along() -> None:
    async with pair(hello) as (one, other):
        request = post(authorization="Bearer secret")
        request.principal = Principal.of_token("ci", tools=frozenset({"x"}))
        request.address = "10.1.2.3"
        for _ in range(3):  # over one connection
            found = await ask(one, request)
            assert json.loads(found.body) == {
                "principal": "token:ci",
                "address": "10.1.2.3",
                "method": "POST",
            }
            assert (found.status, found.kind) == (200, b"application/json")
            assert found.headers == {b"mcp-session-id": b"a-1"}
        assert "authorization" not in other.seen[0].headers
        assert FORWARDED not in other.seen[0].headers
        assert other.seen[0].principal.tools == frozenset({"x"})
        await until(lambda: one.counters.requests_forwarded == 3)  # counted after the answer
        assert one.ownership.finds == 1  # an owner is remembered for a moment
        assert not one.seen


async def test_what_needs_no_other_node_stays_here() -> None:
    async with pair(hello) as (one, other):
        one.sessions.add("b-1")
        await ask(one, Request("POST", "/mcp", headers={}))
        await ask(one, post(**{"mcp-session-id": "b-1"}))
        await ask(one, post(**{"mcp-protocol-version": "2026-07-28"}))
        await ask(one, post(**{"mcp-session-id": "x" * 1000}))
        head = get()
        head.method = "HEAD"
        await ask(one, head)
        assert (len(one.seen), len(other.seen), one.ownership.finds) == (5, 0, 0)


# ---- streams --------------------------------------------------------------------------------------------


class Streaming:
    """An owner whose events a test writes."""

    def __init__(self) -> None:
        self.responder: Responder | None = None
        self.began = asyncio.Event()
        self.left = asyncio.Event()
        self.room = 0

    def __call__(self, _: Request, responder: Responder) -> None:
        self.responder = responder
        responder.on_gone(self.left.set)
        responder.begin_events(((b"mcp-session-id", b"a-1"),))
        self.began.set()

    def send(self, events: bytes) -> None:
        assert self.responder is not None
        self.responder.send(events)


async def test_events_come_one_by_one_and_the_end_with_them() -> None:
    owner = Streaming()
    async with pair(owner) as (one, _):
        client = FakeResponder()
        one.public.handle(get(), client)
        await owner.began.wait()
        for number in range(1, 4):
            owner.send(b"id: %d\ndata: {}\n\n" % number)
            await until(lambda number=number: len(client.events) == number)
        assert client.headers == {b"mcp-session-id": b"a-1"}
        assert owner.responder is not None
        owner.responder.end()
        await answered(client)
        assert client.ended


async def test_a_client_that_leaves_is_gone_for_the_owner() -> None:
    owner = Streaming()
    async with pair(owner) as (one, _):
        client = FakeResponder()
        one.public.handle(get(), client)
        await until(lambda: client.began)
        client.drop()
        async with asyncio.timeout(30):
            await owner.left.wait()
        await until(lambda: one.forwarder.under_way == 0)


async def test_a_stream_ends_with_its_owner_and_never_within_an_event() -> None:
    async def half(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head + b"100\r\nid: 1\ndata: {}\n\nid: 2\ndata: {")
        await writer.drain()
        writer.close()

    async with pair(hello) as (one, other):
        server = await asyncio.start_server(half, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        one.ownership.place = replace(other.place, address=address)
        client = await ask(one, get())
        assert client.text == b"id: 1\ndata: {}\n\n"
        assert client.ended
        server.close()


async def test_a_stream_ends_with_the_token_that_opened_it() -> None:
    owner = Streaming()
    async with pair(owner) as (one, _):
        client, request = FakeResponder(), get()
        request.principal = Principal.of_token("ci")
        one.public.handle(request, client)
        await until(lambda: client.began)
        one.forwarder.end_gone(Holders(frozenset({"token:other"})))
        assert not client.gone
        one.forwarder.end_gone(Holders(frozenset({"token:ci"})))
        assert client.ended
        async with asyncio.timeout(30):
            await owner.left.wait()


async def test_no_more_is_read_than_the_client_takes() -> None:
    """The owner sends until its own connection is full, and goes on when the client reads."""
    owner, event = Streaming(), b"data: " + b"x" * 100_000 + b"\n\n"
    most = 120
    async with pair(owner) as (one, _):
        client = FakeResponder(reading=False)
        one.public.handle(get(), client)
        await owner.began.wait()
        assert owner.responder is not None
        for _ in range(most):
            owner.send(event)
        await until(lambda: client.text)
        size, still = -1, 0
        while still < 100:  # turns of the loop, in each of which it would read
            still = still + 1 if len(client.text) == size else 0
            size = len(client.text)
            await asyncio.sleep(0)
        assert size < 1 << 20
        assert owner.responder.unsent > 0
        client.read()
        await until(lambda: len(client.text) == most * len(event))


# ---- owners that don't answer ---------------------------------------------------------------------------


def taking(one: Node) -> Callable[[str], Awaitable[bool]]:
    async def take(session_id: str) -> bool:
        await asyncio.sleep(0)
        one.sessions.add(session_id)
        return True

    return take


async def test_a_dead_owners_session_is_taken_over_once_by_all_who_ask() -> None:
    async with pair(hello) as (one, other):
        one.ownership.place = replace(other.place, alive=False)
        one.ownership.take = taking(one)
        found = await asyncio.gather(*(ask(one, post()) for _ in range(20)))
        assert [each.status for each in found] == [200] * 20
        assert (one.ownership.finds, one.ownership.take_overs) == (1, 1)
        assert not other.seen


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_an_owner_that_can_t_be_reached_is_taken_over_from(method: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        nobody = f"http://127.0.0.1:{probe.getsockname()[1]}"
    async with pair(hello) as (one, other):
        one.ownership.place = replace(other.place, address=nobody)
        one.ownership.take = taking(one)
        request = post()
        request.method = method
        assert (await ask(one, request)).status == 200
        assert one.counters.forwards_failed == {"unreachable": 1}


async def test_a_session_that_moved_is_looked_for_again() -> None:
    async with pair(hello) as (one, other):
        third = Node("c", hello)
        async with third.open():
            third.sessions.add(SESSION)
            other.sessions.clear()
            find = one.ownership.find

            async def moved(session_id: str) -> Any:
                found = await find(session_id)
                one.ownership.place = third.place
                return found

            one.ownership.find = moved  # type: ignore[method-assign]
            assert (await ask(one, post())).status == 200
            assert (len(other.seen), len(third.seen)) == (0, 1)
            assert other.refused == {"peer_moved": 1}


async def test_a_node_that_is_not_trusted_is_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    async with pair(hello) as (one, other):
        forwarder = Forwarder(Signatures(b"x" * 32, "b", "x", time.time), LIMITS, one.lives)
        handler = ClusterHandler(
            one.local, one.sessions, one.ownership, forwarder, one.counters, node="b", incarnation="life"
        )
        responder = FakeResponder()
        handler.handle(post(), responder)
        await answered(responder)
        assert responder.status == 503
        assert b"don't accept each other's requests" in responder.body
        assert one.counters.forwards_failed == {"rejected": 1}
        assert other.refused == {"peer_forged": 1}
        assert any("'a' rejects the requests of this one" in line for line in caplog.messages)
        await handler.close()
        forwarder.close()


async def test_calls_that_died_with_their_node_are_answered() -> None:
    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()

    async with pair(hello) as (one, other):
        server = await asyncio.start_server(die, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        one.ownership.place = replace(other.place, address=address)
        one.ownership.take = taking(one)
        call = await ask(one, post())
        assert (call.status, json.loads(call.body)["id"], reason(call)) == (200, 1, LOST_CALL)
        notice = await ask(one, post({"jsonrpc": "2.0", "method": "notifications/x"}))
        assert notice.status == 503
        assert (await ask(one, get())).status == 200  # which may be asked twice: taken over
        server.close()


async def test_an_owner_that_says_nothing_is_not_waited_for() -> None:
    async with pair(lambda request, responder: None) as (one, _):
        found = await ask(one, post())
        assert (found.status, found.headers) == (503, {b"retry-after": b"1"})
        assert reason(found) == "the node that has this session doesn't answer: try again"


async def test_a_machine_that_is_cut_off_is_not_waited_for() -> None:
    """No connection is refused or ends: only the lease of the node does."""
    owner = Streaming()
    async with pair(owner) as (one, _):
        client = FakeResponder()
        one.public.handle(get(), client)
        await owner.began.wait()
        owner.send(b"id: 1\ndata: {}\n\n")
        await until(lambda: len(client.events) == 1)
        one.alive = False
        await answered(client)
        assert client.ended
    async with pair(lambda request, responder: None) as (one, _):
        one.alive = False
        one.ownership.take = taking(one)
        assert (await ask(one, get())).status == 200
        one.sessions.clear()
        assert reason(await ask(one, post())) == LOST_CALL


async def test_unknown_sessions_are_unknown_and_redis_that_is_gone_is_said() -> None:
    async with pair(hello) as (one, _):
        one.ownership.place = None
        assert (await ask(one, post())).status == 404
        one.ownership.place = ClusterUnavailable("Redis is gone: try again")
        found = await ask(one, post())
        assert (found.status, found.headers) == (503, {b"retry-after": b"1"})
        assert reason(found) == "Redis is gone: try again"
        one.sessions.add(SESSION)
        assert (await ask(one, post())).status == 200  # what is here goes on


async def test_the_last_known_owner_answers_while_redis_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pair(hello) as (one, other):
        assert (await ask(one, post())).status == 200
        one.ownership.place = ClusterUnavailable("Redis is gone: try again")
        monkeypatch.setattr(cluster_handler, "_FRESH", 0.0)  # what was found was found long ago
        assert (await ask(one, post())).status == 200
        assert (one.ownership.finds, len(other.seen)) == (2, 2)


async def test_a_take_over_that_another_won_goes_to_that_node() -> None:
    async with pair(hello) as (one, other):
        one.ownership.place = replace(other.place, alive=False)

        async def lose(_: str) -> bool:
            one.ownership.place = other.place
            return False

        one.ownership.take = lose
        assert (await ask(one, post())).status == 200
        assert len(other.seen) == 1


async def test_searches_that_find_nothing_are_bounded() -> None:
    async with pair(hello) as (one, _):
        alice, bob = Principal.of_token("alice"), Principal.of_token("bob")

        async def status(session_id: str, principal: Principal) -> FakeResponder:
            request = post(**{"mcp-session-id": session_id})
            request.principal = principal
            return await ask(one, request)

        assert (await status("a-1", alice)).status == 200
        place, one.ownership.place = one.ownership.place, None
        misses = 0
        while (last := await status(f"a-guess{misses}", alice)).status == 404:
            misses += 1
        assert last.status == 429
        assert last.headers[b"retry-after"] == b"1"
        assert "begin one" in reason(last)
        assert misses >= 1000
        assert one.ownership.finds == 1 + misses  # what is refused costs nothing
        assert one.counters.refused["searches"] == 1
        # Others may search, and a session that was found before is still found.
        assert (await status("a-guess", bob)).status == 404
        one.ownership.place = place
        assert (await status("a-1", alice)).status == 200

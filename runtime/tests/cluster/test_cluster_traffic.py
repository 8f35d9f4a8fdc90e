"""Requests for sessions of other nodes: passed on as they are, taken over, or refused clearly."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from fake_nodes import KEY, SESSION, Node, ask, get, hello, pair, post
from fake_responder import FakeResponder
from longwire.cluster import cluster_handler, forwarding
from longwire.cluster.signatures import FORWARDED, Signatures
from longwire.errors import ClusterUnavailable
from longwire.principals.principal import Holders, Principal
from longwire.sessions.session import LOST_CALL
from longwire.wire.http.request import Request, Responder
from restarts import free_port
from waiting import until


def reason(responder: FakeResponder) -> str:
    return str(json.loads(responder.body)["error"]["message"])


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less time for owners than in earnest."""
    monkeypatch.setattr(forwarding, "_HEAD_SECONDS", 0.3)
    monkeypatch.setattr(forwarding, "_LOOK_SECONDS", 0.1)


async def test_answers_come_back_as_they_are_and_the_principal_goes_along() -> None:
    async with pair(hello) as (one, other):
        request = post(authorization="Bearer secret")
        request.principal = Principal.of_token("ci", tools=frozenset({"x"}))
        request.address = "10.1.2.3"
        for _ in range(3):  # over one connection
            found = await ask(one, request)
            sender = {"principal": "token:ci", "address": "10.1.2.3", "method": "POST"}
            assert json.loads(found.body) == sender
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
        owner.responder.end()
        await until(lambda: client.ended)


async def test_a_client_that_leaves_is_gone_for_the_owner() -> None:
    owner = Streaming()
    async with pair(owner) as (one, _):
        client = FakeResponder()
        one.public.handle(get(), client)
        await until(lambda: client.began)
        client.drop()
        await until(owner.left.is_set)
        await until(lambda: not one.forwarder._under_way)


Talk: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def beside(talk: Talk) -> AsyncIterator[Node]:
    """A node beside one that talks to each of its connections like this."""
    async with pair(hello) as (one, other), await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        one.ownership.place = replace(other.place, address=address)
        yield one


async def test_a_stream_ends_with_its_owner_and_never_within_an_event() -> None:
    async def half(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head + b"100\r\nid: 1\ndata: {}\n\nid: 2\ndata: {")
        await writer.drain()
        writer.close()

    async with beside(half) as one:
        client = await ask(one, get())
        assert client.text == b"id: 1\ndata: {}\n\n"
        assert client.ended


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
        await until(owner.left.is_set)


async def test_no_more_is_read_than_the_client_takes() -> None:
    """The owner sends until its own connection is full, and goes on when the client reads."""
    owner, event = Streaming(), b"data: " + b"x" * 100_000 + b"\n\n"
    most = 120
    async with pair(owner) as (one, _):
        client = FakeResponder(reading=False)
        one.public.handle(get(), client)
        await owner.began.wait()
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


@pytest.mark.parametrize("request_", [post(), get()], ids=["POST", "GET"])
async def test_an_owner_that_can_t_be_reached_is_taken_over_from(request_: Request) -> None:
    async with pair(hello) as (one, other):
        one.ownership.place = replace(other.place, address=f"http://127.0.0.1:{free_port()}")
        one.ownership.take = taking(one)
        assert (await ask(one, request_)).status == 200
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
    async with pair(hello, key=b"x" * 32) as (one, other):
        responder = await ask(one, post())
        assert responder.status == 503
        assert b"don't accept each other's requests" in responder.body
        assert one.counters.forwards_failed == {"rejected": 1}
        assert other.refused == {"peer_forged": 1}
        assert any("'a' rejects the requests of this one" in line for line in caplog.messages)


async def test_calls_that_died_with_their_node_are_answered() -> None:
    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()

    async with beside(die) as one:
        one.ownership.take = taking(one)
        call = await ask(one, post())
        assert (call.status, json.loads(call.body)["id"], reason(call)) == (200, 1, LOST_CALL)
        notice = await ask(one, post({"jsonrpc": "2.0", "method": "notifications/x"}))
        assert notice.status == 503
        assert (await ask(one, get())).status == 200  # which may be asked twice: taken over


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
        await until(lambda: client.ended)
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


# ---- the port for other nodes ---------------------------------------------------------------------------


async def test_forged_requests_are_refused_counted_and_not_served(caplog: pytest.LogCaptureFixture) -> None:
    other = Node("a", hello)
    other.sessions.add(SESSION)
    right = Signatures(KEY, "b", "x", time.time).header(post(), "a", "a-life")
    for header, status in (
        (None, 403),
        ("v1 nonsense", 403),
        (right[:-4] + "0000", 403),
        (right, 200),
        (right, 403),
    ):
        found = FakeResponder()
        other.peers.handle(post(**({} if header is None else {FORWARDED: header})), found)
        assert found.status == status
        assert b"secret" not in found.body
    assert other.refused == {"peer_unsigned": 1, "peer_forged": 2, "peer_replayed": 1}
    assert len(other.seen) == 1
    assert right.split()[-1] not in caplog.text


async def test_the_public_port_believes_no_signature() -> None:
    async with pair(hello) as (one, other):
        request = post()
        request.principal = Principal.of_token("root")
        header = Signatures(KEY, "c", "x", time.time).header(request, "b", "b-life")
        stranger = post(**{FORWARDED: header})
        stranger.principal = Principal.of_address("10.0.0.7")
        found = await ask(one, stranger)
        assert json.loads(found.body)["principal"] == "address:10.0.0.7"
        assert FORWARDED not in other.seen[0].headers


async def test_a_request_makes_one_hop() -> None:
    """Two nodes that each believe that the other has the session don't send it to and fro."""
    async with pair(hello) as (one, other):
        other.sessions.clear()
        other.ownership.place = one.place
        assert (await ask(one, post())).status == 503
        assert other.ownership.finds == 0


def test_the_body_of_an_unsigned_request_is_not_read() -> None:
    node, found = Node("a", hello), FakeResponder()
    assert not node.peers.admits(Request("POST", "/mcp", headers={"host": "a"}), found)
    assert found.status == 403
    assert node.refused == {"peer_unsigned": 1}
    assert node.peers.admits(post(**{FORWARDED: "v1"}), FakeResponder())

"""HTTP with server-sent events, by hand: bad input, ids in flight, streams of others."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2

from longwire.endpoints import Http
from longwire.guard.access import Access
from longwire.guard.tokens import TokenFile
from longwire.settings import Settings
from raw_http import HELLO, call, http_client
from transport_bench import LOCAL, serving

AT = Http(LOCAL, frozenset({"sse"}))


class RawSse:
    """A connection: a stream of events, and the address for messages."""

    def __init__(self, http: httpx2.AsyncClient, url: str, events: AsyncIterator[tuple[str, str]]) -> None:
        self.http = http
        self.url = url
        self._events = events

    async def post(self, message: Any) -> httpx2.Response:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.http.post(self.url, content=body, headers={"Content-Type": "application/json"})

    async def receive(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await anext(self._events))[1])
        return found


@asynccontextmanager
async def raw_sse(url: str) -> AsyncIterator[RawSse]:
    async with http_client() as http, http.stream("GET", url) as response:
        assert response.status_code == 200
        events = _events(response)
        kind, path = await anext(events)
        assert kind == "endpoint"
        yield RawSse(http, urljoin(url, path), events)


async def _events(response: httpx2.Response) -> AsyncIterator[tuple[str, str]]:
    kind = ""
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, line.removeprefix("data: ")


async def test_bad_bodies_are_answered_and_the_connection_goes_on() -> None:
    settings = Settings(body=100_000, grace=0.2)
    async with serving(AT, settings=settings) as server, raw_sse(server.where) as client:
        for body, status in (
            (b"{", 400),
            (b"[" * 9000, 400),
            (json.dumps(call(1, text="x" * 200_000)).encode(), 413),
        ):
            answer = await client.post(body)
            assert answer.status_code == status
            assert answer.json()["error"]["code"] in (-32700, -32600)
        assert (await client.post(HELLO)).status_code == 202
        assert (await client.receive())["id"] == 0


async def test_an_id_that_is_in_flight_is_refused_and_the_first_call_goes_on() -> None:
    async with serving(AT) as server, raw_sse(server.where) as client:
        await client.post(HELLO)
        await client.receive()
        await client.post(call(7, "wait"))
        await server.bench.started.reaches()
        await client.post(call("7"))
        refused = await client.receive()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        server.bench.release.set()
        assert (await client.receive())["result"]["structuredContent"] == {"waited": True}
        await client.post(call(7))
        assert "result" in await client.receive()


async def test_messages_for_connections_that_are_not_there() -> None:
    async with serving(AT) as server, raw_sse(server.where) as client:
        for query, status in (("", 400), ("?session_id=x", 400), ("?session_id=" + "0" * 32, 404)):
            client.url = urljoin(server.where, "/messages/") + query
            assert (await client.post(HELLO)).status_code == status


async def test_a_stream_is_its_tokens_alone_ends_with_it_and_with_what_it_may_do(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("ann ann-has-this-token\nbob bob-has-this-token\n")
    tokens = TokenFile(str(path))
    ann, bob = ({"Authorization": f"Bearer {token}"} for token in tokens)
    async with (
        serving(AT, access=Access(tokens)) as server,
        http_client() as http,
        http.stream("GET", server.where, headers=ann) as anns,
        http.stream("GET", server.where, headers=bob) as bobs,
    ):
        stays, ended = _events(anns), _events(bobs)
        where = urljoin(server.where, (await anext(stays))[1])
        for headers, status in ((bob, 404), (ann, 202)):
            assert (await http.post(where, json=HELLO, headers=headers)).status_code == status
        await anext(ended)
        path.write_text("[tokens.ann]\ntoken = 'ann-has-this-token'\ntools = ['echo']\n")
        tokens.reload()
        assert [event async for event in ended] == []
        answer = await http.post(where, json=HELLO, headers=ann)
        assert answer.status_code == 404  # the next stream has the tools that are allowed now


async def test_clients_beyond_the_limit_are_turned_away_and_leaving_makes_room() -> None:
    settings = Settings(connections=1, grace=0.2)
    async with serving(AT, settings=settings) as server, http_client() as http:
        async with raw_sse(server.where):
            late = await http.get(server.where)
            assert late.status_code == 503
            assert "too many clients" in late.text
        for _ in range(100):  # the server notices in its own time that one has left
            async with http.stream("GET", server.where) as again:
                if again.status_code == 200:
                    return
        raise AssertionError("no room was made")

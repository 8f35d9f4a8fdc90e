"""The embedded endpoints: every way of speaking over each of them, and answers without the SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from endpoint_bench import (
    INITIALIZED,
    META,
    STATUS,
    WAYS,
    Measured,
    at_socket,
    call,
    hello,
    lines_to,
    opening,
    request,
    structured,
)
from longwire.product.app import build_server
from longwire.wire.messages import parse
from longwire.wire.quick import QuickAnswers
from longwire.wire.serving import Handshake

# ---- a Unix socket ------------------------------------------------------------------------------


async def test_all_ways_of_speaking_on_one_connection(tmp_path: Path) -> None:
    async with at_socket(tmp_path) as (bench, client):
        for number, way in enumerate(["bare", "envelope", "handshake", "envelope", "bare"]):
            if way == "handshake":
                assert (await client.ask(hello()))["result"]["protocolVersion"] == "2025-11-25"
                await client.send(INITIALIZED)
            listed = await client.ask(request("list", "tools/list", way))
            assert "vmaf.status" in [tool["name"] for tool in listed["result"]["tools"]]
            answer = await client.ask(call(number, way=way, text="hä"))
            assert structured(answer) == {"text": "hä", "client": "uds:1"}
            assert ("resultType" in answer["result"]) == (way == "envelope")
            assert structured(await client.ask(call("status", "vmaf.status", way)))["fps"] == STATUS["fps"]
        assert (bench.quick, bench.slow) == (5, 0)


async def test_requests_sent_along_with_the_handshake_are_served_at_its_version(tmp_path: Path) -> None:
    async with at_socket(tmp_path) as (bench, client):
        await client.send(hello(1, "2024-11-05"), call(2, "vmaf.status"))
        answers = {answer["id"]: answer["result"] for answer in [await client.receive() for _ in range(2)]}
        assert answers[1]["protocolVersion"] == "2024-11-05"
        assert (await client.ask(call(4, "vmaf.status")))["result"] == answers[2]
        assert (bench.slow, bench.quick) == (1, 1)


async def test_who_sends_no_more_but_reads_gets_its_answer_however_long_it_takes(tmp_path: Path) -> None:
    """As `echo … | socat - UNIX:…` does."""
    async with at_socket(tmp_path) as (bench, client):
        await client.send(call(1, "vmaf.status"), call(2, "wait"), call(3))
        await client.socket.send_eof()
        await bench.started.reaches()
        assert {(await client.receive())["id"] for _ in range(2)} == {1, 3}
        bench.release.set()
        assert (await client.receive())["id"] == 2


async def test_a_flood_does_not_keep_others_waiting(tmp_path: Path) -> None:
    async with at_socket(tmp_path) as (bench, flood), lines_to(tmp_path / "s") as other:
        await other.ask(call(0))
        many = 1000
        await flood.send(*(call(number, "vmaf.status") for number in range(many)))
        assert (await other.ask(call(1, "vmaf.status")))["id"] == 1
        assert bench.quick < many  # it had its turn in between
        for number in range(many):
            assert (await flood.receive())["id"] == number


# ---- HTTP ---------------------------------------------------------------------------------------


async def post(http: httpx2.AsyncClient, url: str, message: Any, **headers: str) -> httpx2.Response:
    return await http.post(url, json=message, headers=headers)


@asynccontextmanager
async def at_sse(*, fast: bool = True) -> AsyncIterator[tuple[Measured, httpx2.AsyncClient, str]]:
    """A server with event streams, and its address."""
    bench = Measured()
    async with (
        opening(bench, fast=fast) as endpoints,
        endpoints.port("sse", 0, "/mcp/sse") as opened,
        httpx2.AsyncClient(timeout=30, trust_env=False) as http,
    ):
        yield bench, http, next(one.where for one in opened if one.transport == "sse")


async def lines_of(response: httpx2.Response) -> AsyncIterator[str]:
    """Lines that end with a line feed: aiter_lines() takes other characters of JSON for ends of lines."""
    rest = ""
    async for text in response.aiter_text():
        *whole, rest = (rest + text).split("\n")
        for line in whole:
            yield line


class Stream:
    """A stream of events, and the address for its messages."""

    def __init__(self, http: httpx2.AsyncClient, url: str, response: httpx2.Response) -> None:
        self.http = http
        self.url = url
        self.headers = response.headers
        self._lines = lines_of(response)

    async def event(self, kind: str) -> str:
        """The data of the next event, which is of this kind; comments don't count."""
        fields: dict[str, str] = {}
        async for line in self._lines:
            if not line and fields:
                break
            name, colon, value = line.partition(": ")
            fields |= {name: value} if colon and name else {}
        assert fields["event"] == kind
        return fields["data"]

    async def receive(self) -> dict[str, Any]:
        return json.loads(await self.event("message"))


@asynccontextmanager
async def stream_at(http: httpx2.AsyncClient, url: str, **headers: str) -> AsyncIterator[Stream]:
    """A stream whose first two events have been read."""
    async with http.stream("GET", url, headers=headers) as response:
        stream = Stream(http, url, response)
        ready = json.loads(await stream.event("ready"))
        assert ready["server"] == {"name": "bench", "version": "1"}
        endpoint = await stream.event("endpoint")
        assert endpoint == ready["endpoint"]
        stream.url = urljoin(url, endpoint)
        yield stream


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fast", [True, False])
async def test_each_way_of_speaking_on_a_stream(way: str, fast: bool) -> None:
    async with at_sse(fast=fast) as (bench, http, url), stream_at(http, url) as stream:
        if way == "handshake":
            assert (await post(http, stream.url, hello())).status_code == 202
            assert (await stream.receive())["result"]["serverInfo"]["name"] == "bench"
            assert (await post(http, stream.url, INITIALIZED)).status_code == 202
        for number, tool in enumerate(["echo", "vmaf.status"]):
            accepted = await post(http, stream.url, call(number, tool, way))
            assert (accepted.status_code, accepted.text) == (202, "Accepted")
            assert (await stream.receive())["id"] == number
        assert (bench.quick, bench.slow) == ((1, 0) if fast else (0, 1))


@pytest.mark.parametrize("way", WAYS[1:])
async def test_without_a_stream_the_answer_is_in_the_reply(way: str) -> None:
    replies = []
    for fast in (True, False):
        async with at_sse(fast=fast) as (bench, http, url):
            reply = await post(http, url, call(3, "vmaf.status", way))
            assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
            replies.append(reply.content)
            listed = await post(http, url, request("x", "tools/list", way))
            assert "vmaf.status" in [tool["name"] for tool in listed.json()["result"]["tools"]]
            assert (bench.quick, bench.slow) == ((1, 0) if fast else (0, 1))
    assert replies[0] == replies[1]


@pytest.mark.parametrize("tool", ["vmaf.status", "echo"])
async def test_a_page_of_this_machine_may_read_its_answer(tool: str) -> None:
    async with at_sse() as (_, http, url):
        origin = "http://127.0.0.1:8000"
        reply = await post(http, url, call(1, tool), Origin=origin)
        assert reply.headers["access-control-allow-origin"] == origin
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        assert (await http.options(url, headers=asked)).status_code == 204
        for foreign in ("http://evil.example", "null"):
            assert (await post(http, url, call(1, tool), Origin=foreign)).status_code == 403
        async with stream_at(http, url, Origin=origin) as stream:
            assert stream.headers["access-control-allow-origin"] == origin


# ---- quick answers ------------------------------------------------------------------------------


async def _answers(folder: Path, fast: bool, way: str, version: str) -> list[bytes]:
    async with at_socket(folder, fast=fast) as (bench, client):
        if way == "handshake":
            await client.ask(hello(version=version))
            await client.send(INITIALIZED)
        found = []
        for number in (1, "a", 2**40, -1, 'ü"'):
            await client.send(call(number, "vmaf.status", way))
            found.append(await client.line())
        assert (bench.quick, bench.slow) == ((5, 0) if fast else (0, 5))
        return found


@pytest.mark.parametrize(
    ("way", "version"),
    [(way, "") for way in WAYS[1:]] + [("handshake", version) for version in HANDSHAKE_PROTOCOL_VERSIONS],
)
async def test_the_bytes_are_those_of_the_long_way(way: str, version: str, tmp_path: Path) -> None:
    quick = await _answers(tmp_path, True, way, version)
    assert quick == await _answers(tmp_path, False, way, version)
    assert json.loads(quick[0])["result"]["structuredContent"]["infinite"] is None


def _quick(document: Any) -> QuickAnswers:
    return QuickAnswers(build_server(Measured().catalog(), name="b", version="1"), {"vmaf.status": document})


def _answered(quick: QuickAnswers, message: dict[str, Any], *in_flight: Any) -> bool:
    return quick.answer(parse(json.dumps(message).encode()), Handshake("test"), in_flight) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"method": "tools/list"},
        {"params": None},
        {"params": {"name": "echo", "arguments": {"text": "vmaf.status"}}},
        {"params": {"name": "vmaf.status", "arguments": None}},
        {"params": {"name": "vmaf.status", "arguments": {"a": "vmaf.status"}}},
        {"params": {"name": "vmaf.status", "task": {}}},
        {"params": {"name": "vmaf.status", "_meta": {"progressToken": 1}}},
        {"params": {"name": "vmaf.status", "_meta": {**META, "io.modelcontextprotocol/clientInfo": 5}}},
        {"params": {"name": "vmaf.status", "_meta": dict(list(META.items())[:1])}},
        {"params": {"name": "vmaf.status", "_meta": [1]}},
        {"id": 7},
    ],
)
def test_a_call_that_is_not_plain_goes_to_the_sdk(changed: dict[str, Any]) -> None:
    quick = _quick(lambda: STATUS)
    assert not _answered(quick, {**call(1, "vmaf.status"), **changed}, 7)
    assert _answered(quick, call(1, "vmaf.status"), 7)


def test_a_document_that_fails_goes_to_the_sdk() -> None:
    def fails() -> dict[str, Any]:
        raise RuntimeError

    assert not _answered(_quick(fails), call(1, "vmaf.status"))

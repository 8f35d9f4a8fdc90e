"""Bytes of HTTP that no proper client sends, who may send any, and POSTs that are answered on the spot."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from endpoint_bench import Measured, call, opening, request
from endpoint_http import PATH, at_sse, http_client, post, stream_at

BODY = json.dumps(call(1, "vmaf.status")).encode()


def raw(body: bytes = BODY, *, head: str = "", host: str = "127.0.0.1", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    if "Content-Type" not in head:
        head += "Content-Type: application/json\r\n"
    return (
        f"POST {PATH} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {size}\r\n{head}\r\n".encode("latin-1")
        + body
    )


class Wire:
    """A connection, raw."""

    def __init__(self, stream: anyio.abc.SocketStream) -> None:
        self.stream = stream
        self._buffer = b""

    async def status(self) -> int:
        """Read one answer, head and body."""
        while b"\r\n\r\n" not in self._buffer:
            self._buffer += await self.stream.receive()
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields.get(b"content-length", b"0"))
        while len(self._buffer) < length:
            self._buffer += await self.stream.receive()
        self.body, self._buffer = self._buffer[:length], self._buffer[length:]
        return int(head.split()[1])


@asynccontextmanager
async def wired() -> AsyncIterator[tuple[Measured, Wire]]:
    async with at_sse() as (bench, _, url):
        port = int(url.split(":")[2].split("/")[0])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            yield bench, Wire(stream)


async def test_quick_and_usual_posts_take_turns_on_one_connection() -> None:
    async with wired() as (bench, wire):
        usual = json.dumps(call(2)).encode()
        await wire.stream.send(raw() + raw(usual) + raw() + raw(usual) + raw())
        seen = []
        for _ in range(5):
            assert await wire.status() == 200
            seen.append(json.loads(wire.body)["id"])
        assert seen == [1, 2, 1, 2, 1]  # in order: HTTP has no other way to tell them apart
        assert bench.quick == 3
        await wire.stream.send(raw())
        assert await wire.status() == 200


@pytest.mark.parametrize(
    ("head", "host", "status"),
    [
        ("", "127.0.0.1:1234", 200),
        ("", "localhost", 200),
        ("", "evil.example", 421),
        ("", "127.0.0.1.evil.example", 421),
        ("Origin: http://localhost:3000\r\n", "127.0.0.1", 200),
        ("Origin: http://127.0.0.1:8000\r\n", "127.0.0.1", 200),
        ("Origin: http://evil.example\r\n", "127.0.0.1", 403),
        ("Origin: null\r\n", "127.0.0.1", 403),
    ],
)
async def test_only_this_machines_pages_may_ask(head: str, host: str, status: int) -> None:
    async with wired() as (bench, wire):
        for body in (BODY, json.dumps(request(1, "tools/list")).encode()):
            await wire.stream.send(raw(body, head=head, host=host))
            assert await wire.status() == status
        assert bench.quick == (status == 200)


@pytest.mark.parametrize("tool", ["vmaf.status", "echo"])
async def test_a_page_may_read_its_answer(tool: str) -> None:
    async with at_sse() as (_, http, url):
        origin = "http://127.0.0.1:8000"
        reply = await post(http, url, call(1, tool), Origin=origin)
        assert reply.headers["access-control-allow-origin"] == origin
        assert "Origin" in reply.headers["vary"]
        assert "access-control-allow-origin" not in (await post(http, url, call(1, tool))).headers
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        allowed = await http.options(url, headers=asked)
        assert allowed.status_code == 204
        assert "Content-Type" in allowed.headers["access-control-allow-headers"]
        refused = await http.options(url, headers={**asked, "Origin": "http://evil.example"})
        assert refused.status_code == 403
        image = await http.get(url, headers={"Sec-Fetch-Site": "cross-site"})
        assert image.status_code == 403
        async with stream_at(http, url, Origin=origin) as stream:
            assert stream.headers["access-control-allow-origin"] == origin


async def test_streamable_http_takes_all_ways() -> None:
    async with opening(Measured()) as endpoints, endpoints.http(0) as endpoint, http_client() as http:
        assert endpoint[0].where.endswith("/mcp")
        bare = await post(http, endpoint[0].where, call(1, "vmaf.status"))
        assert bare.json()["result"]["structuredContent"]["paused"] is False
        none = await post(http, endpoint[0].where, call(1), **{"Mcp-Session-Id": "0" * 32})
        assert none.status_code == 404

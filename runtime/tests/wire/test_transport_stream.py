"""Connections over plain bytes: what isn't a message is answered, and the connection goes on."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from descriptor_client import Descriptors
from longwire.endpoints import Pair, open_endpoint
from longwire.guard.access import Access
from longwire.principals.limits import CallLimits
from longwire.product.app import build_server
from longwire.settings import Settings
from longwire.wire.framing import FramingName
from longwire.wire.serving import Serving
from raw_http import HELLO, modern
from raw_http import call as raw_call
from transport_bench import Bench


class Wire:
    """The client's end of a connection, raw."""

    def __init__(self, bench: Bench, read: int, write: int) -> None:
        self.bench = bench
        self.over = anyio.Event()
        self.bytes = Descriptors(read, write)
        self._write = write
        self._buffer = b""

    async def send(self, *messages: Any) -> None:
        for message in messages:
            text = message if isinstance(message, bytes) else json.dumps(message).encode()
            await self.bytes.send(text + b"\n")

    async def receive(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            data = await self.bytes.receive()
            if not data:
                raise EOFError
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        found: dict[str, Any] = json.loads(line)
        return found

    async def error(self) -> tuple[int, Any, str]:
        answer = await self.receive()
        return answer["error"]["code"], answer["id"], answer["error"]["message"]

    def close(self) -> None:
        if self._write >= 0:
            os.close(self._write)
        self._write = -1


def call(number: Any, tool: str = "echo", era: str = "legacy", **arguments: Any) -> dict[str, Any]:
    asked = raw_call(number, tool, **arguments)
    return asked if era == "legacy" else modern(asked)[0]


@asynccontextmanager
async def wired(
    settings: Settings | None = None, framing: FramingName = "lines", era: str = ""
) -> AsyncIterator[Wire]:
    """A server at one end of two pipes, and the other end, which has shaken hands in the older era."""
    settings = settings or Settings()
    bench = Bench()
    server = build_server(bench.catalog(), name="bench", version="1", middleware=[CallLimits(settings)])
    (theirs_read, ours_write), (ours_read, theirs_write) = os.pipe(), os.pipe()
    wire = Wire(bench, ours_read, ours_write)

    def ended() -> None:
        os.close(theirs_write)
        wire.over.set()

    try:
        endpoint = Pair(theirs_read, theirs_write, framing, ended)
        async with open_endpoint(endpoint, Serving(server, settings.wire_limits(), {}, Access())):
            if era == "legacy":
                await wire.send(HELLO)
                await wire.receive()
            yield wire
    finally:
        wire.close()
        os.close(theirs_read)
        os.close(ours_read)


BAD = [
    (b"{", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
    (b"[]", -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    (b" " * 10 + b"x" * 300_000, -32600),
]


async def test_what_is_no_message_is_answered_and_the_connection_goes_on() -> None:
    async with wired(Settings(body=200_000)) as wire:
        for text, code in BAD:
            await wire.send(text)
            assert (await wire.error())[0] == code, text[:40]
        await wire.send(HELLO)
        assert (await wire.receive())["id"] == 0
        await wire.send(call(1, text="a"))
        assert (await wire.receive())["result"]["structuredContent"]["text"] == "a"


BAD_PARAMS = [
    ("tools/call", {}, "'params.name' is missing"),
    ("tools/call", {"name": 3}, "'params.name' should be a string"),
    ("tools/call", {"name": "echo", "arguments": [1]}, "'params.arguments' should be an object"),
    ("completion/complete", {"argument": {"name": "a", "value": "b"}}, "'params.ref' is missing"),
]


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_params_that_are_missing_or_wrong_are_named(era: str) -> None:
    async with wired(era=era) as wire:
        for method, params, problem in BAD_PARAMS:
            asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            await wire.send(asked if era == "legacy" else modern(asked)[0])
            expected = f"invalid request parameters of {method}: {problem}"
            assert await wire.error() == (-32602, 1, expected)
        if era == "legacy":
            await wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
            expected = "invalid request parameters of tools/call: 'params' is missing"
            assert await wire.error() == (-32602, 1, expected)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_an_id_that_is_in_flight_is_refused_and_the_first_call_goes_on(era: str) -> None:
    async with wired(era=era) as wire:
        await wire.send(call(7, "wait", era))
        await wire.bench.started.reaches()
        for again in (7, "7"):
            await wire.send(call(again, "echo", era))
            code, about, reason = await wire.error()
            assert (code, about) == (-32600, None)
            assert "still in flight" in reason
        wire.bench.release.set()
        assert (await wire.receive())["result"]["structuredContent"] == {"waited": True}
        await wire.send(call(7, "echo", era))  # free again
        assert "result" in await wire.receive()


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_cancelled_call_stops_is_not_answered_and_its_id_is_free_again(era: str) -> None:
    async with wired(era=era) as wire:
        await wire.send(call(7, "wait", era))
        await wire.bench.started.reaches()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        await wire.send(cancel)
        await wire.bench.cancelled.reaches()
        await wire.send(call(7, "echo", era, text="after"))
        assert (await wire.receive())["result"]["structuredContent"]["text"] == "after"


async def test_a_client_that_does_not_read_is_dropped_and_its_work_stops() -> None:
    async with wired(Settings(write_timeout=0.1), era="legacy") as wire:
        await wire.send(call(1, "wait"))
        await wire.bench.started.reaches()
        await wire.send(call(2, text="x" * 200_000))  # the answer is more than a pipe holds
        await wire.over.wait()
        assert wire.bench.cancelled.count == 1


async def test_a_client_that_does_not_read_cannot_fill_the_memory() -> None:
    """It is not read from either once as many answers wait as calls may run."""
    settings = Settings(calls_each=4, write_timeout=60)
    async with wired(settings, era="legacy") as wire:
        sent = 0
        with anyio.move_on_after(0.3):
            for number in range(1000):
                await wire.send(call(number, text="x" * 50_000))
                sent += 1
        assert sent < 100


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_end_of_input_stops_work_but_quick_calls_are_answered(era: str) -> None:
    async with wired(era=era) as wire:
        await wire.send(call(1, "wait", era))
        await wire.bench.started.reaches()
        await wire.send(call(2, "turns", era))
        wire.close()
        assert (await wire.receive())["result"]["structuredContent"] == {"turns": 200}
        await wire.over.wait()
        assert wire.bench.cancelled.count == 1


async def test_a_client_that_is_gone_ends_its_connection() -> None:
    bench = Bench()
    server = build_server(bench.catalog(), name="bench", version="1")
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    over = anyio.Event()
    endpoint = Pair(theirs.fileno(), theirs.fileno(), on_end=over.set)
    async with open_endpoint(endpoint, Serving(server, Settings().wire_limits(), {}, Access())):
        ours.sendall(json.dumps(HELLO).encode() + b"\n" + json.dumps(call(1, "wait")).encode() + b"\n")
        await bench.started.reaches()
        ours.close()  # with an answer unread: a reset
        await over.wait()
        assert bench.cancelled.count == 1
    theirs.close()


async def test_content_length_both_ways_and_lost_framing_ends_the_connection() -> None:
    async with wired(framing="auto") as wire:
        hello = json.dumps(HELLO).encode()
        await wire.bytes.send(b"Content-Length: %d\r\n\r\n%b" % (len(hello), hello))
        answer = await wire.bytes.receive()
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head == b"Content-Length: %d" % len(body)
        assert json.loads(body)["id"] == 0
        await wire.bytes.send(b"Content-Length: 2\r\n\r\n{]")  # bad JSON, but where it ends is clear
        assert b"-32700" in await wire.bytes.receive()
        await wire.bytes.send(b"Content-Length: nine\r\n\r\n")
        assert b"no Content-Length" in await wire.bytes.receive()
        await wire.over.wait()

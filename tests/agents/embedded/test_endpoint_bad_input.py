"""What no proper client sends: the right error where there is an id, an end where the way is lost."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from descriptor_client import Descriptors
from endpoint_bench import Measured, at_socket, call, lines_to, opening, request
from longwire.settings import WireLimits
from longwire.wire.framing import FRAMINGS, Fault, FramingName

BAD: list[tuple[bytes, int, Any]] = [
    (b"{", -32700, None),
    (b"nonsense", -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, None),
    (b"\x00\x01\x02", -32700, None),
    (b"[" * 5000, -32600, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":NaN}}', -32700, None),
    (b"[]", -32600, None),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
    (b"5", -32600, None),
    (b"{}", -32600, None),
    (b'{"jsonrpc":"2.0","id":1}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', -32602, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["vmaf.status"]}}', -32602, 1),
    (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vmaf.status","arguments":[]}}',
        -32602,
        1,
    ),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vmaf.status","_meta":5}}', -32602, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602, 1),
    (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vmaf.status",'
        b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}',
        -32602,
        1,
    ),
    (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vmaf.status","_meta":'
        b'{"io.modelcontextprotocol/protocolVersion":"2099-01-01",'
        b'"io.modelcontextprotocol/clientCapabilities":{}}}}',
        -32022,
        1,
    ),
]


@pytest.mark.parametrize(("text", "code", "number"), BAD)
async def test_it_is_answered_and_the_connection_goes_on(
    text: bytes, code: int, number: Any, tmp_path: Path
) -> None:
    async with at_socket(tmp_path) as (bench, client):
        await client.send(text)
        assert (await client.error())[:2] == (code, number)
        assert (await client.ask(call(2, "vmaf.status")))["id"] == 2
        assert (bench.quick, bench.slow) == (1, 0)


async def test_wrong_arguments_and_unknown_tools_are_failed_calls(tmp_path: Path) -> None:
    async with at_socket(tmp_path) as (_, client):
        extra = await client.ask(call(1, "vmaf.status", more=1))
        assert extra["result"]["isError"] is True
        assert "has no argument 'more'" in extra["result"]["content"][0]["text"]
        assert (await client.ask(call(2, "vmaf.nothing")))["result"]["isError"] is True


async def test_who_begins_a_message_and_does_not_end_it_is_dropped(tmp_path: Path) -> None:
    limits = WireLimits(read_timeout=0.05)
    bench, path = Measured(), tmp_path / "s"
    async with opening(bench, limits) as endpoints, endpoints.uds(path), lines_to(path) as idle:
        async with lines_to(path) as slow:
            await slow.socket.send(b'{"jsonrpc"')
            code, number, reason = await slow.error()
            assert (code, number) == (-32600, None)
            assert reason == "the message took more than 0.05 seconds"
            assert await slow.closed()
        # Who has begun nothing may be silent for as long as it likes.
        assert (await idle.ask(call(1)))["id"] == 1


async def test_a_drip_of_bytes_is_no_excuse(tmp_path: Path) -> None:
    async with at_socket(tmp_path, WireLimits(read_timeout=0.05)) as (_, client):

        async def drip() -> None:
            try:
                while True:
                    await client.socket.send(b" x")
                    await anyio.lowlevel.checkpoint()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drip)
            code, _, reason = await client.error()
            assert code == -32600
            assert "seconds" in reason or "longer" in reason


async def test_messages_one_after_the_other_are_not_one_slow_message(tmp_path: Path) -> None:
    """Each packet ends in the middle of a message, so that one is always unfinished."""
    limits = WireLimits(read_timeout=0.2)
    async with at_socket(tmp_path, limits) as (_, client):
        text = json.dumps(call(1)).encode() + b"\n"
        until = anyio.current_time() + 3 * limits.read_timeout
        await client.socket.send(text[:20])
        while anyio.current_time() < until:
            await client.socket.send(text[20:] + text[:20])
            assert (await client.receive())["id"] == 1


class Pair:
    """A client of two pipes."""

    def __init__(self, read: int, write: int, framing: FramingName) -> None:
        self._bytes = Descriptors(read, write)
        self._framing = FRAMINGS[framing](1 << 20)
        self._frames: list[Any] = []
        self.over = anyio.Event()

    async def raw(self, data: bytes) -> None:
        await self._bytes.send(data)

    async def send(self, message: Any) -> None:
        await self.raw(self._framing.wrap(json.dumps(message).encode()))

    async def receive(self) -> dict[str, Any]:
        while not self._frames:
            data = await self._bytes.receive()
            if not data:
                raise EOFError
            self._frames = self._framing.feed(data)
        frame = self._frames.pop(0)
        assert not isinstance(frame, Fault)
        found: dict[str, Any] = json.loads(frame)
        return found


@asynccontextmanager
async def at_pipes(framing: FramingName, limits: WireLimits | None = None) -> AsyncIterator[Pair]:
    (theirs_read, write), (read, theirs_write) = os.pipe(), os.pipe()
    client = Pair(read, write, framing)
    try:
        async with opening(Measured(), limits) as endpoints:
            async with endpoints.pair(theirs_read, theirs_write, framing, client.over.set):
                yield client
            assert os.get_blocking(theirs_read)  # its flags are its owner's business
    finally:
        for descriptor in (theirs_read, write, read, theirs_write):
            os.close(descriptor)


@pytest.mark.parametrize("framing", ["lines", "content-length", "auto"])
async def test_two_descriptors(framing: FramingName) -> None:
    async with at_pipes(framing) as client:
        for number, tool in enumerate(["vmaf.status", "echo", "vmaf.status"]):
            await client.send(call(number, tool))
            assert (await client.receive())["id"] == number
        await client.send(call(9, text="x" * 60_000))  # more than a pipe takes at once
        assert len((await client.receive())["result"]["structuredContent"]["text"]) == 60_000


async def test_files_serve_as_descriptors(tmp_path: Path) -> None:
    """Requests from a file, answers into another: scripts do that."""
    asked = [call(1, "vmaf.status"), request(2, "tools/list"), call(3)]
    (tmp_path / "in").write_text("".join(json.dumps(message) + "\n" for message in asked))
    over = anyio.Event()
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        read, write = source.fileno(), target.fileno()
        async with opening(Measured()) as endpoints, endpoints.pair(read, write, "lines", over.set):
            await over.wait()
    lines = (tmp_path / "out").read_text().strip().split("\n")
    assert sorted(json.loads(line)["id"] for line in lines) == [1, 2, 3]


async def test_one_socket_as_both_descriptors() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        async with opening(Measured()) as endpoints:
            number = theirs.fileno()
            async with endpoints.pair(number, number, "lines", lambda: None):
                client = Pair(ours.fileno(), ours.fileno(), "lines")
                await client.send(call(1, "vmaf.status"))
                assert (await client.receive())["id"] == 1

"""Workers for the checks: one that does everything, and some that each break the contract in one way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from longwire.contract.frames import FrameDecoder, FrameError, decode
from longwire.contract.writing import encode

Answer = Callable[[dict[str, Any]], list[dict[str, Any]]]
HELLO = {"mode": "mcp", "event": "hello", "contract": 1, "name": "odd", "version": "1", "max_in_flight": 4}


class OddWorker(asyncio.Protocol):
    """A worker that knows hello, ping and initialize; what else it sends is up to the test."""

    def __init__(self, odd: Answer, hello: dict[str, Any]) -> None:
        self.odd = odd
        self.hello = hello
        self.decoder = FrameDecoder()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for text in self.decoder.feed(data):
                for document in self.answers(decode(text)):
                    self.transport.write(encode({"mode": "mcp", **document}))
        except FrameError:
            self.transport.abort()

    def answers(self, frame: dict[str, Any]) -> list[dict[str, Any]]:
        event = frame.get("event")
        if event == "hello":
            return [self.hello]
        if event == "ping":
            return [{"event": "pong", "id": frame["id"]}]
        return self.odd(frame) if event == "message" else []


def reply(frame: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The result of a call with an empty reply."""
    jsonrpc = frame["jsonrpc"]
    if "id" not in jsonrpc:
        return {"event": "result", "id": frame["id"], "jsonrpc": None}
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": jsonrpc["id"], "result": {}}
    if jsonrpc["method"] == "initialize":
        about = {"name": "odd", "version": "1"}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": about}
    elif jsonrpc["method"] != "ping":
        del answer["result"]
        answer["error"] = {"code": -32601, "message": "unknown"}
    return {"event": "result", "id": frame["id"], "handled": True, "jsonrpc": {**answer, **more}}


@asynccontextmanager
async def odd_worker(path: Path, odd: Answer, hello: dict[str, Any] = HELLO) -> AsyncIterator[None]:
    """That worker while the block lasts."""
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: OddWorker(odd, hello), str(path))
    try:
        yield
    finally:
        server.close()
        with contextlib.suppress(FileNotFoundError):
            path.unlink()

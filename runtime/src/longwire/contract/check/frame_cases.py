"""Cases about frames: pieces, sizes, unknown fields and events, and bytes that are no frames."""

from __future__ import annotations

import struct
from typing import Final

from longwire.contract import writing
from longwire.contract.check.probe import Bench, Case, Probe, Run, require, texts
from longwire.contract.envelopes import Drain, Ping
from longwire.contract.frames import LONGEST, frame
from longwire.contract.writing import encode

_CLOSES: Final = 0.5  # seconds in which a worker may close a connection that it can't use
_LARGE: Final = 1 << 20


async def _pieces(bench: Bench, connection: Probe) -> None:
    hello = writing.runtime_hello("longwire worker-check", "1", "check")
    for start in range(len(hello)):
        connection.send(hello[start : start + 1])
    await connection.wait_for("hello")
    both = writing.envelope(Ping("a")) + writing.envelope(Ping("b"))
    connection.send(both[:-3])
    await connection.wait_for("pong", call="a")
    connection.send(both[-3:])
    await connection.wait_for("pong", call="b")


async def _together(bench: Bench, connection: Probe) -> None:
    connection.send(*(writing.envelope(Ping(f"t{number}")) for number in range(50)))
    for number in range(50):
        await connection.wait_for("pong", call=f"t{number}")


async def _large(bench: Bench, connection: Probe) -> None:
    text = "0123456789abcdef" * (_LARGE // 16)
    found = texts((await connection.tool("echo", {"text": text})).result)
    require(text in found, "a text of 1 MiB did not come back whole")


async def _fields(bench: Bench, connection: Probe) -> None:
    extra = {"later": {"a": [1, None]}, "jsonrpc_raw": "x"}
    require("result" in (await connection.call("ping", extra=extra)).reply, "the call failed")
    connection.send_document({"mode": "mcp", "event": "ping", "id": "x", "later": True})
    await connection.wait_for("pong", call="x")


async def _events(bench: Bench, connection: Probe) -> None:
    connection.send_document({"mode": "mcp", "event": "no_such_event", "id": "1"})
    await connection.ping()


_HARMLESS: Final = "may close its connection, and harms no other."


def _survives(data: bytes) -> Run:
    """The worker may close a connection with these bytes or ignore them, but has to serve others."""

    async def run(bench: Bench, connection: Probe) -> None:
        connection.send(data)
        await connection.ended(_CLOSES)
        await bench.prove_alive()

    return run


async def _cut(bench: Bench, connection: Probe) -> None:
    connection.send(writing.envelope(Ping("never"))[:-5])
    connection.close()
    await bench.prove_alive()


async def _silent(bench: Bench, connection: Probe) -> None:
    await bench.prove_alive()


# fmt: off
CASES: Final = (
    Case("pieces", "Frames may arrive in pieces of any size.", _pieces, greeted=False),
    Case("together", "Several frames may arrive at once.", _together),
    Case("large", "A text of 1 MiB goes both ways.", _large, "echo"),
    Case("unknown-fields", "Unknown fields are ignored.", _fields),
    Case("unknown-event", "Unknown events are ignored.", _events),
    Case("no-json", f"A frame that isn't JSON {_HARMLESS}", _survives(frame(b"{not json"))),
    Case("no-utf8", f"A frame that isn't UTF-8 {_HARMLESS}",
        _survives(frame(b'{"mode":"mcp","event":"\xff\xfe"}'))),
    Case("no-object", f"A frame with an array {_HARMLESS}", _survives(frame(b"[1,2,3]"))),
    Case("no-fields", f"A message without its fields {_HARMLESS}",
        _survives(encode({"mode": "mcp", "event": "message"}))),
    Case("empty", f"A frame of length 0 {_HARMLESS}", _survives(struct.pack(">I", 0))),
    Case("oversized", f"A length over 16 MiB {_HARMLESS}",
        _survives(struct.pack(">I", LONGEST + 1) + b"x" * 1024)),
    Case("cut", "A connection that ends in the middle of a frame harms no other.", _cut),
    Case("silent", "A connection that says nothing harms no other.", _silent, greeted=False),
    Case("no-hello", "A connection that doesn't begin with hello harms no other.",
        _survives(writing.envelope(Drain())), greeted=False),
    Case("not-a-runtime", "Bytes of another protocol harm no other connection.",
        _survives(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), greeted=False),
)
# fmt: on

"""Cases about frames: pieces, sizes, unknown fields and events, and bytes that are no frames."""

from __future__ import annotations

import struct
from typing import Final

from longwire.contract import writing
from longwire.contract.check.bench import Bench, Case, require, texts
from longwire.contract.check.probe import Probe
from longwire.contract.frames import LONGEST, encode, frame

_CLOSES: Final = 2.0  # seconds in which a worker may close a connection that it can't use
_LARGE: Final = 1 << 20


async def _pieces(bench: Bench) -> None:
    probe = await bench.open()
    hello = writing.runtime_hello("longwire worker-check", "1", "check")
    for start in range(len(hello)):
        probe.send(hello[start : start + 1])
    await probe.wait_for("hello")
    both = writing.ping("a") + writing.ping("b")
    probe.send(both[:-3])
    await probe.wait_for("pong", call="a")
    probe.send(both[-3:])
    await probe.wait_for("pong", call="b")


async def _together(bench: Bench) -> None:
    connection = await bench.connect()
    connection.probe.send(*(writing.ping(f"t{number}") for number in range(50)))
    for number in range(50):
        await connection.probe.wait_for("pong", call=f"t{number}")


async def _large(bench: Bench) -> None:
    bench.need_tool("echo")
    connection = await bench.connect()
    text = "0123456789abcdef" * (_LARGE // 16)
    found = texts((await connection.tool("echo", {"text": text})).result)
    require(text in found, "a text of 1 MiB did not come back whole")


async def _fields(bench: Bench) -> None:
    connection = await bench.connect()
    extra = {"later": {"a": [1, None]}, "jsonrpc_raw": "x"}
    require("result" in (await connection.call("ping", extra=extra)).reply, "the call failed")
    connection.probe.send_document({"mode": "mcp", "event": "ping", "id": "x", "later": True})
    await connection.probe.wait_for("pong", call="x")


async def _events(bench: Bench) -> None:
    connection = await bench.connect()
    connection.probe.send_document({"mode": "mcp", "event": "no_such_event", "id": "1"})
    await connection.ping()


async def _survives(bench: Bench, probe: Probe, data: bytes) -> None:
    """The worker may close this connection or ignore the bytes, but has to serve others."""
    probe.send(data)
    await probe.ended(_CLOSES if len(data) < 4 else _CLOSES / 4)
    await bench.prove_alive()


async def _no_json(bench: Bench) -> None:
    await _survives(bench, (await bench.connect()).probe, frame(b"{not json"))


async def _no_utf8(bench: Bench) -> None:
    await _survives(bench, (await bench.connect()).probe, frame(b'{"mode":"mcp","event":"\xff\xfe"}'))


async def _no_object(bench: Bench) -> None:
    await _survives(bench, (await bench.connect()).probe, frame(b"[1,2,3]"))


async def _no_fields(bench: Bench) -> None:
    probe = (await bench.connect()).probe
    await _survives(bench, probe, encode({"mode": "mcp", "event": "message"}))


async def _empty(bench: Bench) -> None:
    await _survives(bench, (await bench.connect()).probe, struct.pack(">I", 0))


async def _oversized(bench: Bench) -> None:
    probe = (await bench.connect()).probe
    await _survives(bench, probe, struct.pack(">I", LONGEST + 1) + b"x" * 1024)


async def _cut(bench: Bench) -> None:
    probe = (await bench.connect()).probe
    probe.send(writing.ping("never")[:-5])
    probe.close()
    await bench.prove_alive()


async def _silent(bench: Bench) -> None:
    await bench.open()
    await bench.prove_alive()


async def _no_hello(bench: Bench) -> None:
    await _survives(bench, await bench.open(), encode({"mode": "mcp", "event": "drain"}))


async def _not_a_runtime(bench: Bench) -> None:
    await _survives(bench, await bench.open(), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")


CASES: Final = (
    Case("pieces", "Frames may arrive in pieces of any size.", _pieces),
    Case("together", "Several frames may arrive at once.", _together),
    Case("large", "A text of 1 MiB goes both ways.", _large, "echo"),
    Case("unknown-fields", "Unknown fields are ignored.", _fields),
    Case("unknown-event", "Unknown events are ignored.", _events),
    Case("no-json", "A frame that isn't JSON may close its connection, and harms no other.", _no_json),
    Case("no-utf8", "A frame that isn't UTF-8 may close its connection, and harms no other.", _no_utf8),
    Case("no-object", "A frame with an array may close its connection, and harms no other.", _no_object),
    Case(
        "no-fields", "A message without its fields may close its connection, and harms no other.", _no_fields
    ),
    Case("empty", "A frame of length 0 may close its connection, and harms no other.", _empty),
    Case("oversized", "A length over 16 MiB may close its connection, and harms no other.", _oversized),
    Case("cut", "A connection that ends in the middle of a frame harms no other.", _cut),
    Case("silent", "A connection that says nothing harms no other.", _silent),
    Case("no-hello", "A connection that doesn't begin with hello harms no other.", _no_hello),
    Case("not-a-runtime", "Bytes of another protocol harm no other connection.", _not_a_runtime),
)

"""The cost of one answer of an embedded server: CPU time of its thread for each request.

    python bench/embedded_answers.py

Each client asks for vmaf.status over and over, one request at a time, on every transport and in every way of
speaking; the long way is a call that is answered through the SDK, for comparison. The limit is for sockets
and descriptors: over HTTP the parser and the application take several times as long as the answer. The best
of several batches counts: whatever else the machine does only adds to it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from acuity import EmbeddedServer, Measurement
from acuity.video.picture import Picture, PixelFormat

LIMIT_US = 100
FRAMES = 16
PATH = "/mcp/sse"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
HEADERS = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
MODERN = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: vmaf.status\r\n"


def request(number: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def call(number: int, way: str) -> bytes:
    meta = {"_meta": META} if way == "envelope" else {}
    long = {"_meta": {"progressToken": number}} if way == "long way" else {}
    return request(number, "tools/call", name="vmaf.status", arguments={}, **meta, **long)


class Lines:
    """A client with a message for each line."""

    def __init__(self, read: IO[bytes], send: Callable[[bytes], object], way: str) -> None:
        self._read = read
        self._send = send
        self._way = way
        if way == "handshake":
            send(request(0, "initialize", **HELLO) + b"\n")
            read.readline()
            send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def ask(self, number: int) -> bytes:
        self._send(call(number, self._way) + b"\n")
        return self._read.readline()


class Posts:
    """A client that posts, on one connection."""

    def __init__(self, host: str, port: int, path: str, way: str, headers: str = HEADERS) -> None:
        self._socket = socket.create_connection((host, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = self._socket.makefile("rb")
        self._head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{headers}"
        self._way = way
        if way == "handshake":
            session = self._post(request(0, "initialize", **HELLO))[0]["mcp-session-id"]
            self._head += f"Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n"
            self._post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def ask(self, number: int) -> bytes:
        return self._post(call(number, self._way))[1]

    def _post(self, body: bytes) -> tuple[dict[str, str], bytes]:
        self._socket.sendall(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self._read.readline()
        headers = {}
        while (line := self._read.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return headers, self._read.read(int(headers.get("content-length", "0")))


def cost(clock: int, ask: Callable[[int], bytes], batches: int, calls: int) -> float:
    """Microseconds of CPU for each answer, in the best batch."""
    found = []
    for batch in range(batches):
        start = time.clock_gettime(clock)
        for number in range(calls):
            answer = ask(1000 + batch * calls + number)
        found.append((time.clock_gettime(clock) - start) / calls * 1e6)
        if b'"frames_read' not in answer:
            raise SystemExit(f"that is no status: {answer!r}")
    return min(found)


def picture(index: int) -> Picture:
    rng = np.random.default_rng(index)
    return Picture((rng.integers(0, 256, (144, 176), np.uint8),), PixelFormat("400", 8))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--calls", type=int, default=200, help="of each batch (default 200)")
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        measurement = stack.enter_context(Measurement(threads=1))
        measurement.add_model("vmaf_v0.6.1")
        before = set(threading.enumerate())
        server = EmbeddedServer(measurement)
        stack.callback(server.close)
        server.start_uds(folder / "s")
        sse, http = server.start_sse(), server.start_http()
        (theirs_in, to_them), (from_them, theirs_out) = os.pipe(), os.pipe()
        server.start_stdio(theirs_in, theirs_out)
        (thread,) = set(threading.enumerate()) - before
        assert thread.ident is not None
        clock = time.pthread_getcpuclockid(thread.ident)
        for index in range(FRAMES):
            measurement.add(picture(index), picture(index + 1))

        def uds(way: str) -> Lines:
            client = socket.socket(socket.AF_UNIX)
            client.connect(str(folder / "s"))
            return Lines(client.makefile("rb"), client.sendall, way)

        pipes = os.fdopen(from_them, "rb")
        clients: dict[str, Callable[[str], Lines | Posts]] = {
            "Unix socket": uds,
            "descriptors": lambda way: Lines(pipes, lambda data: os.write(to_them, data), way),
            "SSE, POST": lambda way: Posts("127.0.0.1", sse.port, PATH, way),
            "Streamable HTTP": lambda way: Posts(
                "127.0.0.1", http.port, "/mcp", way, HEADERS + (MODERN if way == "envelope" else "")
            ),
        }
        worst = 0.0
        for name, connect in clients.items():
            for way in ("bare", "envelope", "handshake", "long way"):
                if (name, way) == ("SSE, POST", "handshake"):
                    continue  # that takes a stream for the answers
                client = connect(way)
                found = cost(clock, client.ask, args.batches, args.calls)
                if isinstance(client, Lines) and way != "long way":
                    worst = max(worst, found)
                print(f"{name:16} {way:10} {found:6.0f} µs")
        print(
            f"worst of the quick ones: {worst:.0f} µs, {worst / LIMIT_US:.2f} of the {LIMIT_US} it may take"
        )
    sys.exit(worst > LIMIT_US)


if __name__ == "__main__":
    main()

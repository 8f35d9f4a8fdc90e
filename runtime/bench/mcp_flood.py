"""How long one client waits while another floods the server: the part `flood` of mcp_runtime.py.

    python runtime/bench/mcp_flood.py PORT MESSAGE CONNECTIONS SECONDS

as a program it is the hostile client: each of its connections sends that message again and again, from an
address of its own (127.0.0.2), so that the server takes it for another principal. It prints how many answers
came, by status, after a line when all are connected.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from mcp_load import Load, Window, is_whole
from mcp_wire import HANDSHAKE

HOSTILE = "127.0.0.2"


def _ping(values: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"values": values}}).encode()


def _call(values: object) -> bytes:
    params = {"name": "echo", "arguments": {"text": "x", "values": values}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def _objects(number: int) -> list[list[dict[str, int]]]:
    """About so many values, in lists of small objects."""
    return [[{f"name{i}": i for i in range(8)} for _ in range(100)] for _ in range(number // 900)]


MESSAGES: Mapping[str, Callable[[], bytes]] = {
    "none": lambda: b"",
    "90,000 values, 1 MB": lambda: _ping(_objects(90_000)),
    "9,000 values": lambda: _ping(_objects(9_000)),
    "9,000 values, a call": lambda: _call(_objects(9_000)),
    "9,000 empty lists": lambda: _ping([[]] * 9_000),
    "1,300 values, 4 kB": lambda: _ping([0] * 1_300),
    "4 MB of escapes": lambda: _ping("é" * 690_000),
    "small": lambda: _ping(0),
}


def cpu_seconds(pid: int) -> float:
    """The processor time of a server's event loop."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def flooded(pid: int, port: int, ping: Callable[[int], bytes], name: str, seconds: float) -> str:
    """One line: what a client with one connection saw beside 60 hostile ones."""
    command = [sys.executable, __file__, str(port), name, "60", str(seconds + 1)]
    hostile = None if name == "none" else subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if hostile is not None and hostile.stdout is not None:
        hostile.stdout.readline()  # all of them send
    load = Load(port, 1)
    window, spent = Window(), Window()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        before = cpu_seconds(pid)
        found = load.run(0.0, ping, b'"result":{}')
        if found.bad:
            sys.exit(f"bench: a ping was not answered: {found.first_bad!r}")
        window.latencies += found.latencies
        spent.latencies.append(cpu_seconds(pid) - before)
        time.sleep(0.01)
    load.close()
    said = hostile.communicate()[0].strip() if hostile else "nothing"
    waited, worked = (
        f"p50 {found.percentile(0.5) * 1e3:6.1f} p99 {found.percentile(0.99) * 1e3:6.1f} ms"
        for found in (window, spent)
    )
    return f"{name:22} waited {waited}; CPU of the server {worked}; {window.count} pings; it got {said}"


def _hammer(port: int, text: bytes, ready: threading.Barrier, seconds: float, found: Counter[str]) -> None:
    with socket.create_connection(("127.0.0.1", port), 60, source_address=(HOSTILE, 0)) as client:
        hello = {
            "protocolVersion": HANDSHAKE,
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        begin = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode()
        head = _exchange(client, _post(begin, "")).partition(b"\r\n\r\n")[0].decode().lower()
        session = next((line for line in head.split("\r\n") if line.startswith("mcp-session-id:")), "")
        request = _post(text, f"{session}\r\nmcp-protocol-version: {HANDSHAKE}\r\n")
        if ready.wait() == 0:
            print("ready", flush=True)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                found[_exchange(client, request).split(b" ", 2)[1].decode()] += 1
            except OSError:
                found["connections closed"] += 1
                return


def _post(body: bytes, more: str) -> bytes:
    return (
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:80\r\ncontent-type: application/json\r\n"
        f"accept: application/json, text/event-stream\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    ).encode() + body


def _exchange(client: socket.socket, request: bytes) -> bytes:
    client.sendall(request)
    answer = b""
    while not is_whole(answer):
        received = client.recv(65536)
        if not received:
            raise ConnectionError(f"the server closed a connection: {answer[:200]!r}")
        answer += received
    return answer


def main(port: int, name: str, connections: int, seconds: float) -> None:
    found: Counter[str] = Counter()
    shared = (port, MESSAGES[name](), threading.Barrier(connections), seconds, found)
    threads = [threading.Thread(target=_hammer, args=shared) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(", ".join(f"{count} x {status}" for status, count in sorted(found.items())))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))

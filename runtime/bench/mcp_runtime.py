"""The Streamable HTTP runtime beside the SDK's own server, as ratios measured in one run.

    python runtime/bench/mcp_runtime.py [--only calls,sessions,sweep,resume,flood]

calls     `tools/call` of an echo tool, 64 connections, both eras of the protocol: requests a second, CPU time
          a request (of all processes of a server), p50 and p99. longwire-worker has the tool in one worker
          process. The SDK's `MCPServer` runs on uvicorn with httptools and uvloop, in its
          default mode (events) and with `json_response`
sessions  the memory of 10,000 sessions and of 2,000 open GETs
sweep     how long requests wait while 10,000 sessions expire at once
resume    from the restart of a killed server until a client gets the first event that it missed
flood     how long the pings of one client wait beside 60 connections of another that sends heavy messages

Servers have one core and the clients another, and the servers take turns. Answers are checked.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from mcp_flood import MESSAGES, flooded
from mcp_load import Load, Window
from mcp_processes import descendants, is_over, own_cpu_seconds
from mcp_wire import HANDSHAKE, STATELESS, free_port, wait_for

HERE = Path(__file__).parent
SERVERS = HERE / "mcp_runtime_servers.py"
TEXT = "the quick brown fox"
_INFO = {"name": "bench", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": _INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ids = count(1)

# The ratios asked for: of the SDK's default and of its json_response mode.
TARGETS = {"sdk": 6.0, "sdk-json": 3.5}
WORKER_TARGET = 4.0  # behind one worker, both processes together, of the SDK's default


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument(
        "--servers", default="longwire,longwire-task,longwire-worker,sdk,sdk-json", help="of the part 'calls'"
    )
    parser.add_argument("--rounds", type=int, default=4, help="turns of each server (default 4)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of one turn (default 4)")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--gets", type=int, default=2_000)
    args = parser.parse_args()
    unknown = [name for name in args.only.split(",") if name not in PARTS]
    if unknown:
        parser.error(f"no part is called '{unknown[0]}': use {', '.join(PARTS)}")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})
    print(f"{platform.machine()}, {len(cores)} cores, load {os.getloadavg()[0]:.2f}")
    for name in args.only.split(","):
        PARTS[name](args, cores[0])


# ---- calls --------------------------------------------------------------------------------------


def calls(args: argparse.Namespace, core: int) -> None:
    print(f"\ntools/call of an echo tool, {args.connections} connections, {args.rounds} turns each")
    names = args.servers.split(",")
    for era in (HANDSHAKE, STATELESS):
        with ExitStack() as stack:
            loads = {}
            # All are started before the first connection, which would wait too long for its request.
            started = {name: stack.enter_context(server(name, core)) for name in names}
            for name, (pid, port) in started.items():
                load = Load(port, args.connections)
                stack.callback(load.close)
                loads[name] = (pid, load, _requests(load, era, args.connections))
            found: dict[str, list[tuple[Window, float]]] = {name: [] for name in names}
            for turn in range(args.rounds + 1):
                for name, (pid, load, request) in loads.items():
                    before = _cpu_seconds(pid)
                    window = load.run(args.seconds if turn else 1.0, request, TEXT.encode())
                    if window.bad:
                        sys.exit(
                            f"bench: {name} gave {window.bad} wrong answers, the first {window.first_bad!r}"
                        )
                    if turn:  # the first warms up
                        found[name].append((window, (_cpu_seconds(pid) - before) / window.count))
            _print_calls(era, found)


def _requests(load: Load, era: str, connections: int) -> Callable[[int], bytes]:
    """Functions that make requests: with the session of each connection, or with an envelope."""
    if era == STATELESS:
        extra = {"mcp-method": "tools/call", "mcp-name": "echo"}
        return lambda _: post(_call({"_meta": _META}), STATELESS, extra)
    sessions = open_sessions(load, connections)
    return lambda number: post(_call({}), HANDSHAKE, {"mcp-session-id": sessions[number]})


def _call(more: dict[str, Any]) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": next(_ids),
        "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": TEXT}, **more},
    }


def _cpu_seconds(pid: int) -> float:
    return sum(own_cpu_seconds(one) for one in (pid, *descendants(pid)))


def _print_calls(era: str, found: dict[str, list[tuple[Window, float]]]) -> None:
    figures = {}
    for name, windows in found.items():
        rate = max(window.rate for window, _ in windows)
        cpu = statistics.median(spent for _, spent in windows)
        p50 = min(window.percentile(0.5) for window, _ in windows)
        p99 = min(window.percentile(0.99) for window, _ in windows)
        figures[name] = (rate, cpu, p99)
        print(
            f"  {era}  {name:11}  {rate:7.0f} requests/s  {cpu * 1e6:6.0f} µs CPU a request"
            f"  p50 {p50 * 1e3:6.2f} ms  p99 {p99 * 1e3:6.2f} ms",
            flush=True,
        )
    if "longwire-worker" in figures and "sdk" in figures:
        ratio = figures["sdk"][1] / figures["longwire-worker"][1]
        print(f"  {era}  longwire-worker / sdk: CPU {ratio:.1f} (target {WORKER_TARGET:g})", flush=True)
    if "longwire" not in figures:
        return
    mine = figures["longwire"]
    for peer, target in TARGETS.items():
        if peer not in figures:
            continue
        rate, cpu, p99 = figures[peer]
        print(
            f"  {era}  longwire / {peer}: requests/s {mine[0] / rate:.1f}, CPU {cpu / mine[1]:.1f} "
            f"(target {target:g} each), p99 {mine[2] / p99:.2f} (target 0.5 or less)",
            flush=True,
        )


# ---- sessions -----------------------------------------------------------------------------------


def sessions(args: argparse.Namespace, core: int) -> None:
    print(f"\nMemory of {args.sessions} sessions, then of {args.gets} open GETs")
    each: dict[str, tuple[float, float]] = {}
    for name in ("longwire", "sdk"):
        with ExitStack() as stack:
            pid, port = stack.enter_context(server(name, core))
            load = Load(port, args.connections)
            stack.callback(load.close)
            warm = open_sessions(load, 200)
            _answer_all(load, warm)
            before = _resident(pid)
            begin = time.perf_counter()
            opened = open_sessions(load, args.sessions)
            rate = args.sessions / (time.perf_counter() - begin)
            with_sessions = _resident(pid)
            _answer_all(load, opened)
            after_calls = _resident(pid)
            streams = [stack.enter_context(_get(port, session)) for session in opened[: args.gets]]
            with_gets = _resident(pid)
            _answer_all(load, opened)
            each[name] = (
                (after_calls - before) / args.sessions / 1024,
                (with_gets - after_calls) / max(len(streams), 1) / 1024,
            )
            print(
                f"  {name:7} {before / 2**20:5.0f} MiB at first, a session "
                f"{(with_sessions - before) / args.sessions / 1024:5.2f} KiB "
                f"(after a call {each[name][0]:5.2f}), a GET {each[name][1]:5.2f} KiB; "
                f"{rate:.0f} opened a second; all {len(opened)} answer",
                flush=True,
            )
    mine, theirs = each["longwire"], each["sdk"]
    print(
        f"  longwire / sdk: a session {mine[0] / theirs[0]:.2f}, a GET {mine[1] / theirs[1]:.2f} "
        "(target 0.20 or less)"
    )


def _answer_all(load: Load, opened: list[str]) -> None:
    requests = [post(_call({}), HANDSHAKE, {"mcp-session-id": session}) for session in opened]
    for answer in load.each(requests):
        if TEXT.encode() not in answer:
            sys.exit(f"bench: a session did not answer: {answer[:300]!r}")


def sweep(args: argparse.Namespace, core: int) -> None:
    print(f"\nRequests while {args.sessions} sessions expire at once")
    ttl = 5.0 + args.sessions / 1000
    with server("longwire", core, "--ttl", str(ttl)) as (_, port):
        load = Load(port, args.connections)
        opened = open_sessions(load, args.sessions)
        done = time.monotonic()
        one = Load(port, 1)
        slowest, number = 0.0, 0
        keep = open_sessions(one, 1)[0]
        while time.monotonic() < done + ttl + 3:
            window = one.run(
                0.1, lambda _: post(_call({}), HANDSHAKE, {"mcp-session-id": keep}), TEXT.encode()
            )
            slowest, number = max(slowest, max(window.latencies)), number + window.count
        gone = next(load.each([post(_call({}), HANDSHAKE, {"mcp-session-id": opened[0]})]))
        status = gone.split(b" ", 2)[1].decode()
        print(
            f"  {number} requests, the slowest {slowest * 1e3:.1f} ms (target under 50); "
            f"an expired session is answered with {status}"
        )
        one.close()
        load.close()


# ---- resume -------------------------------------------------------------------------------------


def resume(args: argparse.Namespace, core: int) -> None:
    print("\nkill -9, restart, resume with Last-Event-ID from SQLite")
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:{folder}/events.sqlite"
        port = free_port()
        process = _start("longwire", port, core, "--store", store)
        load = Load(port, 1)
        session = open_sessions(load, 1)[0]
        call = _call({"_meta": {"progressToken": 1}})
        call["params"] |= {"name": "count", "arguments": {"to": 40, "pause": 0.05}}
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(post(call, HANDSHAKE, {"mcp-session-id": session}))
            text = b""
            while text.count(b"notifications/progress") < 5:
                text += client.recv(65536)
        last = [line[4:].strip() for line in text.split(b"\n") if line.startswith(b"id:")][1].decode()
        time.sleep(0.2)  # more events are stored that the client does not get
        process.send_signal(signal.SIGKILL)
        process.wait()
        begin = time.perf_counter()
        process = _start("longwire", port, core, "--store", store)
        listening = time.perf_counter()
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(_get_request(session, last))
                text = b""
                while b"data: {" not in text:
                    text += client.recv(65536)
                first = time.perf_counter()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
        print(
            f"  first replayed event {1e3 * (first - listening):.0f} ms after the server listens "
            "(target under 1000), "
            f"{1e3 * (first - begin):.0f} ms after it was started"
        )


# ---- flood --------------------------------------------------------------------------------------


def flood(args: argparse.Namespace, core: int) -> None:
    print("\nPings of one client beside 60 hostile connections (target: p50 under 50 ms)")
    print("On a busy machine look at the processor time that the server used while a ping waited")
    for name in MESSAGES:
        with server("longwire", core) as (pid, port):
            load = Load(port, 1)
            session = open_sessions(load, 1)[0]
            load.close()
            text = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            ping = post(text, HANDSHAKE, {"mcp-session-id": session})
            print(" ", flooded(pid, port, lambda _, ping=ping: ping, name, args.seconds), flush=True)


# ---- servers and requests -----------------------------------------------------------------------


@contextmanager
def server(name: str, core: int, *more: str) -> Iterator[tuple[int, int]]:
    """A server on one core, with its process id and port."""
    port = free_port()
    process = _start(name, port, core, *more)
    try:
        yield process.pid, port
    finally:
        children = descendants(process.pid)
        process.kill()
        process.wait()
        for child in children:  # Linux ends them with their parent
            while not is_over(child):
                time.sleep(0.01)


def _start(name: str, port: int, core: int, *more: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, str(SERVERS), name, "--http", str(port), *more],
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    wait_for(port, process)
    return process


def post(message: dict[str, Any], version: str | None, headers: dict[str, str]) -> bytes:
    """A POST as bytes."""
    body = json.dumps(message).encode()
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    if version is not None:
        more += f"mcp-protocol-version: {version}\r\n"
    return (
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:80\r\ncontent-type: application/json\r\n"
        f"accept: application/json, text/event-stream\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    ).encode() + body


def open_sessions(load: Load, number: int) -> list[str]:
    """The ids of new sessions, each with its handshake done."""
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _INFO}
    begin = [
        post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, None, {})
        for _ in range(number)
    ]
    found = [_session_of(answer) for answer in load.each(begin)]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    for answer in load.each([post(ready, HANDSHAKE, {"mcp-session-id": session}) for session in found]):
        if b" 202 " not in answer.split(b"\r\n", 1)[0]:
            sys.exit(f"bench: a handshake was not taken: {answer[:300]!r}")
    return found


def _session_of(answer: bytes) -> str:
    for line in answer.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"mcp-session-id":
            return value.strip().decode()
    sys.exit(f"bench: no session was begun: {answer[:300]!r}")


def _get_request(session: str, last_event: str | None = None) -> bytes:
    resumed = f"last-event-id: {last_event}\r\n" if last_event else ""
    return (
        "GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:80\r\naccept: text/event-stream\r\n"
        f"mcp-session-id: {session}\r\nmcp-protocol-version: {HANDSHAKE}\r\n{resumed}\r\n"
    ).encode()


@contextmanager
def _get(port: int, session: str) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(_get_request(session))
        head = client.recv(65536)
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            sys.exit(f"bench: a GET was refused: {head[:300]!r}")
        yield client


def _resident(pid: int) -> int:
    """The bytes of memory that a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


PARTS: dict[str, Callable[[argparse.Namespace, int], None]] = {
    "calls": calls,
    "sessions": sessions,
    "sweep": sweep,
    "resume": resume,
    "flood": flood,
}

if __name__ == "__main__":
    main()

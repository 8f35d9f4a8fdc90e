"""Clients of an embedded server for bench/embedded.py, each a process of its own at a Unix socket.

    poll SOCKET                vmaf.status as many times a second as the last line of stdin says
    steer SOCKET               one command after the other, until disconnected
    flood SOCKET COUNT WINDOW  as many commands as fit, WINDOW unanswered at most
    loop SOCKET CALLS          one call after the other, until disconnected; CALLS: [[tool, arguments], …]
    burn SOCKET                nothing but a busy core, until disconnected

Each says `ready` when it has had its first answer, and at the end what it saw, as one line of JSON; `poll`
answers every line of stdin with how often it has asked since the one before.

They stand for clients on another machine, yet have to share the measured cores. So they don't preempt other
threads when an answer or a timer wakes them, and `poll` prepares its request in advance.
"""

from __future__ import annotations

import collections
import json
import os
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

QUEUE_FULL = "VMAF_ERR_MCP_QUEUE_FULL"


class Wire:
    """A socket with a message a line."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._lines = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def ended(self) -> bool:
        """Whether the other end has closed; nothing else is expected from it."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def receive(self) -> bytes:
        """The next line; raises ConnectionError at the end."""
        line = self._lines.readline()
        if not line:
            raise ConnectionResetError
        return line


def call(number: int, tool: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(message).encode() + b"\n"


def poll(wire: Wire) -> dict[str, Any]:
    rate, asked, when = 0.0, 0, 0.0
    question = call(0, "vmaf.status", {}).replace(b'"id": 0', b'"id": %d')
    while True:
        pause = max(when - time.perf_counter(), 0.0) if rate else None
        if select.select([sys.stdin], [], [], pause)[0]:
            line = sys.stdin.readline()
            if not line:
                return {}
            rate, when = float(line), time.perf_counter()
            print(asked, flush=True)
            asked = 0
            continue
        wire.send(question % asked)
        wire.receive()
        asked += 1
        when = max(when + 1 / rate, time.perf_counter() - 0.02)  # long delays are not made up for


def steer(wire: Wire) -> dict[str, Any]:
    spent: list[float] = []
    try:
        while True:
            asked = time.perf_counter()
            wire.send(call(len(spent), "vmaf.set_subsample", {"n": 1}))
            answer = json.loads(wire.receive())
            if "structuredContent" not in answer["result"] or answer["result"].get("isError"):
                break  # the measurement is over
            spent.append(time.perf_counter() - asked)
            # Anywhere in a frame, rather than always right behind a boundary.
            time.sleep(0.0007 * (len(spent) * 7 % 31))
    except ConnectionError:
        pass
    return {"spent": spent}


def flood(wire: Wire, count: int, window: int) -> dict[str, Any]:
    outcomes: collections.Counter[str] = collections.Counter()
    seen = bytearray(count)
    sent = answered = 0
    begin = time.perf_counter()
    while answered < count:
        ready = min(window - (sent - answered), count - sent)
        if ready > window // 2 or ready == count - sent:
            batch = (call(number, "vmaf.set_subsample", {"n": 1}) for number in range(sent, sent + ready))
            wire.send(b"".join(batch))
            sent += ready
        answer = json.loads(wire.receive())
        seen[answer["id"]] += 1
        answered += 1
        outcomes[_outcome(answer)] += 1
    return {
        "outcomes": dict(outcomes),
        "lost": seen.count(0),
        "doubled": count - seen.count(0) - seen.count(1),
        "seconds": time.perf_counter() - begin,
    }


def loop(wire: Wire, calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    questions = [call(0, tool, arguments) for tool, arguments in calls]
    answered, longest = 0, 0.0
    try:
        while True:
            asked = time.perf_counter()
            wire.send(questions[answered % len(questions)])
            wire.receive()
            longest = max(longest, time.perf_counter() - asked)
            answered += 1
    except ConnectionError:
        pass
    return {"answered": answered, "longest": longest}


def burn(wire: Wire) -> dict[str, Any]:
    while not wire.ended():
        sum(range(10_000))
    return {"answered": 0, "longest": 0.0}


def _outcome(answer: dict[str, Any]) -> str:
    if "result" in answer:
        return "carried out" if not answer["result"].get("isError") else "refused"
    data = answer["error"].get("data")
    return str(data["code"]) if isinstance(data, dict) and "code" in data else answer["error"]["message"]


def main(mode: str, path: str, *numbers: str) -> None:
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    wire = Wire(path)
    wire.send(call(0, "vmaf.status", {}))
    wire.receive()
    print("ready", flush=True)
    modes: dict[str, Callable[[Iterator[str]], dict[str, Any]]] = {
        "poll": lambda _: poll(wire),
        "steer": lambda _: steer(wire),
        "flood": lambda given: flood(wire, int(next(given)), int(next(given))),
        "loop": lambda given: loop(wire, json.loads(next(given))),
        "burn": lambda _: burn(wire),
    }
    print(json.dumps(modes[mode](iter(numbers))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

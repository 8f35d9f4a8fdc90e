"""A client whose waits are measured, and a hostile one beside it, each with a token of its own.

    python soak_neighbours.py URL TOKEN SECONDS    # the hostile one, in a process of its own

It has 60 connections that send messages of 1 MB, and 4 that ask for long work, all the time.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import anyio
import httpx2

from raw_http import RawSession, call, http_client, modern
from soak_clients import Tally, begun, reply_in

_SHOUTERS, _TOILERS = 60, 4
_LONG = "x" * 1_000_000
_WINDOW = 10.0  # seconds; the hostile client is there in every second one, for every process to see it often
_PAUSE = 0.02  # seconds
_ASKED = {
    "ping": lambda number: {"jsonrpc": "2.0", "id": number, "method": "ping"},
    "short score": lambda number: call(number, "work", seconds=0.02),
}


class Waits:
    """How long the measured client waited, in seconds: with the hostile one there, and without."""

    def __init__(self) -> None:
        self.is_hostile = False
        self._found: defaultdict[tuple[str, bool], list[float]] = defaultdict(list)

    async def measure(self, url: str, token: str, tally: Tally, is_over: Callable[[], bool]) -> None:
        """Call again and again in one session."""
        async with http_client(Authorization=f"Bearer {token}") as http:
            session, number = await begun(url, http, tally, is_over), 0
            while session is not None and not is_over():
                for what, message in _ASKED.items():
                    number += 1
                    await self._call(session, what, message(number), tally)
                    await anyio.sleep(_PAUSE)

    async def _call(self, session: RawSession, what: str, message: dict[str, object], tally: Tally) -> None:
        before, began = self.is_hostile, time.perf_counter()
        try:
            answer = await session.post(message)
        except httpx2.TransportError:
            tally.note("measured_not_begun")
            return
        if answer.status_code == 200 and "result" in reply_in(answer):
            if before == self.is_hostile:
                self._found[what, before].append(time.perf_counter() - began)
        else:
            tally.note("measured_refused")

    def figures(self) -> dict[str, dict[str, Sequence[float]]]:
        """For each call: the percentiles in milliseconds, alone and beside the hostile client."""
        return {
            what: {
                name: [round(_percentile(self._found[what, hostile], part) * 1e3, 1) for hostile in (0, 1)]
                for name, part in (("p50", 50), ("p99", 99))
            }
            for what in _ASKED
        }


def _percentile(found: Sequence[float], part: int) -> float:
    return statistics.quantiles(found, n=100, method="inclusive")[part - 1] if len(found) > 1 else 0.0


async def disturb(
    url: str, token: str, seconds: float, waits: Waits, tally: Tally, is_over: Callable[[], bool]
) -> None:
    """Have the hostile client there in every second window."""
    window = min(_WINDOW, seconds / 10)
    while not is_over():
        await anyio.sleep(window)
        waits.is_hostile = True
        command = [sys.executable, __file__, url, token, f"{window}"]
        paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # a program has no test's folders
        done = await anyio.run_process(command, stderr=None, env=paths)
        waits.is_hostile = False
        for status, many in json.loads(done.stdout).items():
            tally.note(f"hostile_{status}", many)


async def _hostile(url: str, token: str, seconds: float) -> Mapping[str, int]:
    statuses: Counter[str] = Counter()

    async def insist(http: httpx2.AsyncClient, message: dict[str, object]) -> None:
        request, headers = modern(message)
        body = json.dumps(request)
        while True:
            try:
                answer = await http.post(url, content=body, headers=headers)
                statuses[f"{answer.status_code}"] += 1
            except httpx2.TransportError:
                statuses["not_answered"] += 1
                await anyio.sleep(_PAUSE)

    async with http_client(Authorization=f"Bearer {token}") as http:
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                for _ in range(_SHOUTERS):
                    tasks.start_soon(insist, http, call(1, text=_LONG))
                for _ in range(_TOILERS):
                    tasks.start_soon(insist, http, call(1, "work", seconds=5.0))
    return statuses


if __name__ == "__main__":
    print(json.dumps(anyio.run(_hostile, sys.argv[1], sys.argv[2], float(sys.argv[3]))))

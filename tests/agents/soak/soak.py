"""A soak of two nodes with workers, Redis and nginx under mixed load, while parts of them are ended.

    export PYTHONPATH=tests:tests/agents:runtime/tests:runtime/tests/cluster
    python tests/agents/soak/soak.py [--minutes 15] [--json FILE]

A worker is killed every 10 s, Redis is restarted at a third of the time, and one node is rolled (SIGTERM,
then started again) at two thirds. Clients with sessions cut their connections and resume; others vanish;
others have no session. A client with a token of its own is measured, alone and beside a hostile one. Then
come bursts, and a restart of both nodes with 2,000 open streams (soak_bursts.py). At the end nothing may be
lost or doubled for those who resume, and nothing may be left: sessions, calls, descriptors, processes. The
exit code says whether that held.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import anyio

from raw_http import http_client
from soak_bursts import bursts, rolled
from soak_clients import Resumer, Tally, echo, vanish
from soak_ground import Ground
from soak_neighbours import Waits, disturb
from soak_report import Report, Watched

RESUMERS = 16
VANISHERS = 4
STATELESS = 4
_KILL = 10.0  # seconds between two workers that are killed
_SAMPLES = 60  # looks at the processes in the whole time
_TTL = 10.0  # seconds until the sessions of clients that vanished end
_ONCE = {"workers_killed": 1, "redis_restarts": 1, "nodes_rolled": 1}
_SLOWEST = 6  # times as long as it should take
_EBB = 30.0  # seconds for everything to end after the clients have


async def soak(
    ground: Ground, seconds: float, seed: int = 0, least: Mapping[str, int] = MappingProxyType({})
) -> Report:
    """Put load on the servers for so long, and see what is left afterwards.

    A slow machine takes longer until everything was ended once and the least counts were reached.
    """
    chance = random.Random(seed)
    tally, done = Tally(), Counter[str]()
    began = time.monotonic()

    def is_over() -> bool:
        spent = time.monotonic() - began
        reached = all((tally.counts + done)[name] >= many for name, many in {**_ONCE, **least}.items())
        return spent > _SLOWEST * seconds or (spent > seconds and reached)

    watched = {node.label: Watched(f"node {node.label}", node.pid) for node in ground.nodes}
    waits, tokens = Waits(), ground.tokens
    async with (
        http_client(Authorization=f"Bearer {tokens['soak']}") as http,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(waits.measure, ground.url, tokens["measured"], tally, is_over)
        tasks.start_soon(disturb, ground.url, tokens["hostile"], seconds, waits, tally, is_over)
        for number in range(RESUMERS):
            client = Resumer(ground.url, http, tally, random.Random(f"{seed} {number}"))
            tasks.start_soon(client.run, is_over)
        for number in range(VANISHERS):
            tasks.start_soon(vanish, ground.url, http, tally, random.Random(f"{seed} v{number}"), is_over)
        for number in range(STATELESS):
            tasks.start_soon(echo, ground.url, http, tally, random.Random(f"{seed} s{number}"), is_over)
        tasks.start_soon(_disturb, ground, seconds, chance, done, watched, is_over)
        tasks.start_soon(_look, watched, seconds, began, is_over)
    left = await _ebb(ground)
    spent = time.monotonic() - began
    return Report(
        spent,
        dict(tally.counts),
        tally.faults,
        tally.strange,
        dict(done),
        left,
        list(watched.values()),
        waits.figures(),
    )


async def _disturb(
    ground: Ground,
    seconds: float,
    chance: random.Random,
    done: Counter[str],
    watched: dict[str, Watched],
    is_over: Callable[[], bool],
) -> None:
    """Kill workers, restart Redis, roll a node."""
    began = time.monotonic()
    redis_at, roll_at = seconds / 3, seconds * 2 / 3
    while not is_over():
        await anyio.sleep(min(_KILL, seconds / 6))
        if is_over():
            return
        now = time.monotonic() - began
        if now > redis_at and not done["redis_restarts"]:
            await anyio.to_thread.run_sync(ground.restart_redis)
            done["redis_restarts"] += 1
        elif now > roll_at and not done["nodes_rolled"]:
            node = ground.nodes[0]
            await anyio.to_thread.run_sync(node.roll)
            done["nodes_rolled"] += 1
            before = watched[node.label]
            watched[node.label + " again"] = Watched(f"node {node.label}, rolled", node.pid, before)
        elif pids := [pid for node in ground.nodes for pid in node.worker_pids()]:
            done["workers_killed"] += 1
            ground.kill(chance.choice(pids))


async def _look(
    watched: dict[str, Watched], seconds: float, began: float, is_over: Callable[[], bool]
) -> None:
    while not is_over():
        for process in list(watched.values()):
            process.look(time.monotonic() - began)
        await anyio.sleep(seconds / _SAMPLES)


async def _ebb(ground: Ground) -> dict[str, int]:
    """What is left when every session has had the time to end."""
    left: dict[str, int] = {}
    with anyio.move_on_after(_EBB):
        while True:
            left = await anyio.to_thread.run_sync(ground.left)
            if not any(left.values()):
                break
            await anyio.sleep(0.5)
    return left


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write the whole report")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, Ground(Path(folder), ttl=_TTL) as ground:
        report = anyio.run(soak, ground, options.minutes * 60, options.seed)
    print("\n".join(report.lines()), "\nthen bursts and rolled streams:", flush=True)
    tally = Tally()
    anyio.run(bursts, tally)
    anyio.run(rolled, tally)
    report.add(tally.counts, tally.faults, tally.strange)
    print("\n".join(report.lines()))
    if options.json is not None:
        options.json.write_text(report.json())
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())

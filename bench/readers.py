"""How much clients that read in a loop slow a measurement down.

    python bench/readers.py [--rounds N] [--frames N] [--only NAME]

A clip of 480x270 is scored on one thread while one client, a process of its own at a Unix socket, sends its
next request as soon as it has the answer. `burner` is a process that keeps a core busy without requests,
which alone has a cost on few cores. All variants take turns, in another order each round; each is compared
with `nobody` of its own round, and the median counts. `serving` is the CPU time of the server's threads
relative to that of measuring in the same run, which other load disturbs least. The exit code says whether no
reader took more than a tenth of the speed.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import acuity
from clips import make_clip
from embedded import Pairs, client, load, measurement_of

WIDTH, HEIGHT, UNIQUE = 480, 270, 24
SERVING = ("acuity-mcp", "AnyIO worker")  # threads, by name
LEAST = 0.9  # of the speed with nobody connected

Calls = list[tuple[str, dict[str, Any]]]

STATUS: Calls = [("vmaf.status", {})]
SCORE: Calls = [("vmaf.score", {})]
PERCENTILES: Calls = [("vmaf.score", {"percentiles": [1, 5, 10, 25, 50, 75, 90]})]
WORST: Calls = [("vmaf.worst_frames", {"n": 20})]
REPORT: Calls = [("vmaf.report", {"include_frames": True})]
FEATURES: Calls = [("vmaf.score", {"first": 0, "features": ["all"]})]

READERS: dict[str, Calls | None] = {
    "nobody": None,
    "burner": None,
    "status": STATUS,
    "score": SCORE,
    "score, percentiles": PERCENTILES,
    "worst frames": WORST,
    "report, all frames": REPORT,
    "score, all features": FEATURES,
    "all of these in turn": [*STATUS, *SCORE, *PERCENTILES, *WORST, *REPORT, *FEATURES],
}


class Run(NamedTuple):
    """One clip, scored."""

    seconds: float
    serving: float  # CPU time, of that of the rest of the process
    score: float
    answered: int = 0
    longest: float = 0.0  # seconds that the client waited for an answer


def run(name: str, pairs: Pairs, frames: int, socket: Path) -> Run:
    calls = READERS[name]
    with ExitStack() as stack:
        measurement = stack.enter_context(measurement_of())
        server = stack.enter_context(acuity.EmbeddedServer(measurement))
        server.start_uds(socket)
        reader = None
        if name == "burner":
            reader = stack.enter_context(client("burn", str(socket)))
        elif calls is not None:
            reader = stack.enter_context(client("loop", str(socket), json.dumps(calls)))
        served = serving_seconds()
        begin, cpu = time.perf_counter(), time.process_time()
        for index in range(frames):
            measurement.add(*pairs[index % len(pairs)])
        measurement.flush()
        spent, cpu = time.perf_counter() - begin, time.process_time() - cpu
        served = serving_seconds() - served
        server.stop(linger=0)
        if reader is not None:
            reader.finish()
        saw = reader.saw if reader is not None else {}
        return Run(spent, served / (cpu - served), measurement.results().pool(), **saw)


def serving_seconds() -> float:
    """CPU time of the server's threads so far."""
    servers = [t.ident for t in threading.enumerate() if t.ident and t.name.startswith(SERVING)]
    return sum(time.clock_gettime(time.pthread_getcpuclockid(ident)) for ident in servers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=1500)
    parser.add_argument("--only", choices=list(READERS), action="append")
    asked = parser.parse_args()
    names = ["nobody", *(name for name in asked.only or READERS if name != "nobody")]
    found: dict[str, list[Run]] = {name: [] for name in names}
    chance = random.Random(asked.rounds)
    with tempfile.TemporaryDirectory() as folder:
        pairs = load(make_clip(Path(folder), "readers", WIDTH, HEIGHT, 8, UNIQUE))
        run("nobody", pairs, asked.frames // 4, Path(folder) / "socket")  # caches, clocks
        for _ in range(asked.rounds):
            order = list(names)
            chance.shuffle(order)
            for name in order:
                found[name].append(run(name, pairs, asked.frames, Path(folder) / "socket"))
    print(f"{asked.frames} frames of {WIDTH}x{HEIGHT}, one thread, medians of {asked.rounds} rounds")
    good = [_say(name, found) for name in names]
    sys.exit(not all(good))


def _say(name: str, found: dict[str, list[Run]]) -> bool:
    runs, alone = found[name], found["nobody"]
    speed = statistics.median(other.seconds / one.seconds for one, other in zip(runs, alone, strict=True))
    serving = statistics.median(one.serving for one in runs)
    answered = statistics.median(one.answered / one.seconds for one in runs)
    longest = max(one.longest for one in runs)
    same = all(one.score == alone[0].score for one in runs)
    good = same and (name == "burner" or speed >= LEAST)
    print(
        f"  {name:22} {statistics.median(one.seconds for one in runs):6.2f} s  speed {speed:5.3f}  "
        f"serving {serving:5.3f}  "
        f"{answered:7.1f} answers/s  longest {longest:5.2f} s"
        + ("" if same else "  scores differ")
        + ("" if good else "  MISSED"),
        flush=True,
    )
    return good


if __name__ == "__main__":
    main()

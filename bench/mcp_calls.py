"""The cost of the MCP server, as ratios measured in one run.

    python bench/mcp_calls.py [--only calls,scores,load,cancel]

calls   a `list_models` round trip against the echo tool of a bare SDK server, over HTTP and stdio, in both
        eras of the protocol: on the wire, and as the SDK's own client sees it
scores  `vmaf_score` through the server against the engine alone in a process of its own, same clip
load    `list_models` while two scores run
cancel  from a client's cancellation until the cores are free

Peers take turns, so that other load on the machine affects both. Scores are printed beside speeds, because
speed is worth nothing if the score is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from clips import Clip, make_clip
from mcp_processes import descendants, is_over, own_cpu_seconds
from mcp_sdk_client import sdk_round_trips
from mcp_wire import ERAS, HANDSHAKE, STATELESS, Client, HttpClient, http_server, stdio_server

HERE = Path(__file__).parent
PRODUCT = [sys.executable, "-m", "acuity.cli.serve"]
ECHO = [sys.executable, str(HERE / "mcp_echo.py")]

Caller = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=7, help="alternating rounds (default 7)")
    parser.add_argument("--calls", type=int, default=200, help="round trips a round (default 200)")
    parser.add_argument("--frames", type=int, default=240, help="of the 1080p clip (default 240)")
    parser.add_argument("--folder", type=Path, help="keep the clip here (default: a temporary folder)")
    args = parser.parse_args()
    unknown = [name for name in args.only.split(",") if name not in PARTS]
    if unknown:
        parser.error(f"no part is called '{unknown[0]}': use {', '.join(PARTS)}")
    print(f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        environ = {
            "VMAF_MCP_ALLOW": str(folder),
            "ACUITY_DATA": str(Path(temporary) / "data"),
            "ACUITY_LIMITS_RATE": "999999/s",
        }
        for name in args.only.split(","):
            PARTS[name](args, folder, environ)


def calls(args: argparse.Namespace, _: Path, environ: dict[str, str]) -> None:
    print(f"\nlist_models against a bare SDK echo, median µs of {args.rounds} x {args.calls} round trips")
    for era, version in ERAS.items():
        with ExitStack() as stack:
            clients = []
            for command in (PRODUCT, ECHO):
                pid, port = stack.enter_context(http_server(command, environ))
                clients.append((HttpClient(version, port), pid))
                clients[-1][0].start()
            _compare("HTTP", era, clients[0], clients[1], args)
        with ExitStack() as stack:
            ours, bare = (
                stack.enter_context(stdio_server(command, environ, version)) for command in (PRODUCT, ECHO)
            )
            _compare("stdio", era, (ours, ours.process.pid), (bare, bare.process.pid), args)
    print("  the same as the SDK's own client sees it, its checks of results included")
    for era, version in ERAS.items():
        for transport in ("HTTP", "stdio"):
            theirs, mine = sdk_round_trips(
                transport, version, ECHO, PRODUCT, environ, args.rounds, args.calls
            )
            print(_ratio(transport, era, mine, theirs), flush=True)


def _compare(
    transport: str, era: str, ours: tuple[Client, int], bare: tuple[Client, int], args: argparse.Namespace
) -> None:
    callers = [
        (lambda: ours[0].call("list_models", {}), ours[1]),
        (lambda: bare[0].call("echo", {"text": "hello"}), bare[1]),
    ]
    (mine, my_cpu), (theirs, their_cpu) = _alternate(callers, args.rounds, args.calls)
    spent = f"  server CPU {my_cpu * 1e6:.0f} against {their_cpu * 1e6:.0f}, ratio {my_cpu / their_cpu:.3f}"
    print(_ratio(transport, era, mine, theirs) + spent, flush=True)


def _alternate(callers: list[tuple[Caller, int]], rounds: int, count: int) -> list[tuple[list[float], float]]:
    """Seconds of every call, and those of the processor that one cost the server, without the first round."""
    taken: list[list[float]] = [[] for _ in callers]
    spent: list[list[float]] = [[] for _ in callers]
    for number in range(rounds + 1):
        for times, costs, (caller, pid) in zip(taken, spent, callers, strict=True):
            before = own_cpu_seconds(pid)
            for _ in range(count):
                begin = time.perf_counter()
                caller()
                if number:
                    times.append(time.perf_counter() - begin)
            if number:
                costs.append((own_cpu_seconds(pid) - before) / count)
    return [(times, statistics.median(costs)) for times, costs in zip(taken, spent, strict=True)]


def _ratio(transport: str, era: str, mine: list[float], theirs: list[float]) -> str:
    ratio = statistics.median(mine) / statistics.median(theirs)
    return (
        f"  {transport:5} {era:9}  list_models {_us(mine)}  echo {_us(theirs)}  "
        f"ratio {ratio:.3f} (target 1.10 or less)"
    )


def scores(args: argparse.Namespace, folder: Path, environ: dict[str, str]) -> None:
    clip = _clip(args, folder)
    print(f"\nvmaf_score through the server against the engine alone, {clip.name}, {clip.frames} frames")
    engine = subprocess.Popen(
        [sys.executable, str(HERE / "mcp_engine.py"), *map(str, (clip.width, clip.height, clip.depth))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # as workers have: Linux shares processors out among sessions
    )
    served: list[float] = []
    alone: list[float] = []
    found: set[float] = set()
    with http_server(PRODUCT, environ) as (_, port):
        client = HttpClient(HANDSHAKE, port)
        client.start()
        for number in range(args.rounds + 1):
            begin = time.perf_counter()
            report = client.call("vmaf_score", _score_arguments(clip))
            seconds = time.perf_counter() - begin
            lone = _ask_engine(engine, clip)
            if number:  # the first of each reads the clip from the disk
                served.append(seconds)
                alone.append(lone["seconds"])
            found |= {report["pooled_metrics"]["vmaf"]["mean"], round(lone["score"], 6)}
        client.close()
    assert engine.stdin is not None
    engine.stdin.close()
    engine.wait()
    ratio = statistics.median(alone) / statistics.median(served)
    print(
        f"  server {_fps(clip, served)}  engine {_fps(clip, alone)}  ratio {ratio:.3f} (target 0.97 or more)"
        f"  score {', '.join(f'{score:.6f}' for score in sorted(found))}",
        flush=True,
    )


def _ask_engine(engine: subprocess.Popen[str], clip: Clip) -> dict[str, Any]:
    assert engine.stdin is not None
    assert engine.stdout is not None
    engine.stdin.write(f"{clip.ref}\t{clip.dis}\n")
    engine.stdin.flush()
    answer: dict[str, Any] = json.loads(engine.stdout.readline())
    return answer


def load(args: argparse.Namespace, folder: Path, environ: dict[str, str]) -> None:
    clip = _clip(args, folder)
    environ = {**environ, "VMAF_MCP_MAX_CONCURRENT": "2"}
    print("\nlist_models while two scores run, ms")
    for era, version in ERAS.items():
        with http_server(PRODUCT, environ) as (_, port):
            client = HttpClient(version, port)
            client.start()
            for _ in range(50):
                client.call("list_models", {})
            running = [threading.Thread(target=_score, args=(version, port, clip)) for _ in range(2)]
            for thread in running:
                thread.start()
            times = []
            while any(thread.is_alive() for thread in running):
                begin = time.perf_counter()
                client.call("list_models", {})
                times.append(time.perf_counter() - begin)
                time.sleep(0.002)
            client.close()
        ordered = sorted(1000 * seconds for seconds in times)
        at = {p: ordered[min(len(ordered) - 1, int(len(ordered) * p / 100))] for p in (50, 99)}
        print(
            f"  HTTP  {era:9}  p50 {at[50]:.2f}  p99 {at[99]:.2f} (target under 50)  most {ordered[-1]:.2f}"
            f"  of {len(ordered)}",
            flush=True,
        )


def _score(version: str, port: int, clip: Clip) -> None:
    client = HttpClient(version, port)
    client.start()
    client.call("vmaf_score", _score_arguments(clip), progress=lambda _: None)
    client.close()


def cancel(args: argparse.Namespace, folder: Path, environ: dict[str, str]) -> None:
    clip = _clip(args, folder)
    print("\nFrom a client's cancellation until the cores are free, ms")
    for era, version in ERAS.items():
        times = []
        for _ in range(args.rounds):
            with http_server(PRODUCT, environ) as (pid, port):
                times.append(_cancelled(version, pid, port, clip))
        ordered = sorted(1000 * seconds for seconds in times)
        print(
            f"  HTTP  {era:9}  median {statistics.median(ordered):.1f}  most {ordered[-1]:.1f} "
            f"(target under 1000)",
            flush=True,
        )


def _cancelled(version: str, server: int, port: int, clip: Clip) -> float:
    """Cancel a running score: by the notification, or in the stateless protocol by disconnecting."""
    client, other = HttpClient(version, port), HttpClient(version, port)
    client.start()
    under_way = threading.Event()

    def progress(params: dict[str, Any]) -> None:
        if params["progress"] > 1:
            under_way.set()

    def score() -> None:
        try:
            client.call("vmaf_score", _score_arguments(clip), progress)
        except Exception:  # cancelled: by an error, or by a connection that is no more
            under_way.set()

    thread = threading.Thread(target=score, daemon=True)
    thread.start()
    if not under_way.wait(60):
        sys.exit("bench: no progress was reported within a minute")
    busy = max(descendants(server), key=own_cpu_seconds)
    begin = time.perf_counter()
    if version == STATELESS:
        client.connection.sock.shutdown(2)
    else:
        other.join_session(client)
        other.tell("notifications/cancelled", {"requestId": client.last_id, "reason": "bench"})
    while not is_over(busy):
        if time.perf_counter() - begin > 30:
            sys.exit(f"bench: process {busy} still runs half a minute after the cancellation")
        time.sleep(0.001)
    taken = time.perf_counter() - begin
    thread.join(10)
    return taken


def _clip(args: argparse.Namespace, folder: Path) -> Clip:
    return make_clip(folder, "1080p_8-bit", 1920, 1080, 8, args.frames)


def _score_arguments(clip: Clip) -> dict[str, Any]:
    return {
        "ref": str(clip.ref),
        "dis": str(clip.dis),
        "width": clip.width,
        "height": clip.height,
        "pixfmt": "420",
        "bitdepth": clip.depth,
    }


def _us(times: list[float]) -> str:
    ordered = sorted(1e6 * seconds for seconds in times)
    return f"{statistics.median(ordered):6.0f} (p99 {ordered[int(len(ordered) * 0.99)]:.0f})"


def _fps(clip: Clip, times: list[float]) -> str:
    rates = sorted(clip.frames / seconds for seconds in times)
    return f"{statistics.median(rates):.2f} ({rates[0]:.2f} … {rates[-1]:.2f}) fps"


PARTS: dict[str, Callable[[argparse.Namespace, Path, dict[str, str]], None]] = {
    "calls": calls,
    "scores": scores,
    "load": load,
    "cancel": cancel,
}

if __name__ == "__main__":
    main()

"""The cost of a server inside the measuring process, and the time and reliability of its answers.

    python bench/embedded.py [--rounds N] [--only fps|drain|latency|flood|page]

Speeds are ratios to the same frames without a server. Slices of all variants take turns in one run, in random
order; each is compared with that of its own round, and the median of these ratios counts. One thread scores;
clients are processes of their own at a Unix socket. The score is printed beside the speed, because speed is
worth nothing if the score is wrong. The exit code says whether every figure is within its limit.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acuity
from acuity._native import Bridge
from acuity.agents.embedded.steering.bridge import BoundaryListener
from acuity.agents.embedded.steering.commands import Handoff
from bridge import median_ns
from clips import Clip, make_clip

CLIENT = Path(__file__).with_name("embedded_load.py")
PAGE = Path(__file__).with_name("page_load.py")
MODEL = "vmaf_v0.6.1"
UNIQUE = 24  # pairs kept in memory, so that no disk is measured
# And the frames of a slice, about a quarter of a second.
SIZES = {"576x324": (576, 324, 100), "1920x1080": (1920, 1080, 10)}
RATES = {"alone": 0, "idle": 0, "100/s": 100, "1000/s": 1000}  # questions a second
LEAST = {"idle": 0.99, "100/s": 0.99, "1000/s": 0.95}
DRAIN_NS = 200
LATENCY_MS = 2.0  # beside a frame's time
FLOOD, WINDOW, DEPTH = 100_000, 250, 64
# Of a run with the live page: its CPU time at most, as a ratio to a run without, in so many turns.
PAGE_COST, PAGE_TURNS = 1.01, 7
PAGE_FRAMES = {"576x324": 500, "1920x1080": 60}
TOKEN = "a-token-of-this-benchmark-only"

Pairs = list[tuple[acuity.Picture, acuity.Picture]]


@dataclass
class Client:
    """One that runs while frames are measured."""

    process: subprocess.Popen[str]
    saw: dict[str, Any] = field(default_factory=dict)

    def finish(self) -> None:
        out, _ = self.process.communicate(timeout=60)
        self.saw = json.loads(out)


@contextmanager
def client(*arguments: str) -> Iterator[Client]:
    process = subprocess.Popen(
        [sys.executable, str(CLIENT), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        sys.exit("bench: the client could not connect")
    found = Client(process)
    try:
        yield found
    finally:
        process.kill()
        process.wait()


def measurement_of(model: str = MODEL) -> acuity.Measurement:
    measurement = acuity.Measurement(threads=1)
    measurement.add_model(model)
    return measurement


def load(clip: Clip) -> Pairs:
    def pictures(path: Path) -> list[acuity.Picture]:
        size = {"width": clip.width, "height": clip.height, "pixel_format": "420", "bitdepth": clip.depth}
        with acuity.open_video(path, **size, luma_only=True) as reader:
            return list(reader)

    return list(zip(pictures(clip.ref), pictures(clip.dis), strict=True))


# ---- speed ------------------------------------------------------------------------------------


@dataclass
class Lane:
    """A running measurement, fed a slice of frames at a time."""

    measurement: acuity.Measurement
    pairs: Pairs

    def run(self, frames: int) -> float:
        """Features of so many frames in a second, then their scores.

        Those take longer the more frames there were before, so no two lanes could be compared with them.
        """
        begin = time.perf_counter()
        for _ in range(frames):
            self.measurement.add(*self.pairs[self.measurement.frames % len(self.pairs)])
        while self.measurement.snapshot().frames_done < self.measurement.frames:
            time.sleep(0.0002)
        speed = frames / (time.perf_counter() - begin)
        self.measurement.predict_known()
        return speed


@dataclass
class Asking:
    """The client that polls, as often as it is told to."""

    process: subprocess.Popen[str]
    rates: dict[str, list[float]] = field(default_factory=dict)

    def set(self, rate: int) -> int:
        """Ask so often from now on; how often it was asked since the last time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{rate}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


def speed(folder: Path, rounds: int) -> bool:
    """Slices of all variants take turns: the noise of a machine lasts longer than one of them."""
    good = True
    for size, (width, height, frames) in SIZES.items():
        pairs = load(make_clip(folder, size, width, height, 8, UNIQUE))
        socket = folder / "socket"
        with (
            measurement_of() as plain,
            measurement_of() as watched,
            acuity.EmbeddedServer(watched) as server,
        ):
            server.start_uds(socket)
            with client("poll", str(socket)) as polling:
                found = _slices(
                    Lane(plain, pairs), Lane(watched, pairs), Asking(polling.process), frames, rounds
                )
            plain.flush()
            watched.flush()
            # The last frames know that they are the last ones: motion looks ahead.
            shared = min(plain.frames, watched.frames) - 3
            columns = [one.results().columns["vmaf"][:shared] for one in (plain, watched)]
        same = bool((columns[0] == columns[1]).all())
        means = [float(column.mean()) for column in columns]
        print(f"{size}, one thread, {rounds} slices of {frames} frames, medians; frames compared: {shared}")
        print(f"  alone    {statistics.median(found['alone']):8.1f} fps  score {means[0]}")
        for name, least in LEAST.items():
            enough = _say(name, found, means[1], least)
            good &= enough and same
        if not same:
            print("  scores differ  MISSED")
    return good


def _slices(plain: Lane, watched: Lane, asking: Asking, frames: int, rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in ("alone", *LEAST, "asked 100/s", "asked 1000/s")}
    order = list(RATES)
    chance = random.Random(rounds)
    for lane in (plain, watched):
        lane.run(2 * frames)  # caches, clocks
    for _ in range(rounds):
        # None is always next to the one it is compared with, or always behind the same other one.
        chance.shuffle(order)
        for name in order:
            asking.set(RATES[name])
            begin = time.perf_counter()
            found[name].append((plain if name == "alone" else watched).run(frames))
            asked = asking.set(0)
            if RATES[name]:
                found[f"asked {name}"].append(asked / (time.perf_counter() - begin))
    return found


def _say(name: str, found: dict[str, list[float]], mean: float, least: float) -> bool:
    ratios = sorted(one / other for one, other in zip(found[name], found["alone"], strict=True))
    ratio, quarter = statistics.median(ratios), len(ratios) // 4
    low, high = ratios[quarter], ratios[-1 - quarter]
    error = 0.93 * (high - low) / len(ratios) ** 0.5  # of a median, where most are spread normally
    line = f"  {name:8} {statistics.median(found[name]):8.1f} fps  score {mean}"
    line += f"  {ratio:.3f} +-{error:.3f} of alone (half of them {low:.3f} to {high:.3f}), at least {least}"
    if name in ("100/s", "1000/s"):
        line += f"  asked {statistics.median(found[f'asked {name}']):.0f}/s"
    print(line + ("" if ratio >= least else "  MISSED"), flush=True)
    return ratio >= least


# ---- the boundary -----------------------------------------------------------------------------


def drain(_: Path, __: int) -> bool:
    """The cost of a frame boundary without commands: the ring alone, and with Python around it."""
    native = Bridge(DEPTH)
    with measurement_of() as measurement:
        side = BoundaryListener(measurement, native, Handoff(), max_per_frame=4, on_end=lambda: None)
        at = measurement.snapshot()
        ring = median_ns(lambda: native.publish(998))
        whole = median_ns(lambda: measurement.boundary.notify(at))
        side.detach()
    native.close()
    print(
        f"drain of an empty ring: {ring:.0f} ns a frame, under {DRAIN_NS}; the whole boundary {whole:.0f} ns"
    )
    return ring < DRAIN_NS


# ---- answers ----------------------------------------------------------------------------------


def latency(folder: Path, _: int) -> bool:
    """From a command that is carried out at a boundary to its answer, at 1080p."""
    width, height, frames = SIZES["1920x1080"]
    pairs = load(make_clip(folder, "1920x1080", width, height, 8, UNIQUE))
    socket = folder / "socket"
    spent: list[float] = []
    fps = []
    for _ in range(3):
        with measurement_of() as measurement, acuity.EmbeddedServer(measurement) as server:
            server.start_uds(socket)
            with client("steer", str(socket)) as steering:
                fps.append(Lane(measurement, pairs).run(12 * frames))
                server.stop()
                steering.finish()
            spent += steering.saw["spent"][1:]  # the first waits for the first frame
    found, frame = statistics.median(spent) * 1000, 1000 / statistics.median(fps)
    good = found < frame + LATENCY_MS
    print(
        f"request to reply at 1080p: median {found:.1f} ms of {len(spent)}, under {frame:.1f} + {LATENCY_MS}"
        + ("" if good else "  MISSED")
    )
    return good


def flood(folder: Path, _: int) -> bool:
    """More commands than fit, while frames are measured."""
    width, height, _frames = SIZES["576x324"]
    pairs = load(make_clip(folder, "576x324", width, height, 8, UNIQUE))
    socket = folder / "socket"
    config = acuity.EmbeddedConfig(queue_depth=DEPTH)
    with measurement_of() as measurement, acuity.EmbeddedServer(measurement, config) as server:
        server.start_uds(socket)
        with client("flood", str(socket), str(FLOOD), str(WINDOW)) as flooding:

            def until_over() -> Iterator[tuple[acuity.Picture, acuity.Picture]]:
                while flooding.process.poll() is None:
                    yield pairs[measurement.frames % UNIQUE]

            warm = 0
            for index, pair in enumerate(until_over()):
                measurement.add(*pair)
                if index == 100:  # threads and buffers are there by now
                    warm = _resident()
            grown = _resident() - warm
            flooding.finish()
        measurement.flush()
    saw = flooding.saw
    per_command = grown / FLOOD
    good = not saw["lost"] and not saw["doubled"] and sum(saw["outcomes"].values()) == FLOOD
    good &= set(saw["outcomes"]) <= {"carried out", "VMAF_ERR_MCP_QUEUE_FULL"} and grown < 32 << 20
    print(
        f"flood of {FLOOD} commands, ring of {DEPTH}: {saw['outcomes']}, {saw['lost']} lost, "
        f"{saw['doubled']} doubled, {FLOOD / saw['seconds']:.0f}/s; memory grew by {grown >> 10} KiB, "
        f"{per_command:.1f} bytes a command, over {measurement.frames} frames" + ("" if good else "  MISSED")
    )
    return good


# ---- the live page ----------------------------------------------------------------------------


def page(folder: Path, rounds: int) -> bool:
    """Runs that one live page watches, and runs with nobody there, in turns: this process's CPU time of each.

    Runs with a server and no page cost the same as those without one, which `fps` shows.
    """
    good = True
    for size, (width, height, _) in SIZES.items():
        pairs = load(make_clip(folder, size, width, height, 8, UNIQUE))
        frames, turns = PAGE_FRAMES[size], max(min(rounds, PAGE_TURNS), 2)
        _page_run(pairs, frames // 4, watched=True)  # what is loaded once
        times, clocks, shares, same = [], [], [], True
        seen: dict[str, int] = {}
        for turn in range(turns):
            # Each is first as often as second.
            order = [False, True] if turn % 2 else [True, False]
            found = {watched: _page_run(pairs, frames, watched=watched) for watched in order}
            times.append(found[True].cpu / found[False].cpu)
            clocks.append(found[False].wall / found[True].wall)
            shares.append(found[True].served / found[True].cpu)
            same &= found[True].scores == found[False].scores
            seen = found[True].seen
        ratio, least, most = statistics.median(times), min(times), max(times)
        enough = same and (ratio <= PAGE_COST or size != "1920x1080")
        print(
            f"live page at {size}: CPU time {ratio:.4f} of a run without ({least:.4f} to {most:.4f} in "
            f"{turns} turns of {frames} frames), at most {PAGE_COST} at 1080p; "
            f"the server's thread {statistics.median(shares):.2%} of it; "
            f"speed {statistics.median(clocks):.3f}; "
            f"a run's page saw {seen}; scores {'equal' if same else 'differ'}"
            + ("" if enough else "  MISSED"),
            flush=True,
        )
        good &= enough
    return good


@dataclass
class PageRun:
    """A measurement with or without a page."""

    cpu: float
    wall: float
    scores: list[float]
    served: float = 0.0  # seconds of CPU time that the server's thread had
    seen: dict[str, int] = field(default_factory=dict)


def _page_run(pairs: Pairs, frames: int, *, watched: bool) -> PageRun:
    with measurement_of() as measurement, ExitStack() as stack:
        looking = None
        if watched:
            config = acuity.EmbeddedConfig(token=TOKEN, linger=0.0)
            server = stack.enter_context(acuity.EmbeddedServer(measurement, config))
            # It is ready before the clock starts: what the server loads then is loaded once.
            looking = stack.enter_context(_looking(server.start_http().port))
        served = _served()
        cpu, begin = time.process_time(), time.perf_counter()
        for index in range(frames):
            measurement.add(*pairs[index % len(pairs)])
        measurement.flush()
        scores = measurement.results().columns["vmaf"].tolist()
        run = PageRun(
            time.process_time() - cpu, time.perf_counter() - begin, scores, served=_served() - served
        )
        if looking is not None:
            out, _ = looking.communicate(timeout=60)
            run.seen = json.loads(out)
    return run


def _served() -> float:
    """The CPU time of the server's threads so far."""
    threads = [thread.native_id for thread in threading.enumerate() if thread.name == "acuity-mcp"]
    files = [Path(f"/proc/self/task/{number}/schedstat") for number in threads]
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


@contextmanager
def _looking(port: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(PAGE), str(port), TOKEN]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        sys.exit("bench: the page could not connect")
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


FIGURES = {"fps": speed, "drain": drain, "latency": latency, "flood": flood, "page": page}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", choices=list(FIGURES), action="append")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = [FIGURES[name](Path(folder), asked.rounds) for name in asked.only or FIGURES]
    sys.exit(not all(good))


if __name__ == "__main__":
    main()

"""Measure how fast this machine scores: frames a second on each backend, and the scores beside them.

    acuity bench
    acuity bench --size 2160p --backend cuda
    acuity bench --model vmaf_v0.6.1 --feature psnr --seconds 5

Frames are made up and lie in memory, so neither decoding nor a disk counts. The figures of all backends are
compared bit for bit; the exit code is 1 if one differs."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from acuity.cli.exits import FAILED, OK, interruptible
from acuity.cli.score_options import size
from acuity.cli.style import Style
from acuity.errors import BackendError
from acuity.report.plain import plain

if TYPE_CHECKING:
    from acuity.scoring.speed import Speed, Workload

SCHEMA: Final = "acuity.bench/1"
_DEPTHS: Final = (8, 10, 12, 16)
_SECONDS: Final = 20.0
_LARGEST: Final = 16384 * 8192
_SHOWN: Final = 3  # scores on a line
_WHOLE: Final = 100  # frames a second, from which on tenths don't count
_HEAD: Final = ("measured", "backend", "fps", "frames", "mean of the first 4 frames")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="B",
        help="measure this one: cpu, cuda (every card) or one card, as cuda:1; repeatable (default: all)",
    )
    parser.add_argument(
        "-m", "--model", action="append", default=[], metavar="MODEL", help="measure this model; repeatable"
    )
    parser.add_argument(
        "--feature", action="append", default=[], metavar="F", help="measure this extractor; repeatable"
    )
    parser.add_argument(
        "--size", type=_size, default="1080p", metavar="SIZE", help="1080p (default), 2160p or WxH"
    )
    parser.add_argument("-b", "--bitdepth", type=int, choices=_DEPTHS, default=8, help="of a sample (8)")
    parser.add_argument(
        "--seconds", type=_seconds, default=_SECONDS, metavar="S", help="for everything, about (20)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _size(text: str) -> tuple[int, int]:
    from acuity.scoring.speed import SIZES

    found = SIZES.get(text.lower()) or size(text)
    if math.prod(found) > _LARGEST:
        raise argparse.ArgumentTypeError(f"'{text}' is too large: 16384x8192 is the most")
    return found


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' should be a number of seconds, more than 0")
    return seconds


def run(arguments: argparse.Namespace) -> int:
    from acuity.scoring.speed import SpeedRun, Unusable, as_document, find_places

    workloads = _workloads(arguments)
    speeds: list[Speed] = []
    with interruptible() as interrupts, _progress() as tell:
        tell("looking for backends")
        bench = SpeedRun(arguments.size, arguments.bitdepth, arguments.seconds)
        places, unusable = find_places(arguments.backend)
        say = _silent if arguments.json else _printer(tell)
        table = _Table([workload.name for workload in workloads], [place.name for place in places])
        say(f"{'x'.join(map(str, bench.size))}, {bench.depth} bit, frames from memory", "", table.head)
        todo = [(workload, place) for workload in workloads for place in places]
        lost: set[str] = set()
        interrupts(bench)
        for number, (workload, place) in enumerate(todo):
            if place.name in lost:
                continue
            tell(f"{number + 1}/{len(todo)}: {workload.name} on {place.name}")
            try:
                speed = bench.measure(place, workload, len(todo) - number)
            except BackendError as error:
                if arguments.backend:
                    raise
                lost.add(place.name)
                unusable.append(Unusable(place.name, str(error)))
                continue
            if speed is None:
                tell("")
                print("acuity: interrupted", file=sys.stderr)
                break
            speeds.append(speed)
            say(table.line(speed))
        else:
            say(*(f"  {entry.name}: {entry.reason}" for entry in unusable))
    document = as_document(bench, arguments.seconds, speeds, unusable)
    if arguments.json:
        print(json.dumps(plain({"schema": SCHEMA, **document}), indent=2, allow_nan=False))
    elif document["equal"] and len(places) > 1:
        say("", "  The figures of all are the same, bit for bit.")
    for text in document["differences"]:
        print(f"acuity: {text}", file=sys.stderr)
    return OK if document["equal"] else FAILED


def _workloads(arguments: argparse.Namespace) -> Sequence[Workload]:
    """Those that were named, each measured alone, or the usual ones."""
    from acuity.scoring.speed import WORKLOADS, Workload

    named = [Workload(model, models=(model,)) for model in dict.fromkeys(arguments.model)]
    named += [Workload(feature, features=(feature,)) for feature in dict.fromkeys(arguments.feature)]
    return named or WORKLOADS


class _Table:
    """Lines of one width, which are printed as they are measured."""

    def __init__(self, measured: Sequence[str], places: Sequence[str]) -> None:
        self._widths = (
            max(map(len, (_HEAD[0], *measured))),
            max(map(len, (_HEAD[1], *places))),
        )
        self.head = self._joined(*_HEAD)

    def line(self, speed: Speed) -> str:
        fps = f"{speed.fps:,.0f}" if speed.fps >= _WHOLE else f"{speed.fps:.1f}"
        scores = [f"{name} {score:.6f}" for name, score in speed.scores.items()][:_SHOWN]
        return self._joined(speed.workload.name, speed.place.name, fps, str(speed.frames), ", ".join(scores))

    def _joined(self, measured: str, place: str, fps: str, frames: str, scores: str) -> str:
        first, second = self._widths
        return f"  {measured:{first}}  {place:{second}}  {fps:>8}  {frames:>7}  {scores}"


Say = Callable[..., None]


@contextmanager
def _progress() -> Iterator[Say]:
    """Yields what shows a line on a terminal in the place of the one before; nothing is left of it."""
    if not sys.stderr.isatty():
        yield _silent
        return
    columns = Style(sys.stderr).columns

    def tell(text: str) -> None:
        sys.stderr.write(f"\r{text[: columns - 1]}\033[K")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        tell("")


def _printer(tell: Say) -> Say:
    def say(*lines: str) -> None:
        tell("")
        for line in lines:
            print(line, flush=True)

    return say


def _silent(*_: str) -> None:
    pass

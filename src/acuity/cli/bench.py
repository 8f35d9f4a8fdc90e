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

from acuity.cli.exits import BACKEND, FAILED, OK, interruptible
from acuity.cli.getopt import amount
from acuity.cli.score_options import entry, size
from acuity.cli.terminal.style import Style
from acuity.errors import BackendError, UnfitPictureError
from acuity.report.document import plain
from acuity.scoring.fronts import sentence

if TYPE_CHECKING:
    from acuity.scoring.speed import Speed, SpeedRun, Unusable, Workload

SCHEMA: Final = "acuity.bench/1"
_DEPTHS: Final = (8, 10, 12, 16)
_SECONDS: Final = 20.0
_LONGEST: Final = 3600  # seconds
_LARGEST: Final = (8192, 4320)  # larger frames would take longer to make than to measure
_SHOWN: Final = 3  # scores on a line
_WHOLE: Final = 100  # frames a second, from which on tenths don't count
_HEAD: Final = ("measured", "backend", "fps", "frames", "mean of the first 4 frames")


def configure(parser: argparse.ArgumentParser) -> None:
    # fmt: off
    for names, settings in (
        entry("--backend", metavar="B", action="append", default=[],
              help="measure this one: cpu, cuda (every card), a card, as cuda:1, or auto; repeatable "
              "(default: all)"),
        entry("-m", "--model", metavar="MODEL", action="append", default=[],
              help="measure this model; repeatable"),
        entry("--feature", metavar="F", action="append", default=[],
              help="measure this extractor; repeatable"),
        entry("--size", metavar="SIZE", type=_size, default="1080p", help="1080p (default), 2160p or WxH"),
        entry("-b", "--bitdepth", type=int, choices=_DEPTHS, default=8, help="of a sample (8)"),
        entry("--seconds", metavar="S", type=amount(0.01, _LONGEST, "number of seconds"), default=_SECONDS,
              help="for everything, about (20)"),
        entry("--json", help="print one JSON document"),
    ):
        parser.add_argument(*names, **settings)
    # fmt: on


def _size(text: str) -> tuple[int, int]:
    from acuity.scoring.speed import SIZES

    found = SIZES.get(text.lower()) or size(text)
    if math.prod(found) > math.prod(_LARGEST):
        raise ValueError(f"is too large: {'x'.join(map(str, _LARGEST))} is the most")
    return found


def run(arguments: argparse.Namespace) -> int:
    from acuity.scoring.speed import SpeedRun, Unusable, as_document, find_places

    speeds: list[Speed] = []
    style = Style(sys.stdout)
    with interruptible() as interrupts, progress_line() as tell:
        tell("looking for backends")
        bench = SpeedRun(arguments.size, arguments.bitdepth, arguments.seconds)
        workloads, unfit = _workloads(arguments, bench)
        places, unusable = find_places(arguments.backend)
        say = silent if arguments.json else printer(tell)
        table = _Table([workload.name for workload in workloads], [place.name for place in places], style)
        say(f"{'x'.join(map(str, bench.size))}, {bench.depth} bit, frames from memory", "", *table.head)
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
                lost.add(place.name)
                unusable.append(Unusable(place.name, sentence(error, "acuity")))
                continue
            if speed is None:
                tell("")
                print("acuity: interrupted", file=sys.stderr)
                break
            speeds.append(speed)
            say(*table.lines(speed))
        else:
            for entry in (*unfit, *unusable):
                say(*style.paragraph(None, f"{entry.name}: {entry.reason}", hanging=2))
    document = as_document(bench, arguments.seconds, speeds, [*unfit, *unusable])
    if arguments.json:
        print(json.dumps(plain({"schema": SCHEMA, **document}), indent=2, allow_nan=False))
    elif document["equal"] and len(places) > 1:
        say("", *style.paragraph(None, "The figures of all are the same, bit for bit."))
    for text in document["differences"]:
        print(f"acuity: {text}", file=sys.stderr)
    if document["differences"]:
        return FAILED
    # Of a backend that was named a card may be missing, but not all of them.
    missing = lost or {entry.name for entry in unusable}.intersection(arguments.backend)
    return BACKEND if not speeds or (arguments.backend and missing) else OK


def _workloads(arguments: argparse.Namespace, bench: SpeedRun) -> tuple[list[Workload], list[Unusable]]:
    """The workloads that were named, each alone, or the usual ones that can be measured at this size.

    Raises what is wrong with a named one.
    """
    from acuity.scoring.speed import WORKLOADS, Unusable, Workload

    named = [Workload(model, models=(model,)) for model in dict.fromkeys(arguments.model)]
    named += [Workload(feature, features=(feature,)) for feature in dict.fromkeys(arguments.feature)]
    fit: list[Workload] = []
    unfit: list[Unusable] = []
    for workload in named or WORKLOADS:
        try:
            bench.check(workload)
            fit.append(workload)
        except UnfitPictureError as error:
            if named:
                raise
            unfit.append(Unusable(workload.name, str(error.__cause__)))
    return fit, unfit


class _Table:
    """Lines of one width, which are printed as they are measured; stacked where the terminal is narrow."""

    def __init__(self, measured: Sequence[str], places: Sequence[str], style: Style) -> None:
        self._widths = (max(map(len, (_HEAD[0], *measured))), max(map(len, (_HEAD[1], *places))))
        self._columns = style.columns if style.fits else sys.maxsize
        *cells, scores = _HEAD
        self._stacked = len(self._joined(*cells)) > self._columns
        self.head = [] if self._stacked else self._with_scores(self._joined(*cells), [scores])

    def lines(self, speed: Speed) -> list[str]:
        fps = f"{speed.fps:,.0f}" if speed.fps >= _WHOLE else f"{speed.fps:.1f}"
        scores = [f"{name} {score:.6f}" for name, score in speed.scores.items()][:_SHOWN]
        measured, place = speed.workload.name, speed.place.name
        if self._stacked:
            cells = (f"{fps} fps", f"{speed.frames} frames", *scores)
            return [f"  {measured}", f"    {place}", *(f"      {cell}" for cell in cells)]
        return self._with_scores(self._joined(measured, place, fps, str(speed.frames)), scores)

    def _joined(self, measured: str, place: str, fps: str, frames: str) -> str:
        first, second = self._widths
        return f"  {measured:{first}}  {place:{second}}  {fps:>8}  {frames:>7}"

    def _with_scores(self, line: str, scores: Sequence[str]) -> list[str]:
        """The line with its scores behind it, or below it where they don't fit."""
        whole = f"{line}  {', '.join(scores)}"
        return [whole] if len(whole) <= self._columns else [line, *(f"    {score}" for score in scores)]


Say = Callable[..., None]


@contextmanager
def progress_line() -> Iterator[Say]:
    """Yields what shows a line on a terminal in the place of the one before; nothing is left of it."""
    if not sys.stderr.isatty():
        yield silent
        return
    columns = Style(sys.stderr).columns

    def tell(text: str) -> None:
        sys.stderr.write(f"\r{text[: columns - 1]}\033[K")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        tell("")


def printer(tell: Say) -> Say:
    def say(*lines: str) -> None:
        tell("")
        for line in lines:
            print(line, flush=True)

    return say


def silent(*_: str) -> None:
    pass

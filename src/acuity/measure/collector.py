"""The figures of a measurement, one column for each key. Only these columns grow with the clip."""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from acuity.features.extractor import Derivation, Extractor
from acuity.records import Record

if TYPE_CHECKING:
    from acuity.devices.cuda.batch import BatchFigures

Figures: TypeAlias = "array[float]"  # doubles

_FIRST_ROOM: Final = 256
_MISSING: Final[Figures] = array("d", [math.nan])


class Column:
    """Figures by frame number; NaN if none was written."""

    def __init__(self) -> None:
        self.used = False
        self._values: Figures = array("d")
        self._written = bytearray()
        self._make_room(_FIRST_ROOM - 1)

    def write(self, index: int, value: float) -> None:
        self._make_room(index)
        self._values[index] = value
        self._written[index] = True
        self.used = True

    def write_all(self, numbers: Sequence[int], values: Iterable[float]) -> None:
        """Write the figures of these frames, whose numbers rise."""
        first, last = numbers[0], numbers[-1]
        self._make_room(last)
        if last - first + 1 == len(numbers):
            given = array("d", values)
            if len(given) != len(numbers):  # a slice would move what comes after it
                raise ValueError(f"{len(given)} figures came for {len(numbers)} frames")
            self._values[first : last + 1] = given
            self._written[first : last + 1] = bytes([True]) * len(numbers)
        else:
            for index, value in zip(numbers, values, strict=True):
                self._values[index], self._written[index] = value, True
        self.used = True

    def _make_room(self, index: int) -> None:
        room = len(self._values)
        if index >= room:
            more = max(index + 1, 2 * room) - room
            self._values.extend(_MISSING * more)
            self._written.extend(bytes(more))

    def get(self, index: int) -> float | None:
        return self._values[index] if 0 <= index < len(self._values) and self._written[index] else None

    def following(self, index: int, stop: int) -> list[float]:
        """The figures from `index` on, up to `stop` or the first that is missing; if many, not all."""
        stop = min(stop, index + _FIRST_ROOM, len(self._values))
        known = self._written.find(0, index, stop)
        return self._values[index : known if known >= 0 else stop].tolist()

    def table(self, length: int, begin: int = 0) -> tuple[Figures, bytearray]:
        """Copies of the figures from `begin` up to `length`, and of which exist."""
        values, written = self._values[begin:length], self._written[begin:length]
        missing = length - begin - len(values)
        values.extend(_MISSING * missing)
        written.extend(bytes(missing))
        return values, written


class _Run(Record, frozen=False):
    """A derivation over consecutive frames."""

    derivation: Derivation
    start: int
    stop: int
    waiting: int  # the next frame it waits for

    def is_needed(self, now: int) -> bool:
        """Whether it still waits for figures, or may continue because no frame was fed since it ended."""
        return self.waiting < self.stop or self.start < self.waiting == now


class Collector:
    """The columns, which several threads write and read.

    Late features are derived here as soon as their figures exist, in whatever order those arrive.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._columns: dict[str, Column] = {}
        self._runs: list[_Run] = []

    def declare(self, keys: Iterable[str]) -> None:
        """Create missing columns."""
        with self._lock:
            for key in keys:
                self._columns.setdefault(key, Column())

    def replan(self, now: int, keys: Iterable[str], runs: Iterable[tuple[Extractor, int, int]]) -> None:
        """Set the columns and the derivations for the frames from `now` on.

        Each extractor comes with the start and stop of its run. A run that existed before continues, also
        beyond its earlier stop; other runs end with the frame before `now`. Empty columns are dropped.
        """
        with self._lock:
            wanted = dict.fromkeys(keys)
            self._columns = {k: c for k, c in self._columns.items() if k in wanted or c.used}
            for key in wanted:
                self._columns.setdefault(key, Column())
            known = {(run.derivation.source, run.start): run for run in self._runs}
            going_on = set()
            for extractor, start, stop in runs:
                derivation = extractor.derivation(start)
                if derivation is None:
                    continue
                place = (derivation.source, start)
                if place not in known:
                    known[place] = _Run(derivation, start, stop, start)
                known[place].stop = stop
                going_on.add(place)
            for place, run in known.items():
                if place not in going_on:
                    run.stop = min(run.stop, now)
            self._runs = [run for run in known.values() if run.is_needed(now)]

    def write(self, index: int, figures: Mapping[str, float]) -> None:
        """Store a frame's figures and derive what follows from them."""
        with self._lock:
            for key, value in figures.items():
                self._columns[key].write(index, value)
            self._advance()

    def write_all(self, numbers: Sequence[int], figures: Mapping[str, Iterable[float]]) -> None:
        """Store figures of many frames, whose numbers rise, from which nothing is derived."""
        with self._lock:
            for key, values in figures.items():
                self._columns[key].write_all(numbers, values)

    def write_batch(self, batch: Iterable[BatchFigures]) -> None:
        """Store figures of several frames and derive what follows from them."""
        with self._lock:
            for numbers, figures in batch:
                for key, values in figures.items():
                    self._columns[key].write_all(numbers, values)
            self._advance()

    def finish(self) -> None:
        """Derive the last figures: no more frames come."""
        with self._lock:
            for run in self._runs:
                if run.waiting < run.stop:
                    self._store(run.derivation.finish())
            self._runs = []

    def get(self, key: str, index: int) -> float | None:
        """The figure, or None if it doesn't exist."""
        with self._lock:
            column = self._columns.get(key)
            return None if column is None else column.get(index)

    def has(self, key: str) -> bool:
        """Whether any frame has a figure in this column."""
        with self._lock:
            return self._columns[key].used

    def row(self, keys: Iterable[str], index: int) -> list[float] | None:
        """One frame's figures, or None unless all exist."""
        with self._lock:
            values = [self._columns[key].get(index) for key in keys]
        present = [value for value in values if value is not None]
        return present if len(present) == len(values) else None

    def column(self, key: str, length: int) -> Figures:
        """The first figures of a column; NaN if missing."""
        with self._lock:
            return self._columns[key].table(length)[0]

    def undefined(self, key: str, length: int) -> list[int]:
        """The frames up to `length` whose figure in a column exists and is not a number."""
        with self._lock:
            values, written = self._columns[key].table(length)
        return [frame for frame, value in enumerate(values) if value != value and written[frame]]

    def table(self, keys: Iterable[str], length: int, begin: int = 0) -> tuple[list[Figures], bytearray]:
        """The first figures of several columns, and which frames have all of them, from `begin` on."""
        columns: list[Figures] = []
        complete = int.from_bytes(bytes([True]) * (length - begin))
        for key in keys:
            with self._lock:  # for one column at a time, so that writers don't wait long
                values, written = self._columns[key].table(length, begin)
            columns.append(values)
            complete &= int.from_bytes(written)
        return columns, bytearray(complete.to_bytes(length - begin))

    def _advance(self) -> None:
        for run in self._runs:
            source = self._columns[run.derivation.source]
            while run.waiting < run.stop and (known := source.following(run.waiting, run.stop)):
                self._store([figure for value in known for figure in run.derivation.push(value)])
                run.waiting += len(known)

    def _store(self, figures: Iterable[tuple[str, int, float]]) -> None:
        """Store what a derivation gives, which is in frame order for each key."""
        numbers: dict[str, list[int]] = {}
        values: dict[str, list[float]] = {}
        for key, index, value in figures:
            numbers.setdefault(key, []).append(index)
            values.setdefault(key, []).append(value)
        for key, indices in numbers.items():
            self._columns[key].write_all(indices, values[key])

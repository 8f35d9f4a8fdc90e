"""The figures of a measurement: one growing column for each key. Its memory is all that grows with a clip."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.features.extractor import Derivation

_FIRST_ROOM: Final = 256


class Column:
    """Figures by frame number; NaN where none was written."""

    def __init__(self) -> None:
        self._values = np.full(_FIRST_ROOM, np.nan)
        self._written = np.zeros(_FIRST_ROOM, bool)

    def write(self, index: int, value: float) -> None:
        room = len(self._values)
        if index >= room:
            more = max(index + 1, 2 * room) - room
            self._values = np.concatenate([self._values, np.full(more, np.nan)])
            self._written = np.concatenate([self._written, np.zeros(more, bool)])
        self._values[index] = value
        self._written[index] = True

    def write_all(self, indices: NDArray[np.intp], values: NDArray[np.float64]) -> None:
        self.write(int(indices.max()), float(values[indices.argmax()]))  # makes room
        self._values[indices] = values
        self._written[indices] = True

    def get(self, index: int) -> float | None:
        if 0 <= index < len(self._values) and self._written[index]:
            return float(self._values[index])
        return None

    def snapshot(self, length: int) -> NDArray[np.float64]:
        """A copy of the first figures."""
        out = np.full(length, np.nan)
        count = min(length, len(self._values))
        out[:count] = self._values[:count]
        return out

    def written(self, length: int) -> NDArray[np.bool_]:
        """Which of the first figures are there, as a copy."""
        out = np.zeros(length, bool)
        count = min(length, len(self._written))
        out[:count] = self._written[:count]
        return out


class Collector:
    """Columns that several threads write and read.

    Late features are derived here as soon as the figures they need are there, in whatever order those come.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._columns: dict[str, Column] = {}
        self._derivations: list[tuple[Derivation, int]] = []  # with the next frame each waits for

    def declare(self, keys: Iterable[str]) -> None:
        """Make columns, in report order."""
        with self._lock:
            for key in keys:
                self._columns.setdefault(key, Column())

    def derive(self, derivation: Derivation) -> None:
        """Write what this derives from now on."""
        self._derivations.append((derivation, 0))

    @property
    def keys(self) -> list[str]:
        with self._lock:
            return list(self._columns)

    def write(self, index: int, figures: Mapping[str, float]) -> None:
        """Take a frame's figures and derive what they make known."""
        with self._lock:
            for key, value in figures.items():
                self._columns[key].write(index, value)
            self._advance()

    def write_all(self, indices: NDArray[np.intp], figures: Mapping[str, NDArray[np.float64]]) -> None:
        """Take figures of many frames that nothing is derived from."""
        with self._lock:
            for key, values in figures.items():
                self._columns[key].write_all(indices, values)

    def finish(self) -> None:
        """No more frames come."""
        with self._lock:
            for derivation, _ in self._derivations:
                self._store(derivation.finish())
            self._derivations = []

    def get(self, key: str, index: int) -> float | None:
        """The figure, or None if it isn't there; KeyError for an unknown key."""
        with self._lock:
            return self._columns[key].get(index)

    def row(self, keys: Iterable[str], index: int) -> list[float] | None:
        """One frame's figures, or None unless all are there."""
        with self._lock:
            values = [self._columns[key].get(index) for key in keys]
        present = [value for value in values if value is not None]
        return present if len(present) == len(values) else None

    def table(self, keys: Iterable[str], length: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The first figures of several columns (frames x keys), and in which rows all are there."""
        with self._lock:
            columns = [self._columns[key] for key in keys]
            values = np.empty((length, len(columns)))
            complete = np.ones(length, bool)
            for position, column in enumerate(columns):
                values[:, position] = column.snapshot(length)
                complete &= column.written(length)
        return values, complete

    def _advance(self) -> None:
        for position, (derivation, waiting) in enumerate(self._derivations):
            source = self._columns[derivation.source]
            while (value := source.get(waiting)) is not None:
                self._store(derivation.push(value))
                waiting += 1
            self._derivations[position] = (derivation, waiting)

    def _store(self, figures: Iterable[tuple[str, int, float]]) -> None:
        for key, index, value in figures:
            self._columns[key].write(index, value)

"""Epochs: a value for every frame that changes at some frames; and subsampling, which is such a value.

The model of a slot, the plan and the sampling step are such values. Epochs are immutable: steering makes new
ones, so other threads can keep reading the old ones.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from acuity.errors import InputError

ValueT = TypeVar("ValueT")

FOREVER: Final = sys.maxsize


class Epochs(Generic[ValueT]):
    """The values of all frames from 0 on; equal neighbours are one epoch."""

    __slots__ = ("_starts", "_values")

    def __init__(self, value: ValueT) -> None:
        self._starts = [0]
        self._values = [value]

    def __len__(self) -> int:
        """How many epochs there are."""
        return len(self._starts)

    def at(self, index: int) -> ValueT:
        return self._values[bisect_right(self._starts, index) - 1]

    def spans(self, first: int = 0, stop: int = FOREVER) -> Iterator[tuple[int, int, ValueT]]:
        """The epochs with frames from `first` until `stop`, as (first, stop, value), at their full length."""
        position = max(bisect_right(self._starts, first) - 1, 0)
        while position < len(self._starts) and self._starts[position] < stop:
            following = position + 1
            end = self._starts[following] if following < len(self._starts) else FOREVER
            yield self._starts[position], end, self._values[position]
            position = following

    def assign(self, value: ValueT, first: int, stop: int = FOREVER) -> Epochs[ValueT]:
        """New epochs with this value for the frames from `first` until `stop`."""
        if first >= stop:
            return self
        head = bisect_left(self._starts, first)
        tail = bisect_right(self._starts, stop) - 1  # the epoch that continues at `stop`
        starts, values = self._starts[:head], self._values[:head]
        _append(starts, values, first, value)
        if stop < FOREVER:
            _append(starts, values, stop, self._values[tail])
            starts += self._starts[tail + 1 :]
            values += self._values[tail + 1 :]
        found = Epochs(value)
        found._starts, found._values = starts, values
        return found


def _append(starts: list[int], values: list[ValueT], start: int, value: ValueT) -> None:
    if not values or values[-1] != value:
        starts.append(start)
        values.append(value)


# The step of every frame; frames whose number is a multiple of it are counted.
Sampling = Epochs[int]


def sampling(step: int) -> Sampling:
    return Epochs(check_step(step))


def check_step(step: int) -> int:
    if step < 1:
        raise InputError(f"subsample {step} must be at least 1: every Nth frame is measured")
    return step


def is_counted(steps: Sampling, index: int) -> bool:
    return index >= 0 and index % steps.at(index) == 0


def counted(steps: Sampling, length: int, begin: int = 0) -> list[range]:
    """The counted frames from `begin` up to `length`: a range for each step."""
    return [
        range(next_multiple(max(first, begin), step), min(stop, length), step)
        for first, stop, step in steps.spans(begin, length)
    ]


def next_counted(steps: Sampling, index: int) -> int:
    """The first frame from `index` on that is counted."""
    for first, stop, step in steps.spans(index):
        found = next_multiple(max(index, first), step)
        if found < stop:
            return found
    raise AssertionError("the last epoch has no end")


def last_counted(steps: Sampling, index: int) -> int:
    """The last frame up to `index` that is counted; -1 if none is."""
    for first, stop, step in reversed(list(steps.spans(0, index + 1))):
        found = (min(stop - 1, index) // step) * step
        if found >= first:
            return found
    return -1


def next_multiple(index: int, step: int) -> int:
    return -(-index // step) * step

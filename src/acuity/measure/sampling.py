"""Subsampling: which frames are counted. Steering may change the step at any frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acuity.errors import InputError
from acuity.measure.epochs import Epochs

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


def counted(steps: Sampling, length: int, begin: int = 0) -> NDArray[np.intp]:
    """The counted frames from `begin` up to `length`."""
    parts = [
        np.arange(next_multiple(max(first, begin), step), min(stop, length), step, dtype=np.intp)
        for first, stop, step in steps.spans(begin, length)
    ]
    return np.concatenate(parts) if parts else np.empty(0, np.intp)


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

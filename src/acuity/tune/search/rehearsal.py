"""Rehearses a search on curves that are drawn from a belief, to see how many encodes it takes.

A belief is a mean and a covariance of the score at each place; places are in the order in which the target is
met at first and missed later. All scores are on the scale of the prior.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

_CURVES: Final = 160  # that are drawn from a belief
_EVEN: Final = 6  # main directions of a belief in which the drawn curves are spread evenly
_DEPTH: Final = 4  # encodes that a search is rehearsed for
_REACH, _FINENESS = 6, 256  # of the table of the normal distribution


class Aim(NamedTuple):
    """The ends of a search: a score from `goal` to `near`, or neighbours of which one reaches the goal."""

    goal: float
    near: float

    def chances(self, mean: Array, spread: Array, places: Places, low: Any, high: Any) -> Array:
        """The probability that an encode at each place ends a search between `low` and `high`."""
        missed = _below((self.goal - mean) / spread)
        within = _below((self.near - mean) / spread)
        ends: Array = within - missed
        ends += (places + 1 == high) * (1 - within)
        ends += (places - 1 == low) * missed
        return ends


def expected_encodes(
    aim: Aim,
    mean: Array,
    covariance: Array,
    noise: float,
    places: Places,
    starts: Places,
    edges: tuple[int, int],
) -> Array:
    """The number of encodes that a search is expected to take, for each start that it may go on from.

    `starts` are indices into `places`, whose beliefs are given. On each drawn curve the search is played to
    its end, or nearly: after its first encode it goes where it is most likely to end.
    """
    curves = _drawn(mean, covariance, noise)
    games = _Games(mean, covariance, noise, len(starts) * len(curves))
    start = np.repeat(np.arange(len(starts)), len(curves))
    curve = np.tile(np.arange(len(curves)), len(starts))
    at = starts[start]
    low, high = np.full(len(start), edges[0]), np.full(len(start), edges[1])
    total = np.zeros(len(starts))
    for depth in range(1, _DEPTH + 1):
        total += np.bincount(start, minlength=len(starts))
        value = curves[curve, at]
        good = value >= aim.goal
        low, high = np.where(good, places[at], low), np.where(good, high, places[at])
        going = np.flatnonzero(~((good & (value <= aim.near)) | (high - low <= 1)))
        start, curve, low, high = start[going], curve[going], low[going], high[going]
        if depth == _DEPTH or not len(going):
            break
        games.keep(going)
        games.observe(at[going], value[going])
        left, right = low[:, None], high[:, None]
        chances = aim.chances(games.mean, np.sqrt(np.maximum(games.variance, noise)), places, left, right)
        chances[(places <= left) | (places >= right)] = -1
        at = chances.argmax(axis=1)
    # What is left is bisected.
    total += np.bincount(start, np.log2(np.maximum(high - low, 2)), len(starts))
    return np.asarray(total / len(curves))


class _Games:
    def __init__(self, mean: Array, covariance: Array, noise: float, count: int) -> None:
        self.mean = np.tile(mean, (count, 1))
        self.variance = np.tile(np.maximum(np.diag(covariance), 0) + noise, (count, 1))
        self._covariance = covariance
        self._seen: list[tuple[Array, Array]] = []  # gains and columns of what was observed

    def keep(self, which: Places) -> None:
        self.mean, self.variance = self.mean[which], self.variance[which]
        self._seen = [(gain[which], column[which]) for gain, column in self._seen]

    def observe(self, at: Places, value: Array) -> None:
        """Bend each belief by the value at a place."""
        index = at[:, None]
        column = self._covariance[at]
        for gain, earlier in self._seen:
            column -= np.take_along_axis(earlier, index, 1) * gain
        gain = column / np.take_along_axis(self.variance, index, 1)
        self.mean += gain * (value[:, None] - np.take_along_axis(self.mean, index, 1))
        self.variance -= gain * column
        self._seen.append((gain, column))


def _drawn(mean: Array, covariance: Array, noise: float) -> Array:
    """Curves as the belief has them, with the noise of their points."""
    sizes, directions = np.linalg.eigh(covariance)
    main = (directions * np.sqrt(np.maximum(sizes, 0)))[:, ::-1]
    draws, noises = _deviates(len(mean))
    return np.asarray(mean + draws @ main.T + noises * np.sqrt(noise))


@cache
def _deviates(count: int) -> tuple[Array, Array]:
    """Normal deviates for curves of so many places, and for their noise; the same ones in each search.

    The first columns are a lattice of Kronecker's, which covers the likely curves with few draws.
    """
    draws, noises = np.random.default_rng(1).standard_normal((2, _CURVES, count))
    root = 1.0
    for _ in range(40):  # towards the number whose powers are the least alike: x^(d+1) = x + 1
        root = (1 + root) ** (1 / (_EVEN + 1))
    even = (0.5 + np.outer(np.arange(1, _CURVES + 1), root ** -np.arange(1.0, _EVEN + 1))) % 1
    normal = np.vectorize(NormalDist().inv_cdf)
    width = min(count, _EVEN)
    draws[:, :width] = normal(np.clip(even[:, :width], 1e-4, 1 - 1e-4))
    return draws, noises


@cache
def _normal() -> Array:
    """The standard normal distribution between -_REACH and _REACH, _FINENESS values to one deviation."""
    below = NormalDist().cdf
    return np.array([below(index / _FINENESS - _REACH) for index in range(2 * _REACH * _FINENESS + 1)])


def _below(deviations: Array) -> Array:
    """The standard normal distribution, from a table: three digits are enough, and there are many values."""
    index = deviations * _FINENESS
    index += _REACH * _FINENESS + 0.5
    np.clip(index, 0, 2 * _REACH * _FINENESS, out=index)
    return _normal()[index.astype(np.int32)]

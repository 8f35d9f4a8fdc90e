"""Samples a long source by its shots, and says how far the sample's figures may be off.

Pieces of a second or two are taken at even distances along the source, after it was put in an order that
goes through time and, within each stretch of time, from calm shots to busy ones and back. So every frame
has the same chance, each stretch of time has its share, and hard shots are among the pieces. The pieces are
one clip to an encoder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import TuneError
from acuity.tune.clip import Clip, Part
from acuity.tune.points.point import Point
from acuity.tune.shots.detect import Shot

_PIECE_SECONDS: Final = 2.0  # long enough that its first frame, a keyframe, is a small share
_SHORT_PIECE_SECONDS: Final = 0.5
_LEAST_PIECES: Final = 6  # fewer say little of how unlike the shots are
_BLOCK: Final = 4  # pieces of a stretch of time, within which shots go from calm to busy

# Two-sided 95 % quantiles of Student's t for 1, 2, … degrees of freedom.
_T95: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """A figure of a sample, and how far the whole source's may be from it."""

    value: float
    standard_error: float | None = None  # None: the sample can't tell
    interval: tuple[float, float] | None = None  # 95 %
    note: str | None = None

    def document(self) -> dict[str, Any]:
        return {
            "value": round(self.value, 6),
            "standard_error": None if self.standard_error is None else round(self.standard_error, 6),
            "interval95": None if self.interval is None else [round(bound, 6) for bound in self.interval],
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class SampledPieces:
    """Pieces of a source that stand for all of it."""

    parts: tuple[Part, ...]
    total_frames: int
    shots: int  # that the source has
    shots_seen: int  # that a piece is of

    @property
    def frames(self) -> int:
        return sum(part.end - part.start for part in self.parts)

    @property
    def whole(self) -> bool:
        return self.frames >= self.total_frames

    def of(self, clip: Clip) -> Clip:
        return clip if self.whole else clip.of(*self.parts)

    def mean(self, values: NDArray[np.float64]) -> Uncertainty:
        """The mean of a figure of each sampled frame.

        Pieces are clusters: frames of one piece are alike, so what counts is how the means of the pieces
        differ. A sample of nearly all frames is nearly certain (the finite population correction).
        """
        if len(values) != self.frames:
            raise TuneError(f"the sample has {self.frames} frames, but there are figures of {len(values)}")
        value = float(np.mean(values))
        if self.whole:
            return Uncertainty(value, 0.0, (value, value))
        edges = np.cumsum([0, *(part.end - part.start for part in self.parts)])
        lengths = np.diff(edges)
        count = len(lengths)
        if count < 2:
            return Uncertainty(value, note="one piece can't say how unlike the rest is")
        sums = np.add.reduceat(values, edges[:-1])
        # The ratio estimator's: pieces may be unlike in length.
        residuals = (sums - value * lengths) / lengths.mean()
        variance = float(residuals @ residuals) / (count - 1) / count * (1 - self.frames / self.total_frames)
        error = math.sqrt(max(variance, 0.0))
        quantile = _T95[count - 2] if count - 2 < len(_T95) else 1.96 + 2.5 / (count - 1)
        reach = quantile * error
        return Uncertainty(value, error, (value - reach, value + reach))

    def score(self, point: Point, column: str = "vmaf", pool: str = "mean") -> Uncertainty:
        if pool == "mean":
            return self.mean(point.scores[column])
        value = point.pool(column, pool)
        if self.whole:
            return Uncertainty(value, 0.0, (value, value))
        if pool == "harmonic_mean":
            harmonic = self.mean(1.0 / (point.scores[column] + 1.0))
            if harmonic.standard_error is None or harmonic.interval is None:
                return Uncertainty(value, note=harmonic.note)
            low, high = (1.0 / bound - 1.0 if bound > 0 else math.inf for bound in harmonic.interval[::-1])
            return Uncertainty(value, harmonic.standard_error / harmonic.value**2, (low, high))
        left = _counted(self.total_frames - self.frames, "frame")
        note = f"{pool} depends on the worst frames, and the {left} left out may have worse ones"
        return Uncertainty(value, note=note)

    def bitrate_kbps(self, point: Point) -> Uncertainty:
        return self.mean(point.sizes.astype(np.float64) * (8 * float(point.rate) / 1000))

    def note(self, uncertainty: Uncertainty, what: str = "VMAF", digits: int = 2) -> str:
        """One sentence for people: what was sampled, and how far the figure may be off."""
        pieces = f"{_counted(len(self.parts), 'piece')} of {_counted(self.shots_seen, 'shot')}"
        share = f"{self.frames} of {_counted(self.total_frames, 'frame')}, {pieces}"
        if uncertainty.standard_error is None or uncertainty.interval is None:
            return f"sampled {share}: {what} {uncertainty.value:.{digits}f}; {uncertainty.note}"
        reach = uncertainty.interval[1] - uncertainty.value
        return (
            f"sampled {share}: {what} {uncertainty.value:.{digits}f} ± {reach:.{digits}f} (95 % interval), "
            f"standard error {uncertainty.standard_error:.{digits}f}"
        )

    def document(self) -> dict[str, Any]:
        return {
            "frames": self.frames,
            "total_frames": self.total_frames,
            "shots": self.shots,
            "shots_seen": self.shots_seen,
            "parts": [list(part) for part in self.parts],
        }


def sample(shots: Sequence[Shot], rate: Fraction, seconds: float) -> SampledPieces:
    """Pieces of about so many seconds that stand for all of a source."""
    if not seconds > 0:
        raise TuneError(f"a sample of {seconds:g} seconds can't be: use more than 0")
    total = sum(shot.frames for shot in shots)
    budget = max(1, round(seconds * float(rate)))
    if budget >= total:
        return SampledPieces(tuple(shot.part for shot in shots), total, len(shots), len(shots))
    piece, count = _pieces(budget, total, rate)
    units = _ordered(_units(shots, piece), _BLOCK * total // count)
    parts = sorted(part for unit, hits in _hits(units, count) for part in _taken(unit, hits, piece))
    seen = sum(any(part.start < shot.end and shot.start < part.end for part in parts) for shot in shots)
    return SampledPieces(tuple(parts), total, len(shots), seen)


def _pieces(budget: int, total: int, rate: Fraction) -> tuple[int, int]:
    """Frames of a piece, and how many pieces: short ones if the budget is small, so that there are a few."""
    longest = max(1, round(float(rate) * _PIECE_SECONDS))
    shortest = max(1, round(float(rate) * _SHORT_PIECE_SECONDS))
    piece = min(budget, max(shortest, min(longest, budget // _LEAST_PIECES)))
    return piece, max(1, min(round(budget / piece), total // piece))


def _units(shots: Sequence[Shot], piece: int) -> list[Shot]:
    """Shots, those shorter than a piece together with the next: every unit has room for a piece."""
    units: list[Shot] = []
    for shot in shots:
        last = units[-1] if units else None
        if last is not None and last.end == shot.start and min(last.frames, shot.frames) < piece:
            activity = (last.activity * last.frames + shot.activity * shot.frames) / (shot.end - last.start)
            units[-1] = Shot(last.start, shot.end, activity)
        else:
            units.append(shot)
    return units


def _ordered(units: Sequence[Shot], length: int) -> list[Shot]:
    """The units through time, those of a stretch from calm to busy, those of the next one back again.

    `length` is the frames that a stretch has at least.
    """
    stretches: list[list[Shot]] = [[]]
    for unit in units:
        if sum(one.frames for one in stretches[-1]) >= length:
            stretches.append([])
        stretches[-1].append(unit)
    ordered: list[Shot] = []
    for place, stretch in enumerate(stretches):
        ordered += sorted(stretch, key=lambda unit: unit.activity, reverse=place % 2 == 1)
    return ordered


def _hits(units: Sequence[Shot], count: int) -> list[tuple[Shot, int]]:
    """How many of `count` marks at even distances along the units fall on each."""
    total, passed, found = sum(unit.frames for unit in units), 0, []
    for unit in units:
        # Marks are in the middle of their stretches: mark k at (k + 1/2) / count of all frames.
        low = math.ceil(Fraction(passed * count, total) - Fraction(1, 2))
        passed += unit.frames
        hits = math.ceil(Fraction(passed * count, total) - Fraction(1, 2)) - low
        if hits:
            found.append((unit, hits))
    return found


def _taken(unit: Shot, hits: int, piece: int) -> list[Part]:
    if hits * piece >= unit.frames:
        return [unit.part]
    starts = [unit.start + (2 * place + 1) * unit.frames // (2 * hits) - piece // 2 for place in range(hits)]
    return [Part(start, start + piece) for start in starts]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

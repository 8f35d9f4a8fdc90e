"""Analyses the rows of a comparison together: places and ties, differences, BD-rates.

Means of different frames say nothing about each other: an encode that ends before a difficult scene has the
higher mean and is not the better one. So encodes are ranked on the frames that all of them have; one that has
too few of them, and a copy of the reference, have no place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.comparison.differences import Difference, difference
from acuity.comparison.encoder_curves import CurvePoint, EncoderRate, encoder_rates
from acuity.comparison.row import CompareRow

_LEAST_SHARE: Final = 0.5  # of the most frames that an encode has; with fewer in common there is no place
_COPY: Final = "identical"  # the note on a pair of files with the same content

Frames = NDArray[np.int64]


class RankedRows(NamedTuple):
    """The rows of a reference that have a place, the best first, and those that have none."""

    reference: str
    rows: list[CompareRow]
    means: list[float]  # of each row on the common frames
    frames: Frames  # that all rows have a figure of
    most: int  # frames that a row has a figure of
    left_out: list[tuple[CompareRow, str]]  # rows with a score, and why they have no place

    @property
    def basis(self) -> str | None:
        """The frames that the rows are ranked on, in words; None if these are all frames of all rows."""
        some_lack = any(len(row.figures[0]) != len(self.frames) for row in self.rows)
        return f"ranked on {len(self.frames):,} common frames" if some_lack else None

    def complete(self, row: CompareRow) -> bool:
        """Whether a row has as many frames as any other, of the whole clip."""
        return len(row.figures[0]) == self.most and not row.partial


def rank(reference: str, rows: Sequence[CompareRow], *, lower_is_better: bool) -> RankedRows:
    """Rank the rows of a reference; rows without a score are neither ranked nor left out."""
    scored = [row for row in rows if row.ranked]
    copied = "is a copy of the reference, and has no place"
    left_out = [(row, f"{row.name} {copied}") for row in scored if _is_copy(row)]
    candidates = [row for row in scored if not _is_copy(row)]
    frames = {row.name: np.sort(row.figures[0]) for row in candidates}
    most = max(map(len, frames.values()), default=0)
    # The longest first, so that a short one can't push out others.
    longest = sorted(candidates, key=lambda row: -len(frames[row.name]))
    shared = frames[longest[0].name] if longest else np.empty(0, np.int64)
    for row in longest:
        own = frames[row.name]
        both = np.intersect1d(shared, own, assume_unique=True)
        if len(both) < _LEAST_SHARE * most:
            left_out.append((row, f"{row.name} has {len(own):,} of {most:,} frames, too few for a place"))
        else:
            shared = both
    without = [row.name for row, _ in left_out]
    means = {row.name: _mean(row, shared) for row in candidates if row.name not in without}
    kept = [row for row in candidates if row.name in means]
    kept.sort(key=lambda row: means[row.name], reverse=not lower_is_better)
    left_out.sort(key=lambda entry: scored.index(entry[0]))
    return RankedRows(reference, kept, [means[row.name] for row in kept], shared, most, left_out)


def _is_copy(row: CompareRow) -> bool:
    return row.copy or (row.report is not None and any(note.code == _COPY for note in row.report.notes))


def _mean(row: CompareRow, frames: Frames) -> float:
    """The mean of these frames; that of the report where they are all."""
    assert row.report is not None
    assert row.score is not None
    if len(frames) == len(row.report.results.frames):
        return row.score
    numbers, values = row.figures
    return float(values[np.isin(numbers, frames)].mean())


_ALL_PAIRS: Final = 12  # encodes of a reference of which every two are compared; of more, each with the best


class Standing(NamedTuple):
    """A row and its place among those of its reference; encodes that tie share a place."""

    row: CompareRow
    place: int | None  # None: it has no score, or can't be ranked with the others
    shared: bool = False  # whether another has the same place
    to_best: Difference | None = None  # this one less the best; None for the best itself
    why: str | None = None  # there is a score and no place

    @property
    def shown_place(self) -> str:
        return "" if self.place is None else f"{self.place}{'=' if self.shared else ''}"


@dataclass(frozen=True)
class Analysis:
    """The standings of each reference, the differences of two encodes, and the BD-rates of encoders."""

    standings: list[Standing]  # by reference in the order given, the best first; those without a place last
    differences: list[Difference]  # the better one is `a`
    rates: list[EncoderRate]
    rankings: list[RankedRows]  # of each reference

    def of(self, reference: str) -> list[Standing]:
        return [standing for standing in self.standings if standing.row.reference == reference]

    def basis(self, reference: str) -> str | None:
        """`ranked on 48 common frames`, unless all its encodes have the same frames."""
        return next((found.basis for found in self.rankings if found.reference == reference), None)

    @property
    def notes(self) -> list[str]:
        """Notes on the frames that places are based on, and on encodes that have a score and no place."""
        notes = []
        for found in self.rankings:
            if found.basis is not None:
                where = f"{os.path.basename(found.reference)}: " if len(self.rankings) > 1 else ""
                lacking = [row.name for row in found.rows if not found.complete(row)]
                lack = f" ({', '.join(lacking)} lack{'s' if len(lacking) == 1 else ''} some)"
                lack = lack if len(lacking) < len(found.rows) else ""
                notes.append(
                    f"{where}{found.basis}{lack}: differences are of these frames, and each score shown is "
                    "the mean of the encode's own"
                )
        return [*notes, *(standing.why for standing in self.standings if standing.why is not None)]


def analyse(rows: Sequence[CompareRow], *, lower_is_better: bool, against: str | None = None) -> Analysis:
    """Compare rows, which come in the order given."""
    rankings = [
        rank(reference, [row for row in rows if row.reference == reference], lower_is_better=lower_is_better)
        for reference in dict.fromkeys(row.reference for row in rows)
    ]
    standings: list[Standing] = []
    found: list[Difference] = []
    points: dict[str, CurvePoint] = {}
    for ranking in rankings:
        between = _differences(ranking, lower_is_better)
        standings += _places(ranking.rows, between)
        found += _listed(len(ranking.rows), between, lower_is_better)
        for row, mean in zip(ranking.rows, ranking.means, strict=True):
            # The bits of a file that lacks frames are those of other content.
            if row.encoder is not None and row.kbps is not None and ranking.complete(row):
                points[row.name] = CurvePoint(row.reference, row.encoder, row.name, row.kbps, mean)
    rates = encoder_rates(
        [points[row.name] for row in rows if row.name in points], against, lower_is_better=lower_is_better
    )
    standings += [Standing(row, None, why=why) for ranking in rankings for row, why in ranking.left_out]
    standings += [Standing(row, None) for row in rows if not row.ranked]
    return Analysis(standings, found, rates, rankings)


Between = Callable[[int, int], Difference | None]  # of two ranked rows, by their places


def _differences(ranking: RankedRows, lower_is_better: bool) -> Between:
    @cache
    def between(a: int, b: int) -> Difference | None:
        rows = ranking.rows[a], ranking.rows[b]
        return difference(*rows, ranking.frames, lower_is_better=lower_is_better)

    return between


def _listed(count: int, between: Between, lower_is_better: bool) -> Iterator[Difference]:
    for a, b in combinations(range(count), 2):
        if count > _ALL_PAIRS and a != 0 and b != a + 1:
            continue
        if (found := between(a, b)) is not None:
            worse = found.mean > 0 if lower_is_better else found.mean < 0  # by rounding only
            yield found.turned() if worse else found


def _places(rows: Sequence[CompareRow], between: Between) -> list[Standing]:
    """Places from 1 on; a row that ties with the first of a place shares it."""
    places: list[int] = []
    leader = 0
    for index in range(len(rows)):
        found = between(leader, index) if index else None
        if found is None or not found.tie:
            leader = index
        places.append(leader + 1)
    to_best = [between(0, index) if index else None for index in range(len(rows))]
    return [
        Standing(row, place, places.count(place) > 1, None if found is None else found.turned())
        for row, place, found in zip(rows, places, to_best, strict=True)
    ]

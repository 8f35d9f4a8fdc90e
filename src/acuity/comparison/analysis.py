"""What the rows of a comparison say beside each other: places and ties, differences, BD-rates."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from acuity.comparison.common_frames import Frames, Ranked, rank
from acuity.comparison.differences import Difference, Scored, difference
from acuity.comparison.encoder_curves import CurvePoint, EncoderRate, encoder_rates

if TYPE_CHECKING:
    from acuity.comparison.report import CompareRow

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
    rankings: list[Ranked]  # of each reference

    def of(self, reference: str) -> list[Standing]:
        """The standings of one reference."""
        return [standing for standing in self.standings if standing.row.reference == reference]

    def basis(self, reference: str) -> str | None:
        """`ranked on 48 common frames`, unless all its encodes have the same frames."""
        return next((found.basis for found in self.rankings if found.reference == reference), None)

    @property
    def notes(self) -> list[str]:
        """What the places are based on, and why encodes with a score have none."""
        notes = []
        for found in self.rankings:
            if found.basis is not None:
                where = f"{os.path.basename(found.reference)}: " if len(self.rankings) > 1 else ""
                lacking = [row.name for row in found.rows if not found.complete(row)]
                lack = ""
                if len(lacking) < len(found.rows):
                    lack = f" ({', '.join(lacking)} lack{'s' if len(lacking) == 1 else ''} some)"
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
        some = _Differences(ranking, lower_is_better)
        standings += _places(ranking.rows, some)
        found += some.listed()
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


class _Differences:
    """The differences of the ranked rows of a reference, each computed once."""

    def __init__(self, ranking: Ranked, lower_is_better: bool) -> None:
        self._rows = [scored for row in ranking.rows if (scored := scored_row(row)) is not None]
        self._frames: Frames = ranking.frames
        self._lower = lower_is_better
        self._known: dict[tuple[int, int], Difference | None] = {}

    def between(self, a: int, b: int) -> Difference | None:
        if (a, b) not in self._known:
            self._known[a, b] = difference(
                self._rows[a], self._rows[b], self._frames, lower_is_better=self._lower
            )
        return self._known[a, b]

    def listed(self) -> Iterator[Difference]:
        count = len(self._rows)
        pairs = list(combinations(range(count), 2))
        if count > _ALL_PAIRS:
            pairs = [(a, b) for a, b in pairs if a == 0 or b == a + 1]
        for a, b in pairs:
            if (found := self.between(a, b)) is not None:
                worse = found.mean > 0 if self._lower else found.mean < 0  # by rounding only
                yield found.turned() if worse else found


def scored_row(row: CompareRow) -> Scored | None:
    """The figures that rows are ranked by."""
    if row.report is None or (column := row.column) is None:
        return None
    return Scored(row.name, row.report, column)


def _places(rows: Sequence[CompareRow], differences: _Differences) -> list[Standing]:
    """Places from 1 on; a row that ties with the first of a place shares it."""
    places: list[int] = []
    leader = 0
    for index in range(len(rows)):
        found = differences.between(leader, index) if index else None
        if found is None or not found.tie:
            leader = index
        places.append(leader + 1)
    return [
        Standing(
            row,
            place,
            places.count(place) > 1,
            None if not index or (found := differences.between(0, index)) is None else found.turned(),
        )
        for index, (row, place) in enumerate(zip(rows, places, strict=True))
    ]

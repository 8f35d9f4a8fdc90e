"""What the rows of a comparison say beside each other: places and ties, differences, BD-rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from acuity.comparison.differences import Difference, Scored, difference
from acuity.comparison.encoder_curves import CurvePoint, EncoderRate, encoder_rates

if TYPE_CHECKING:
    from acuity.comparison.report import CompareRow

_ALL_PAIRS: Final = 12  # encodes of a reference of which every two are compared; of more, each with the best


class Standing(NamedTuple):
    """A row and its place among those of its reference; encodes that tie share a place."""

    row: CompareRow
    place: int | None  # None: it has no score
    shared: bool = False  # whether another has the same place
    to_best: Difference | None = None  # this one less the best; None for the best itself

    @property
    def shown_place(self) -> str:
        return "" if self.place is None else f"{self.place}{'=' if self.shared else ''}"


@dataclass(frozen=True)
class Analysis:
    """The standings of each reference, the differences of two encodes, and the BD-rates of encoders."""

    standings: list[Standing]  # by reference in the order given, the best first; those without a score last
    differences: list[Difference]  # the better one is `a`
    rates: list[EncoderRate]

    def of(self, reference: str) -> list[Standing]:
        """The standings of one reference."""
        return [standing for standing in self.standings if standing.row.reference == reference]


def analyse(
    rows: Sequence[CompareRow],
    ranked: Sequence[CompareRow],
    *,
    lower_is_better: bool,
    against: str | None = None,
) -> Analysis:
    """Compare rows, which come in the order given and ranked, the best of each reference first."""
    standings: list[Standing] = []
    found: list[Difference] = []
    failed = [row for row in ranked if not row.ranked]
    for reference in dict.fromkeys(row.reference for row in ranked):
        group = [row for row in ranked if row.reference == reference and row.ranked]
        some = _Differences(group, lower_is_better)
        standings += _places(group, some)
        found += some.listed()
    points = [
        CurvePoint(row.reference, row.encoder, row.name, row.kbps, row.score)
        for row in rows
        if row.encoder is not None and row.kbps is not None and row.score is not None
    ]
    rates = encoder_rates(points, against, lower_is_better=lower_is_better)
    return Analysis([*standings, *(Standing(row, None) for row in failed)], found, rates)


class _Differences:
    """The differences of the ranked rows of a reference, each computed once."""

    def __init__(self, rows: Sequence[CompareRow], lower_is_better: bool) -> None:
        self._rows = [scored for row in rows if (scored := scored_row(row)) is not None]
        self._lower = lower_is_better
        self._known: dict[tuple[int, int], Difference | None] = {}

    def between(self, a: int, b: int) -> Difference | None:
        if (a, b) not in self._known:
            self._known[a, b] = difference(self._rows[a], self._rows[b], lower_is_better=self._lower)
        return self._known[a, b]

    def listed(self) -> Iterator[Difference]:
        count = len(self._rows)
        pairs = list(combinations(range(count), 2))
        if count > _ALL_PAIRS:
            pairs = [(a, b) for a, b in pairs if a == 0 or b == a + 1]
        for a, b in pairs:
            if (found := self.between(a, b)) is not None:
                yield found


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

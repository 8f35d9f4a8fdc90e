"""Comparison: the scores of many encodes side by side, and their document for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from acuity import __version__
from acuity.comparison.analysis import Analysis, analyse
from acuity.comparison.row import FAILED, NOT_FINISHED, PARTIAL, CompareRow
from acuity.errors import Remedy
from acuity.report.document import plain
from acuity.report.page.page_document import PagePicture
from acuity.video.notes import Level

SCHEMA: Final = "acuity.compare/1"


@dataclass(frozen=True, eq=False)
class Comparison:
    """All encodes in the order given, with the analysis of their scores."""

    rows: list[CompareRow]
    seconds: float  # of wall time
    notes: list[str] = field(default_factory=list)  # about the comparison as a whole
    interrupted: bool = False  # rows without figures may only lack the time
    against: str | None = None  # the encoder that others are compared with; None: the first

    @property
    def ranking(self) -> list[CompareRow]:
        """The rows, the best of each reference first; those without a place come last, in the order given.

        Scores of different references say nothing about each other, so references stay in the order given.
        """
        return [standing.row for standing in self.analysis.standings]

    @property
    def references(self) -> list[str]:
        return list(dict.fromkeys(row.reference for row in self.rows))

    @cached_property
    def analysis(self) -> Analysis:
        """Places and ties, differences of two encodes, BD-rates of encoders."""
        return analyse(self.rows, lower_is_better=self.lower_is_better, against=self.against)

    @property
    def lower_is_better(self) -> bool:
        """Whether a low score is a good one, as of some metrics."""
        report = next((row.report for row in self.rows if row.report is not None), None)
        if report is None or report.models or not report.headlines:
            return False
        return report.headlines[0].metric.better == "lower"

    def notes_by_encode(self, spell: Callable[[Remedy], str]) -> dict[tuple[Level, str], list[str]]:
        """The notes on all pairs, warnings first, each with the names of the encodes that it is about."""
        found: dict[tuple[Level, str], list[str]] = {}
        for row in self.rows:
            for note in row.notes:
                found.setdefault((note.level, note.spelled(spell)), []).append(row.name)
        return dict(sorted(found.items(), key=lambda entry: entry[0][0] != "warning"))

    def count(self, status: str) -> int:
        return sum(row.status == status for row in self.rows)

    @property
    def all_notes(self) -> list[str]:
        """The notes about the comparison as a whole, about its places, and about what wasn't finished."""
        return [*self.notes, *self.analysis.notes, *self._about_unfinished()]

    def _about_unfinished(self) -> Iterator[str]:
        partial, none = self.count(PARTIAL), self.count(NOT_FINISHED)
        if not partial + none:
            return
        parts = [f"{partial} with figures of a part of the frames"] if partial else []
        parts += [f"{none} without figures"] if none else []
        yield (
            f"interrupted: {partial + none} of {len(self.rows)} encodes are not finished "
            f"({', '.join(parts)}), and are not remembered; the same command scores them"
        )

    @property
    def model(self) -> str | None:
        """The model of the scores; None if pairs have different ones, or none."""
        models = {row.report.model for row in self.rows if row.report is not None}
        return models.pop() if len(models) == 1 else None

    def __str__(self) -> str:
        failed = self.count(FAILED)
        scores = [f"{row.name} {row.score:.2f}" for row in self.ranking if row.ranked]
        return ", ".join([*scores, *([f"{failed} failed"] if failed else [])])

    @property
    def scores(self) -> dict[str, float]:
        """The scores by the names of the encodes, the best first; those that failed are not there."""
        return {row.name: row.score for row in self.ranking if row.ranked and row.score is not None}

    @property
    def errors(self) -> dict[str, str]:
        """Why encodes have no score, by their names."""
        return {row.name: row.error for row in self.rows if row.error is not None}

    def to_document(
        self,
        *,
        per_frame: bool = False,
        pools: Sequence[str] = (),
        command: str | None = None,
        spell: Callable[[Remedy], str] = Remedy.plain,
    ) -> dict[str, Any]:
        """The document `acuity.compare/1`."""
        found = self.analysis
        return {
            "schema": SCHEMA,
            "version": __version__,
            **({"command": command} if command is not None else {}),
            "model": self.model,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "pairs": [row.to_document(per_frame=per_frame, pools=pools, spell=spell) for row in self.rows],
            "ranking": [row.name for row in self.ranking],
            "ranked_on": [
                {"reference": entry.reference, "frames": len(entry.frames), "most_frames": entry.most}
                for entry in found.rankings
            ],
            "places": {standing.row.name: standing.place for standing in found.standings},
            "differences": plain([entry.to_document() for entry in found.differences]),
            "bd_rates": plain([entry.to_document() for entry in found.rates]),
            "notes": self.all_notes,
        }


class Extras(NamedTuple):
    """What files of a comparison have besides it."""

    pools: Sequence[str] = ()
    command: str | None = None
    spell: Callable[[Remedy], str] = Remedy.plain
    pictures: Sequence[PagePicture] = ()
    no_pictures: str | None = None

"""CompareReport: the scores of many encodes side by side, as a document for programs and as files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from acuity import __version__
from acuity.comparison.analysis import Analysis, analyse
from acuity.comparison.row import FAILED, NOT_FINISHED, PARTIAL, CompareRow
from acuity.comparison.tables import csv_text
from acuity.errors import OutputError, Remedy, to_give
from acuity.report.document import plain
from acuity.report.page.page_document import PagePicture
from acuity.report.write import write_document
from acuity.video.notes import Level

SCHEMA: Final = "acuity.compare/1"


@dataclass(frozen=True, eq=False)
class CompareReport:
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

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the comparison as .html, .json or .csv; raises OutputError."""
        write_comparison(self, path, format)

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
    pools: Sequence[str] = ()
    command: str | None = None
    spell: Callable[[Remedy], str] = Remedy.plain
    pictures: Sequence[PagePicture] = ()
    no_pictures: str | None = None


def write_comparison(
    report: CompareReport,
    path: str | os.PathLike[str],
    format: str | None = None,
    extras: Extras | None = None,
) -> None:
    """Write a file in the format that is named, or that its name says; raises OutputError."""
    write_document(path, _WRITERS[format or comparison_format(path)](report, extras or Extras()))


def comparison_format(path: str | os.PathLike[str]) -> str:
    """The format that a file's name says; raises OutputError."""
    suffix = os.path.splitext(os.fspath(path))[1].lower().removeprefix(".")
    if suffix not in _WRITERS:
        raise OutputError(
            f"'{os.fspath(path)}' doesn't say its format: end it with .html, .json or .csv, or ",
            to_give("format"),
        )
    return suffix


def as_html(report: CompareReport, extras: Extras) -> str:
    from acuity.comparison.page import compare_page
    from acuity.report.page.html_page import html_page

    return "".join(html_page(compare_page(report, extras)))


def as_json(report: CompareReport, extras: Extras) -> str:
    document = report.to_document(per_frame=True, pools=extras.pools, command=extras.command)
    return json.dumps(plain(document), indent=1, allow_nan=False) + "\n"


def as_csv(report: CompareReport, extras: Extras) -> str:
    return csv_text(report, extras.pools)


_WRITERS: Final[Mapping[str, Callable[[CompareReport, Extras], str]]] = {
    "html": as_html,
    "json": as_json,
    "csv": as_csv,
}
FORMATS: Final = tuple(_WRITERS)

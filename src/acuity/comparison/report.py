"""CompareReport: the scores of many encodes side by side, as a document for programs and as files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity import __version__
from acuity.comparison.analysis import ComparedRows
from acuity.comparison.row import FAILED
from acuity.comparison.tables import csv_text
from acuity.errors import OutputError, Remedy, to_give
from acuity.report.document import plain
from acuity.report.write import write_document

if TYPE_CHECKING:
    from acuity.report.page.page_document import Picture

SCHEMA: Final = "acuity.compare/1"


@dataclass(frozen=True, eq=False)
class CompareReport(ComparedRows):
    """All encodes, in the order given: as text, as a document and as files."""

    def __str__(self) -> str:
        failed = self.count(FAILED)
        scores = [f"{row.name} {row.score:.2f}" for row in self.ranking if row.ranked]
        return ", ".join([*scores, *([f"{failed} failed"] if failed else [])])

    def __repr__(self) -> str:
        return f"<CompareReport: {self}>"

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
    """What a file has besides the comparison itself."""

    pools: Sequence[str] = ()
    command: str | None = None
    spell: Callable[[Remedy], str] = Remedy.plain
    pictures: Sequence[Picture] = ()
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

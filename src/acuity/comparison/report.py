"""CompareReport: the comparison that users get, which writes itself as a page, JSON or CSV."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Final

from acuity.comparison.comparison import Comparison, Extras
from acuity.comparison.tables import csv_text
from acuity.errors import OutputError, to_give
from acuity.report.document import plain
from acuity.report.write import write_document


class CompareReport(Comparison):
    """All encodes in the order given, with the analysis of their scores."""

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the comparison as .html, .json or .csv; raises OutputError."""
        write_comparison(self, path, format)


def write_comparison(
    report: Comparison,
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


def as_html(report: Comparison, extras: Extras) -> str:
    from acuity.comparison.page import compare_page
    from acuity.report.page.html_page import html_page

    return "".join(html_page(compare_page(report, extras)))


def as_json(report: Comparison, extras: Extras) -> str:
    document = report.to_document(per_frame=True, pools=extras.pools, command=extras.command)
    return json.dumps(plain(document), indent=1, allow_nan=False) + "\n"


def as_csv(report: Comparison, extras: Extras) -> str:
    return csv_text(report, extras.pools)


_WRITERS: Final[Mapping[str, Callable[[Comparison, Extras], str]]] = {
    "html": as_html,
    "json": as_json,
    "csv": as_csv,
}
FORMATS: Final = tuple(_WRITERS)

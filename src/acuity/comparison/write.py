"""Writes a comparison as a page, JSON or CSV, completely or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from acuity.errors import OutputError, Remedy, to_give
from acuity.report.plain import plain
from acuity.report.write import write_document

if TYPE_CHECKING:
    from acuity.comparison.report import CompareReport
    from acuity.report.page.page_document import Picture


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

    page = compare_page(
        report,
        pools=extras.pools,
        command=extras.command,
        spell=extras.spell,
        pictures=extras.pictures,
        no_pictures=extras.no_pictures,
    )
    return "".join(html_page(page))


def as_json(report: CompareReport, extras: Extras) -> str:
    document = report.to_document(per_frame=True, pools=extras.pools, command=extras.command)
    return json.dumps(plain(document), indent=1, allow_nan=False) + "\n"


def as_csv(report: CompareReport, extras: Extras) -> str:
    from acuity.comparison.tables import csv_text

    return csv_text(report, extras.pools)


_WRITERS: Final[Mapping[str, Callable[[CompareReport, Extras], str]]] = {
    "html": as_html,
    "json": as_json,
    "csv": as_csv,
}
FORMATS: Final = tuple(_WRITERS)

"""The page of a tuning command: curves of quality over bitrate, tables and notes, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from acuity import __version__
from acuity.report.page.html_page import html_page
from acuity.report.page.page_document import Card, Page, PageNote, Rates
from acuity.report.tables import Table

if TYPE_CHECKING:
    import argparse

NO_CURVE: Final = "no encode was measured, so there is no curve"


def tune_page(
    title: str,
    subtitle: str,
    rates: Sequence[Rates],
    tables: Sequence[tuple[str, Table]],
    *,
    cards: Sequence[Card] = (),
    score_name: str = "VMAF",
    targets: Sequence[float] = (),
    notes: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
    arguments: argparse.Namespace | None = None,
) -> str:
    """The page as text; `arguments` are those of the command that it names."""
    drawn = [curve for curve in rates if curve.points]
    command = getattr(arguments, "command_line", None)
    page = Page(
        "tune",
        title,
        subtitle,
        cards=cards,
        rates=drawn,
        rate_score=score_name,
        targets=targets,
        tables=tables,
        notes=[
            *([] if drawn else [PageNote("warning", NO_CURVE)]),
            *(PageNote("info", text) for text in notes),
        ],
        facts=[
            *facts,
            *([] if command is None else [("command", str(command))]),
            ("version", f"acuity {__version__}"),
        ],
    )
    return "".join(html_page(page))

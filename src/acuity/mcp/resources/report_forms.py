"""How stored reports are written when they are read: JSON, a table or a page, by how the URI ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from acuity.jobs.tasks.compare import PAGE as PAGE_TEXT
from acuity.jobs.tasks.compare import TABLE as TABLE_TEXT
from acuity.mcp.compare_answers import is_comparison, stored_comparison
from acuity.mcp.resources.content import CSV, HTML, JSON
from acuity.mcp.resources.report_csv import report_csv
from acuity.mcp.resources.report_page import kept_entries, report_page
from acuity.mcp.results import finite, to_ordered_text
from acuity.mcp.score_answers import in_order

TABLE: Final = ".csv"
PAGE: Final = "/report.html"
ENDINGS: Final = (TABLE, PAGE)

Document = dict[str, Any]


class Form(NamedTuple):
    """One form of a report."""

    mime_type: str
    write: Callable[[Document], str]
    by_frames: bool = True  # whether a part of the frames can be asked for


def form_of(document: Mapping[str, Any], ending: str) -> Form:
    return (_OF_COMPARISONS if is_comparison(document) else _OF_SCORES)[ending]


def readable(document: Document, ending: str) -> Document:
    """The document in the order in which it is read; for a page, with where its pictures are."""
    if is_comparison(document):
        return document
    return in_order(document) | (kept_entries(document) if ending == PAGE else {})


def with_frames(document: Document, wanted: range) -> Document:
    """The report with the figures of these frames alone."""
    if not is_comparison(document):
        kept = [row for row in document.get("frames", ()) if row["frameNum"] in wanted]
        return {**document, "frames": kept}
    return {**document, "pairs": [_cut(pair, wanted) for pair in document["pairs"]]}


def frame_numbers(document: Mapping[str, Any]) -> list[int]:
    """The numbers of the frames whose figures a report has; of a comparison those of its longest encode."""
    if not is_comparison(document):
        return [row["frameNum"] for row in document.get("frames", ())]
    lists = [pair["per_frame"]["frame"] for pair in document["pairs"] if "per_frame" in pair]
    return max(lists, key=len, default=[])


def _cut(pair: Document, wanted: range) -> Document:
    columns = pair.get("per_frame")
    if columns is None:
        return pair
    rows = [row for row, frame in enumerate(columns["frame"]) if frame in wanted]
    return {**pair, "per_frame": {name: [values[row] for row in rows] for name, values in columns.items()}}


def _score_json(document: Document) -> str:
    return to_ordered_text(finite(document))


def _comparison_json(document: Document) -> str:
    return to_ordered_text(finite(stored_comparison(document)))


_OF_SCORES: Final[Mapping[str, Form]] = {
    "": Form(JSON, _score_json),
    TABLE: Form(CSV, report_csv),
    PAGE: Form(HTML, report_page),
}
_OF_COMPARISONS: Final[Mapping[str, Form]] = {
    "": Form(JSON, _comparison_json),
    TABLE: Form(CSV, lambda document: str(document[TABLE_TEXT]), by_frames=False),
    PAGE: Form(HTML, lambda document: str(document[PAGE_TEXT]), by_frames=False),
}

"""How stored reports are written when they are read: JSON, a table or a page, by how the URI ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pydantic_core

from acuity.agents.compare_answers import is_comparison, stored_comparison
from acuity.agents.resources.content import CSV, HTML, JSON, MOST
from acuity.agents.score_answers import in_order
from acuity.errors import InputError
from acuity.jobs.tasks.compare import PAGE as PAGE_TEXT
from acuity.jobs.tasks.compare import TABLE as TABLE_TEXT
from acuity.jobs.tasks.worst import NO_PREVIEWS, PREVIEWS
from acuity.report.stored_report import StoredReport
from acuity.report.writers import write_csv
from longwire.product.results import finite, to_ordered_text

if TYPE_CHECKING:
    from acuity.report.page.page_document import Picture

_LEAST: Final = 30_000  # bytes that a picture's page should have room for
_SPARE: Final = 12_000  # bytes of what stands around pictures
_NOT_ASKED: Final = 'the score was made without pictures: pass images: ["worst"] to have some'
_GONE: Final = "the pictures are no longer kept: score again to have new ones"
_OTHERS: Final = "none of the worst frames is among these"
_NO_ROOM: Final = "there is no room for pictures in the message: acuity://worst has them as files"


def kept_entries(document: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a stored score that say where its pictures are; no client sees them."""
    return {name: document[name] for name in (PREVIEWS, NO_PREVIEWS) if name in document}


def report_page(document: dict[str, Any]) -> str:
    """The page of a stored score."""
    from acuity.report.read_report import read_document  # few clients ask for it
    from acuity.report.write import render_report

    found = read_document({name: document[name] for name in document if name not in kept_entries(document)})
    assert found.source is not None  # a score is no comparison

    def page(**shown: Any) -> str:
        assert found.source is not None
        return "".join(render_report(found.source, "html", extra={**found.extra, **shown}))

    if not document.get(PREVIEWS):
        return page(no_pictures=document.get(NO_PREVIEWS, _NOT_ASKED))
    plain = page(no_pictures=_NO_ROOM)
    room = (MOST - _SPARE - len(pydantic_core.to_json(plain))) * 3 // 4  # base64 takes a third more
    if room < _LEAST:
        return plain
    try:
        pictures = _pictures(document, room)
    except (InputError, OSError):
        return page(no_pictures=_GONE)
    return page(pictures=pictures, no_pictures=None if pictures else _OTHERS)


def _pictures(document: Mapping[str, Any], room: int) -> list[Picture]:
    """The pictures of the frames whose figures the document has; raises InputError if they aren't kept."""
    from acuity.frames.page_pictures import folder_pictures

    folder = Path(document[PREVIEWS][0]["file"]).parent.parent
    frames = {row["frameNum"] for row in document["frames"]}
    return [picture for picture in folder_pictures(folder, budget=room) if picture.frame in frames]


def report_csv(document: Mapping[str, Any]) -> str:
    """One line a frame; a missing figure, or one that JSON couldn't hold, is an empty field."""
    report = StoredReport.from_document(document)
    return "".join(write_csv(report, report.precision(), version="", extra={}))


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

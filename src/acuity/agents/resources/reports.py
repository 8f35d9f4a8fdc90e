"""The resources acuity://reports, acuity://reports/{id}, {id}.csv and {id}/report.html: finished results.

Reports of scores and of comparisons are read here. All but the first take ?frames=FIRST-LAST or
?frames=NUMBER, because long reports are larger than a message may be; table and page of a comparison don't.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import mcp_types as types
import pydantic_core

from acuity.agents.compare_answers import is_comparison, stored_comparison
from acuity.agents.job_documents import REPORTS, has_report, report_uri, stored_report, timestamp
from acuity.agents.resources import content
from acuity.agents.score_answers import in_order
from acuity.errors import InputError, NoReport
from acuity.jobs.tasks.compare import PAGE as PAGE_TEXT
from acuity.jobs.tasks.compare import TABLE as TABLE_TEXT
from acuity.jobs.tasks.worst import NO_PREVIEWS, PREVIEWS
from acuity.report.stored_report import StoredReport
from acuity.report.writers import write_csv
from longwire.product.results import finite, to_ordered_text

if TYPE_CHECKING:
    from acuity.jobs.service import Job, Jobs
    from acuity.report.page.page_document import PagePicture


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
    room = (content.MOST - _SPARE - len(pydantic_core.to_json(plain))) * 3 // 4  # base64 takes a third more
    if room < _LEAST:
        return plain
    try:
        pictures = _pictures(document, room)
    except (InputError, OSError):
        return page(no_pictures=_GONE)
    return page(pictures=pictures, no_pictures=None if pictures else _OTHERS)


def _pictures(document: Mapping[str, Any], room: int) -> list[PagePicture]:
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
_TYPES: Final[Mapping[str, str]] = {TABLE: content.CSV, PAGE: content.HTML, "": content.JSON}
# Name, title and description of each form.
_DESCRIBED: Final[Mapping[str, tuple[str, str, str]]] = {
    "": (
        "report",
        "Report of a score",
        "The whole result of a finished score: pooled figures, every frame, what was compared and how. {id} "
        "is the job_id that the score's result names; frames=0-499 brings only those frames of a long one.",
    ),
    TABLE: (
        "report-csv",
        "Figures of every frame as CSV",
        "The same report as a table: one line a frame, one column a figure; of a comparison one line an "
        "encode.",
    ),
    PAGE: (
        "report-page",
        "Page of a score, for people",
        "The same report as one HTML file with its curve, notes and facts: save it, and open it in a "
        "browser.",
    ),
}

Document = dict[str, Any]


def report_text(document: Document, ending: str) -> str:
    """A stored report in the form of this ending; clients read its JSON in the order of an answer."""
    if is_comparison(document):
        if ending:
            return str(document[TABLE_TEXT if ending == TABLE else PAGE_TEXT])
        return to_ordered_text(finite(stored_comparison(document)))
    ordered = in_order(document)
    if ending == PAGE:
        return report_page(ordered | kept_entries(document))
    return report_csv(ordered) if ending == TABLE else to_ordered_text(finite(ordered))


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


_SHOWN: Final = 50  # reports in a list of resources, which clients show whole to a person or a model


class ReportResources:
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def list(self) -> Sequence[types.Resource]:
        index = content.resource(
            REPORTS,
            "reports",
            "Reports of finished scores",
            "An index, newest first: what was compared, when, and where the figures are.",
        )
        found, _ = await self.newest(_SHOWN)
        return [index, *(_resource(job) for job in found)]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [
            content.template(f"{REPORTS}/{{id}}{ending}{{?frames}}", *described, _TYPES[ending])
            for ending, described in _DESCRIBED.items()
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if content.is_family(REPORTS, uri):
            return content.document_content(uri, await self._index())
        path, _, query = uri.partition("?")
        name = content.name_in(REPORTS, path)
        if name is None:
            return None
        ending = next(ending for ending in _TYPES if name.endswith(ending))
        wanted = _range(uri, query)
        document = await self._document(uri, name.removesuffix(ending))
        by_frames = not (ending and is_comparison(document))
        if wanted is not None:
            if not by_frames:
                raise content.missing(uri, f"'?{query}' chooses frames, and {path} has none: leave it out")
            document = with_frames(document, wanted)

        def written() -> tuple[str, str | None]:
            """The text, and what is wrong with it if it is too long."""
            text = report_text(document, ending)
            return text, content.beyond(text, frame_numbers(document)) if by_frames else None

        # Writing a hundred thousand frames would block the event loop.
        text, problem = await anyio.to_thread.run_sync(written)
        if problem is not None:
            raise content.missing(uri, problem)
        return content.text_content(uri, text, _TYPES[ending])

    async def newest(self, limit: int) -> tuple[Sequence[Job], bool]:
        """Jobs with a report, newest first, and whether there are more."""
        jobs, more = await content.finished(self._jobs)
        found = [job for job in jobs if has_report(job)]
        return found[:limit], more or len(found) > limit

    async def _index(self) -> dict[str, Any]:
        found, more = await self.newest(content.SEARCHED)
        return {"reports": [_entry(job) for job in found], "count": len(found), "truncated": more}

    async def _document(self, uri: str, job_id: str) -> Document:
        with content.in_words():
            try:
                return await stored_report(self._jobs, job_id)
            except NoReport as error:
                raise content.missing(uri, str(error)) from error


def _range(uri: str, query: str) -> range | None:
    if not query:
        return None
    key, _, value = query.partition("=")
    try:
        return content.frame_range(value if key == "frames" else f"?{query}")
    except ValueError as error:
        raise content.missing(uri, str(error)) from None


def _resource(job: Job) -> types.Resource:
    finished = timestamp(job.finished)
    return content.resource(
        report_uri(job.id),
        job.id,
        job.title,
        f"{job.tool}, finished {finished}; add {TABLE} for a table of the frames.",
        annotations=types.Annotations(last_modified=finished),
    )


def _entry(job: Job) -> dict[str, Any]:
    uri = report_uri(job.id)
    return {
        "id": job.id,
        "title": job.title,
        "tool": job.tool,
        "created": timestamp(job.created),
        "finished": timestamp(job.finished),
        "uri": uri,
        "csv_uri": f"{uri}{TABLE}",
        "page_uri": f"{uri}{PAGE}",
    }

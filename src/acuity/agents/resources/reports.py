"""The resources acuity://reports, acuity://reports/{id}, {id}.csv and {id}/report.html: finished results.

Reports of scores and of comparisons are read here. All but the first take ?frames=FIRST-LAST or
?frames=NUMBER, because long reports are larger than a message may be; table and page of a comparison don't.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import mcp_types as types

from acuity.agents.resources.content import (
    CSV,
    HTML,
    JSON,
    beyond,
    document_content,
    in_words,
    is_family,
    missing,
    name_in,
    text_content,
)
from acuity.agents.resources.report_forms import (
    ENDINGS,
    PAGE,
    TABLE,
    Form,
    form_of,
    frame_numbers,
    readable,
    with_frames,
)
from acuity.agents.tasks.documents import REPORTS, has_report, report_uri, stored_report, timestamp
from acuity.errors import NoReport
from acuity.jobs.job import Status
from longwire.principals.limits import owner

if TYPE_CHECKING:
    from acuity.jobs.service import Job, Jobs

_SHOWN: Final = 50  # reports in a list of resources, which clients show whole to a person or a model
_SEARCHED: Final = 500  # finished jobs searched for reports; other tools leave jobs too
_FRAMES: Final = re.compile(r"frames=(\d{1,400})(?:-(\d{1,400}))?", re.ASCII)
_BEYOND: Final = 2**53  # no frame has a greater number
_NO_TABLE: Final = "/report.csv"  # what the page's address suggests
_DONE: Final[tuple[Status, ...]] = ("completed",)


class ReportResources:
    """The reports of finished scores and comparisons as resources."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def list(self) -> Sequence[types.Resource]:
        index = types.Resource(
            uri=REPORTS,
            name="reports",
            title="Reports of finished scores",
            description="An index, newest first: what was compared, when, and where the figures are.",
            mime_type=JSON,
        )
        found, _ = await self.newest(_SHOWN)
        return [index, *(_resource(job) for job in found)]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [
            types.ResourceTemplate(
                uri_template=f"{REPORTS}/{{id}}{{?frames}}",
                name="report",
                title="Report of a score",
                description="The whole result of a finished score: pooled figures, every frame, what was "
                "compared and how. {id} is the job_id that the score's result names; frames=0-499 brings "
                "only those frames of a long one.",
                mime_type=JSON,
            ),
            types.ResourceTemplate(
                uri_template=f"{REPORTS}/{{id}}{TABLE}{{?frames}}",
                name="report-csv",
                title="Figures of every frame as CSV",
                description="The same report as a table: one line a frame, one column a figure; of a "
                "comparison one line an encode.",
                mime_type=CSV,
            ),
            types.ResourceTemplate(
                uri_template=f"{REPORTS}/{{id}}{PAGE}{{?frames}}",
                name="report-page",
                title="Page of a score, for people",
                description="The same report as one HTML file with its curve, notes and facts: save it, and "
                "open it in a browser.",
                mime_type=HTML,
            ),
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if is_family(REPORTS, uri):
            return document_content(uri, await self._index())
        path, _, query = uri.partition("?")
        name = name_in(REPORTS, path)
        if name is None:
            return None
        if name.endswith(_NO_TABLE):
            raise missing(uri, f"a table is at {REPORTS}/{name.removesuffix(_NO_TABLE)}{TABLE}: read that")
        ending = next((ending for ending in ENDINGS if name.endswith(ending)), "")
        wanted = _range(uri, query)
        document = await self._document(uri, name.removesuffix(ending), ending)
        form = form_of(document, ending)
        if wanted is not None:
            if not form.by_frames:
                raise missing(uri, f"'?{query}' chooses frames, and {path} has none: leave it out")
            document = with_frames(document, wanted)
        # Writing a hundred thousand frames would block the event loop.
        text, problem = await anyio.to_thread.run_sync(_written, form, document)
        if problem is not None:
            raise missing(uri, problem)
        return text_content(uri, text, form.mime_type)

    async def newest(self, limit: int) -> tuple[Sequence[Job], bool]:
        """Jobs with a report, newest first, and whether there are more."""
        with in_words():
            jobs, more = await self._jobs.list(_DONE, _SEARCHED, owner())
        found = [job for job in jobs if has_report(job)]
        return found[:limit], more or len(found) > limit

    async def _index(self) -> dict[str, Any]:
        found, more = await self.newest(_SEARCHED)
        return {"reports": [_entry(job) for job in found], "count": len(found), "truncated": more}

    async def _document(self, uri: str, job_id: str, ending: str) -> dict[str, Any]:
        with in_words():
            try:
                return readable(await stored_report(self._jobs, job_id), ending)
            except NoReport as error:
                raise missing(uri, str(error)) from error


def _range(uri: str, query: str) -> range | None:
    """The requested range of frame numbers; None for all."""
    if not query:
        return None
    asked = _FRAMES.fullmatch(query)
    if asked is None:
        raise missing(uri, f"'?{query}' is not understood: write ?frames=0-499 for the first 500 frames")
    first = int(asked[1])
    last = int(asked[2] or first)
    if last < first:
        raise missing(uri, f"'?{query}' has no frames: write the lower number first, ?frames={last}-{first}")
    return range(min(first, _BEYOND), min(last, _BEYOND) + 1)


def _written(form: Form, document: dict[str, Any]) -> tuple[str, str | None]:
    """The text of a report, and what is wrong with it if it is too long."""
    text = form.write(document)
    return text, beyond(text, frame_numbers(document)) if form.by_frames else None


def _resource(job: Job) -> types.Resource:
    finished = timestamp(job.finished)
    return types.Resource(
        uri=report_uri(job.id),
        name=job.id,
        title=job.title,
        description=f"{job.tool}, finished {finished}; add {TABLE} for a table of the frames.",
        mime_type=JSON,
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

"""Resources of a measurement: acuity://measurement/status, …/scores, …/report, …/report.csv and …/watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.errors import AcuityError, EmbeddedError
from acuity.mcp.embedded.live.report import MOST_FRAMES, excerpt, report_document, report_text, slices
from acuity.mcp.embedded.uris import REPORT, SCORES, STATUS, TABLE, WATCH, ResourceUri, parse
from acuity.mcp.resources.content import CSV, JSON, beyond, document_content, text_content
from acuity.report import render_report
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.mcp.embedded.live.scores import Scores
    from acuity.mcp.embedded.live.state import LiveState

_TOLD: Final = "Subscribe to follow it; ?rate=10 chooses how many times a second you are told at most."

_LISTED: Final[Mapping[str, tuple[str, str, str]]] = {
    STATUS: ("Status", f"Where the measurement stands, as vmaf.status says it. {_TOLD}", JSON),
    SCORES: (
        "Scores so far",
        f"The newest scores and what all of them pool to; ?frames=0-499 shows others. {_TOLD}",
        JSON,
    ),
    REPORT: (
        "Report so far",
        f"The report in the command's shape, also after the last frame; ?frames=0-499 for a part. {_TOLD}",
        JSON,
    ),
    TABLE: (
        "Table of the frames so far",
        "One line a frame, one column a figure. ?frames=0-499 for a part.",
        CSV,
    ),
}
# Can't be read without saying what is watched for, so it is no resource of its own.
_WATCHED: Final = (
    "Frames below a score",
    "The frames below a score so far, ?below=70; &name= watches a feature or another model. Subscribe to be "
    "told of each as it comes.",
    JSON,
)
_QUERIES: Final = {STATUS: "rate", WATCH: "below,name,rate"}


class MeasurementResources:
    """Lists and reads the resources of the one measurement of this process."""

    def __init__(self, live: LiveState, scores: Scores) -> None:
        self._live = live
        self._scores = scores

    async def list(self) -> Sequence[types.Resource]:
        return [
            types.Resource(
                uri=uri,
                name=uri.rpartition("/")[2],
                title=title,
                description=description,
                mime_type=mime_type,
            )
            for uri, (title, description, mime_type) in _LISTED.items()
        ]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [
            types.ResourceTemplate(
                uri_template=f"{uri}{{?{_QUERIES.get(uri, 'frames,rate')}}}",
                name=uri.rpartition("/")[2],
                title=title,
                description=description,
                mime_type=mime_type,
            )
            for uri, (title, description, mime_type) in {**_LISTED, WATCH: _WATCHED}.items()
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        asked = parse(uri)
        if asked is None:
            return None
        try:
            if asked.resource == STATUS:
                return document_content(uri, self._live.status())
            if asked.resource == SCORES:
                return document_content(uri, self._scores.recent(asked.frames))
            if asked.resource == WATCH:
                name = self._scores.check(asked.name)
                return document_content(uri, self._scores.newest_rows(name, 0, asked.below)[0])
            make = self._report if asked.resource == REPORT else self._table
            return await make(uri, asked)
        except AcuityError as error:
            raise MCPError(types.INVALID_PARAMS, one_line(str(error)), {"uri": uri}) from error

    async def _report(self, uri: str, asked: ResourceUri) -> types.ReadResourceResult:
        include = None if asked.frames is None else True
        document = await report_document(self._live, wanted=asked.frames, include=include)
        text = await report_text(document, self._live.budget.turn)
        return _fitting(uri, text, [row["frameNum"] for row in document["frames"]], JSON)

    async def _table(self, uri: str, asked: ResourceUri) -> types.ReadResourceResult:
        part = excerpt(self._live.results(), asked.frames)
        if (count := len(part.frames)) > MOST_FRAMES:
            raise EmbeddedError(
                f"{count} frames are too many for one answer, {MOST_FRAMES} are the most: add ?frames=0-4999"
            )
        header = next(iter(render_report(part, "csv")))
        lines = [header]
        for rows in slices(part):
            await self._live.budget.turn()
            lines += list(render_report(rows, "csv"))[1:]
        return _fitting(uri, "".join(lines), part.frames, CSV)


def _fitting(uri: str, text: str, frames: Sequence[int], mime_type: str) -> types.ReadResourceResult:
    if (problem := beyond(text, frames)) is not None:
        raise EmbeddedError(problem)
    return text_content(uri, text, mime_type)

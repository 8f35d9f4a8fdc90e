"""Resources of a running measurement: acuity://measurement/status, …/scores, …/report and …/report.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.errors import AcuityError, EmbeddedError
from acuity.mcp.embedded.addresses import REPORT, SCORES, STATUS, TABLE, Address, parse
from acuity.mcp.embedded.reporting import MOST_FRAMES, excerpt, report_document
from acuity.mcp.resources.content import CSV, JSON, document_content, text_content
from acuity.report import render_report
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.mcp.embedded.scores import Scores
    from acuity.mcp.embedded.state import Live

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


class MeasurementResources:
    """The one measurement of this process."""

    def __init__(self, live: Live, scores: Scores) -> None:
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
                uri_template=f"{uri}{{?frames,rate}}" if uri != STATUS else f"{uri}{{?rate}}",
                name=uri.rpartition("/")[2],
                title=title,
                description=description,
                mime_type=mime_type,
            )
            for uri, (title, description, mime_type) in _LISTED.items()
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        address = parse(uri)
        if address is None:
            return None
        try:
            if address.resource == STATUS:
                return document_content(uri, self._live.status())
            if address.resource == SCORES:
                return document_content(uri, self._scores.recent(address.frames))
            make = self._report if address.resource == REPORT else self._table
            # Thousands of frames take a while to write out, in which others want answers.
            return await anyio.to_thread.run_sync(make, uri, address)
        except AcuityError as error:
            raise MCPError(types.INVALID_PARAMS, one_line(str(error)), {"uri": uri}) from error

    def _report(self, uri: str, address: Address) -> types.ReadResourceResult:
        include = None if address.frames is None else True
        return document_content(uri, report_document(self._live, wanted=address.frames, include=include))

    def _table(self, uri: str, address: Address) -> types.ReadResourceResult:
        part = excerpt(self._live.results(), address.frames)
        if (count := len(part.frames)) > MOST_FRAMES:
            raise EmbeddedError(
                f"{count} frames are too many for one answer, {MOST_FRAMES} are the most: add ?frames=0-4999"
            )
        return text_content(uri, "".join(render_report(part, "csv")), CSV)

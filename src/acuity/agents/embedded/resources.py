"""The resources of a measurement, by URIs with queries.

With ?rate=N a subscriber is notified at most N times a second; reading ignores it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import parse_qsl

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.agents.embedded.live.pictures import Kind, LivePictures
from acuity.agents.embedded.live.report import (
    MEASUREMENT,
    MOST_FRAMES,
    REPORT,
    excerpt,
    report_document,
    report_text,
    slices,
)
from acuity.agents.embedded.live.scores import Scores
from acuity.agents.embedded.live.state import LiveState
from acuity.agents.resources import content
from acuity.errors import AcuityError, EmbeddedError
from acuity.report import render_report
from acuity.text import one_line

STATUS: Final = f"{MEASUREMENT}/status"
SCORES: Final = f"{MEASUREMENT}/scores"
TABLE: Final = f"{REPORT}.csv"
WATCH: Final = f"{MEASUREMENT}/watch"
_PICTURES: Final = f"{MEASUREMENT}/pictures"
_PICTURE: Final = re.compile(r"(\d{1,12})/(reference|distorted)\.png")

SLOWEST: Final = 0.1
FASTEST: Final = 100.0
# Times a second, unless the client says otherwise. A report is long, and nobody reads it as it changes.
RATES: Final[Mapping[str, float]] = {STATUS: 5.0, SCORES: 5.0, WATCH: 5.0, REPORT: 1.0, TABLE: 1.0}
_QUERIES: Final = {STATUS: ("rate",), WATCH: ("below", "name", "rate")}
_FRAMED: Final = ("frames", "rate")  # the query of the others

_LONGEST: Final = 256  # characters

_TOLD: Final = "Subscribe to follow it; ?rate=10 chooses how many times a second you are told at most."
# Title, description and type. WATCH can't be read without saying what is watched for, so it isn't listed.
_DESCRIBED: Final[Mapping[str, tuple[str, str, str]]] = {
    STATUS: ("Status", f"Where the measurement stands, as vmaf.status says it. {_TOLD}", content.JSON),
    SCORES: (
        "Scores so far",
        f"The newest scores and what all of them pool to; ?frames=0-499 shows others. {_TOLD}",
        content.JSON,
    ),
    REPORT: (
        "Report so far",
        f"The report in the command's shape, also after the last frame; ?frames=0-499 for a part. {_TOLD}",
        content.JSON,
    ),
    TABLE: (
        "Table of the frames so far",
        "One line a frame, one column a figure. ?frames=0-499 for a part.",
        content.CSV,
    ),
    WATCH: (
        "Frames below a score",
        "The frames below a score so far, ?below=70; &name= watches a feature or another model. Subscribe to "
        "be told of each as it comes.",
        content.JSON,
    ),
}
_PICTURES_TEXT: Final = """\
The reference or the distorted picture of a frame, about 320 pixels wide, as vmaf.worst_frames with pictures \
names it."""


@dataclass(frozen=True, slots=True)
class ResourceUri:
    """A resource, and the query behind its name."""

    resource: str  # one of RATES
    rate: float  # times a second
    frames: range | None = None  # by number; None: the resource's own choice
    below: float | None = None  # what is watched for: frames below this figure
    name: str | None = None  # whose figure; None: the first model's score


def parse(uri: str) -> ResourceUri | None:
    """A URI taken apart; None where it is no resource of a measurement. Raises MCPError for a wrong query."""
    resource, _, query = uri.partition("?")
    if resource not in RATES:
        return None
    if len(uri) > _LONGEST:
        raise content.missing(resource, f"the address has {len(uri)} characters, {_LONGEST} are the most")
    asked: dict[str, Any] = {"rate": RATES[resource]}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in _QUERIES.get(resource, _FRAMED):
            raise content.missing(
                uri, f"'{key}' is not understood in '{uri}': write ?rate=5 or ?frames=0-499"
            )
        try:
            asked[key] = _VALUES[key](value)
        except ValueError as error:
            raise content.missing(uri, str(error)) from None
    if resource == WATCH and "below" not in asked:
        raise content.missing(uri, f"'{uri}' doesn't say what to watch for: write {WATCH}?below=70")
    return ResourceUri(resource, **asked)


def _number(value: str, least: float, most: float, sentence: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not least <= found <= most:
        raise ValueError(sentence)
    return found


def _rate(value: str) -> float:
    sentence = f"rate '{value}' must be a number of times a second, {SLOWEST:g} to {FASTEST:g}"
    return _number(value, SLOWEST, FASTEST, sentence)


def _below(value: str) -> float:
    most = sys.float_info.max
    return _number(value, -most, most, f"below '{value}' must be a number, as in ?below=70")


_VALUES: Final[Mapping[str, Callable[[str], Any]]] = {
    "rate": _rate,
    "below": _below,
    "frames": content.frame_range,
    "name": str,
}


def picture_uri(frame: int | str, kind: str) -> str:
    return f"{_PICTURES}/{frame}/{kind}.png"


class MeasurementResources:
    """Lists and reads the resources of the one measurement of this process.

    Pictures come and go with the scores, so none is listed.
    """

    def __init__(self, live: LiveState, scores: Scores, pictures: LivePictures) -> None:
        self._live, self._scores, self._pictures = live, scores, pictures

    async def list(self) -> Sequence[types.Resource]:
        return [
            content.resource(uri, _name(uri), title, text, mime)
            for uri, (title, text, mime) in _DESCRIBED.items()
            if uri != WATCH
        ]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        rows = [
            (f"{uri}{{?{','.join(_QUERIES.get(uri, _FRAMED))}}}", _name(uri), *described)
            for uri, described in _DESCRIBED.items()
        ]
        title = "Small pictures of the worst frames"
        rows.append((picture_uri("{frame}", "{kind}"), "pictures", title, _PICTURES_TEXT, content.PNG))
        return [content.template(*row) for row in rows]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if uri.startswith(f"{_PICTURES}/"):
            return await self._picture(uri)
        asked = parse(uri)
        if asked is None:
            return None
        try:
            if asked.resource == STATUS:
                return content.document_content(uri, self._live.status())
            if asked.resource == SCORES:
                return content.document_content(uri, self._scores.recent(asked.frames))
            if asked.resource == WATCH:
                name = self._scores.check(asked.name)
                return content.document_content(uri, self._scores.newest_rows(name, 0, asked.below)[0])
            make = self._report if asked.resource == REPORT else self._table
            return await make(uri, asked.frames)
        except AcuityError as error:
            raise MCPError(types.INVALID_PARAMS, one_line(str(error)), {"uri": uri}) from error

    async def _report(self, uri: str, wanted: range | None) -> types.ReadResourceResult:
        include = None if wanted is None else True
        document = await report_document(self._live, wanted=wanted, include=include)
        text = await report_text(document, self._live.budget.turn)
        return _fitting(uri, text, [row["frameNum"] for row in document["frames"]], content.JSON)

    async def _table(self, uri: str, wanted: range | None) -> types.ReadResourceResult:
        part = excerpt(self._live.results(), wanted)
        if (count := len(part.frames)) > MOST_FRAMES:
            raise EmbeddedError(
                f"{count} frames are too many for one answer, {MOST_FRAMES} are the most: add ?frames=0-4999"
            )
        header = next(iter(render_report(part, "csv")))
        lines = [header]
        for rows in slices(part):
            await self._live.budget.turn()
            lines += list(render_report(rows, "csv"))[1:]
        return _fitting(uri, "".join(lines), part.frames, content.CSV)

    async def _picture(self, uri: str) -> types.ReadResourceResult:
        found = _PICTURE.fullmatch(uri.removeprefix(f"{_PICTURES}/"))
        await self._live.budget.turn()
        data = None if found is None else self._pictures.png(int(found[1]), cast("Kind", found[2]))
        if data is None:
            raise content.missing(
                uri,
                f"there is no picture '{uri}', or it is no longer kept: "
                "vmaf.worst_frames with pictures names those that are",
            )
        return content.png_content(uri, data)


def _name(uri: str) -> str:
    return uri.rpartition("/")[2]


def _fitting(uri: str, text: str, frames: Sequence[int], mime_type: str) -> types.ReadResourceResult:
    if (problem := content.beyond(text, frames)) is not None:
        raise EmbeddedError(problem)
    return content.text_content(uri, text, mime_type)

"""The tools that read a running measurement; none of them waits for it, or makes it wait."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from acuity.errors import InputError
from acuity.mcp.catalog import Call, Tool
from acuity.mcp.embedded.live.pictures import KINDS
from acuity.mcp.embedded.live.report import report_answer, report_document
from acuity.mcp.embedded.live.scores import MAX_ROWS
from acuity.mcp.embedded.resources.pictures import picture_uri
from acuity.mcp.embedded.tools import watch_schemas as schemas
from acuity.mcp.embedded.tools.figure_schemas import LARGEST
from acuity.mcp.schemas import record

if TYPE_CHECKING:
    from acuity.mcp.embedded.live.pictures import LivePictures
    from acuity.mcp.embedded.live.scores import Scores
    from acuity.mcp.embedded.live.state import LiveState

STATUS: Final = "vmaf.status"
SCORE: Final = "vmaf.score"

_STATUS_TEXT: Final = """\
Where the measurement in this process stands: the model, frames read, scored and pending, speed, the \
newest score, whether it is paused, and how full the queue of commands is. Cheap: ask as often as you \
like, or subscribe to acuity://measurement/status instead."""

_FEATURES_TEXT: Final = """\
The feature extractors that are computed for the next frame, with their options and the figures they give, \
and which of these each model reads. list_features has all extractors there are."""

_SCORE_TEXT: Final = """\
Scores as they come. Without arguments: the newest frame that has a score, and what all scores so far pool \
to. With `index` one frame, with `first` and `last` a range and its own aggregate. `features` adds the \
figures behind the score, `name` asks for another model or a feature instead. 100 looks like the \
reference; about 6 points are a difference that most viewers notice."""

_CURVE_TEXT: Final = """\
All scores so far as two lists, for charts: with `first` only those from that frame on, so that each call \
has what is new since the one before; that may be nothing. `aggregate` is of all frames. With `status` the \
answer has that of vmaf.status too."""

_WORST_TEXT: Final = """\
The frames with the lowest scores so far, the worst first: where to look. vmaf.score with `index` and \
`features` says more about one of them. With `pictures` the answer names small pictures of them, for \
resources/read; the first call has none yet."""

_REPORT_TEXT: Final = """\
The report so far, in the shape of the JSON that the command writes at the end: pooled figures, and those \
of every frame where they fit. acuity.partial says whether more is to come."""


_WATCH_TEXT: Final = """\
Waits until a frame scores below `below`, and answers with all such frames from `first` on; after \
`timeout_seconds`, or at the end of the measurement, with none. Call it again with `next_first` to go on. \
Clients that take notifications subscribe to acuity://measurement/watch?below=70 instead."""

_LOOK: Final = 0.1  # seconds between looks at new scores


def tools(live: LiveState, scores: Scores, pictures: LivePictures) -> list[Tool]:
    """vmaf.status, vmaf.features, vmaf.score, vmaf.curve, vmaf.worst_frames, vmaf.watch and vmaf.report."""
    family = _Watching(live, scores, pictures)
    return [
        Tool(STATUS, "Status", _STATUS_TEXT, record({}), family.status, schemas.STATUS),
        Tool(
            "vmaf.features",
            "Features being measured",
            _FEATURES_TEXT,
            record({}),
            family.features,
            schemas.FEATURES,
        ),
        Tool(SCORE, "Scores", _SCORE_TEXT, schemas.SCORE_INPUT, family.score, schemas.SCORE),
        Tool("vmaf.curve", "Curve", _CURVE_TEXT, schemas.CURVE_INPUT, family.curve, schemas.CURVE),
        Tool(
            "vmaf.worst_frames",
            "Worst frames so far",
            _WORST_TEXT,
            schemas.WORST_INPUT,
            family.worst,
            schemas.WORST,
        ),
        Tool(
            "vmaf.watch",
            "Wait for frames below a score",
            _WATCH_TEXT,
            schemas.WATCH_INPUT,
            family.watch,
            schemas.WATCH,
        ),
        Tool(
            "vmaf.report", "Report so far", _REPORT_TEXT, schemas.REPORT_INPUT, family.report, schemas.REPORT
        ),
    ]


class _Watching:
    def __init__(self, live: LiveState, scores: Scores, pictures: LivePictures) -> None:
        self._live = live
        self._scores = scores
        self._pictures = pictures

    def status(self, _: Call) -> dict[str, Any]:
        return self._live.status()

    def features(self, _: Call) -> dict[str, Any]:
        measurement = self._live.measurement
        return {
            "extractors": self._live.features(),
            "figures": measurement.features,
            "models": [
                {"name": model.name, "label": model.label, "reads": model.feature_keys()}
                for model in measurement.models
            ],
        }

    def score(self, call: Call) -> dict[str, Any]:
        return self._scores.answer(call.arguments) if call.arguments else self._scores.newest()

    def curve(self, call: Call) -> dict[str, Any]:
        asked = call.arguments
        document = self._scores.curve(int(asked["first"]), asked.get("name"), times=asked["times"])
        if not asked["status"]:
            return document
        # Second, so that it never lags behind the curve.
        return {**document, "status": self._live.status(self._scores.newest_read)}

    def worst(self, call: Call) -> dict[str, Any]:
        if call.arguments["pictures"]:
            self._pictures.watch()
        asked = call.arguments
        document = self._scores.worst(int(asked["n"]), asked.get("name"), int(asked["apart"]))
        if not call.arguments["pictures"]:
            return document
        if (newest := self._scores.headline()) is not None:
            self._pictures.settle(newest[0], self._scores.score_of)
        rows = [{**row, "picture": self._picture(row["frame"])} for row in document["frames"]]
        return {**document, "frames": rows}

    def _picture(self, frame: int) -> dict[str, Any] | None:
        shown = self._pictures.nearest(frame)
        return (
            None if shown is None else {"frame": shown} | {kind: picture_uri(shown, kind) for kind in KINDS}
        )

    async def watch(self, call: Call) -> dict[str, Any]:
        asked = call.arguments
        name, below = self._scores.check(asked.get("name")), float(asked["below"])
        first = int(asked["first"])
        end = time.monotonic() + float(asked["timeout_seconds"])
        while True:
            over, late = self._live.over, time.monotonic() >= end  # before looking: nothing is missed
            rows, first = self._scores.since(name, first, below)
            if rows or over or late:
                break
            await asyncio.sleep(min(_LOOK, max(end - time.monotonic(), 0.0)))
            await self._live.budget.turn()
        if len(rows) > MAX_ROWS:
            first = rows[MAX_ROWS]["frame"]
        return {
            "name": name,
            "below": below,
            "frames": rows[:MAX_ROWS],
            "next_first": first,
            "over": over and len(rows) <= MAX_ROWS,
            "state": self._live.state,
            "reason": self._live.reason,
        }

    async def report(self, call: Call) -> types.CallToolResult:
        asked = call.arguments
        wanted = None
        if "first" in asked or "last" in asked:
            first, last = int(asked.get("first", 0)), int(asked.get("last", LARGEST))
            if first > last:
                raise InputError(f"first {first} is behind last {last}: swap them")
            wanted = range(first, last + 1)
        document = await report_document(
            self._live,
            wanted=wanted,
            include=asked.get("include_frames"),
            precision=asked["precision"],
        )
        return await report_answer(document, self._live.budget.turn)

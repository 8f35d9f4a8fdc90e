"""The tools that read a running measurement; none of them waits for it, or makes it wait."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

import mcp_types as types

from acuity.agents.embedded.live.pictures import KINDS, WATCH, LivePictures
from acuity.agents.embedded.live.report import MOST_FRAMES, SHORT, report_answer, report_document
from acuity.agents.embedded.live.scores import ALL, MAX_ROWS, Scores
from acuity.agents.embedded.live.state import LiveState
from acuity.agents.embedded.resources import picture_uri
from acuity.agents.embedded.steering.commands import LARGEST
from acuity.agents.schemas import array, choices, flag, named, number, outline, record, whole
from acuity.agents.tools.scoring_schema import PRECISIONS
from acuity.errors import InputError
from longwire.product.catalog import Call, Tool

STATUS: Final = "vmaf.status"
SCORE: Final = "vmaf.score"

_STATUS_TEXT: Final = """\
Where the measurement in this process stands: the model, frames read, scored and pending, speed, the \
newest score, whether it is paused, and how full the queue of commands is. `state` is waiting (for the first \
frame), measuring, paused, waiting_for_input (the next frame is long in coming), finishing (the last one was \
read), over, or failed or interrupted, for the `reason`. Cheap: ask as often as you like, or subscribe to \
acuity://measurement/status instead."""

_FEATURES_TEXT: Final = """\
The feature extractors that are computed for the next frame, with their options and the figures they give, \
and which of these each model reads. list_features has all extractors there are."""

_SCORE_TEXT: Final = """\
Scores as they come. Without arguments: the newest frame that has a score, and what all scores so far pool \
to. With `index` one frame, with `first` and `last` a range and its own aggregate. `features` adds the \
figures behind the score, `name` asks for another model or a feature instead; `next_first` says where to go \
on if a range has no room. 100 looks like the reference; about 6 points are a difference that most viewers \
notice."""

_CURVE_TEXT: Final = """\
All scores so far as two lists, for charts: with `first` only those from that frame on, so that each call \
has what is new since the one before; that may be nothing. `next_first` is `first` of the next call; with \
`more` call at once; if `repredictions` changes, begin again with first=0. `aggregate` is of all frames. \
With `status` the answer has that of vmaf.status too."""

_WORST_TEXT: Final = """\
The frames with the lowest scores so far, the worst first, of each model where there are several: where to \
look. vmaf.score with `index` and `features` says more about one of them. With `pictures` the answer names \
small pictures of them, for resources/read, some of a frame close by; the first call has none yet."""

_REPORT_TEXT: Final = """\
The report so far, in the shape of the JSON that the command writes at the end: pooled figures, and those \
of every frame where they fit, or frames_omitted. acuity.partial says whether more is to come, \
acuity.steering which model holds from which frame on."""


_WATCH_TEXT: Final = """\
Waits until a frame scores below `below`, and answers with all such frames from `first` on; after \
`timeout_seconds`, or at the end of the measurement, with none. Call it again with `next_first` to go on. \
Clients that take notifications subscribe to acuity://measurement/watch?below=70 instead."""

_NO_PICTURES: Final = (
    f"no picture of these places is kept: frames measured within {WATCH:g} seconds after a call with "
    "pictures are copied"
)
_LONGEST_WATCH: Final = 300.0  # seconds
_LOOK: Final = 0.1  # seconds between looks at new scores


def tools(live: LiveState, scores: Scores, pictures: LivePictures) -> list[Tool]:
    its = _Watching(live, scores, pictures)
    return [
        Tool(STATUS, "Status", _STATUS_TEXT, record(), its.status, _STATUS),
        Tool("vmaf.features", "Features being measured", _FEATURES_TEXT, record(), its.features, _FEATURES),
        Tool(SCORE, "Scores", _SCORE_TEXT, _SCORE_INPUT, its.score, _SCORE),
        Tool("vmaf.curve", "Curve", _CURVE_TEXT, _CURVE_INPUT, its.curve, _CURVE),
        Tool("vmaf.worst_frames", "Worst frames so far", _WORST_TEXT, _WORST_INPUT, its.worst, _WORST),
        Tool("vmaf.watch", "Wait for frames below a score", _WATCH_TEXT, _WATCH_INPUT, its.watch, _WATCH),
        Tool("vmaf.report", "Report so far", _REPORT_TEXT, _REPORT_INPUT, its.report, _REPORT),
    ]


class _Watching:
    def __init__(self, live: LiveState, scores: Scores, pictures: LivePictures) -> None:
        self._live, self._scores, self._pictures = live, scores, pictures

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
        missing = {} if any(row["picture"] for row in rows) else {"pictures_missing": _NO_PICTURES}
        return {**document, "frames": rows, **missing}

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
            self._live, wanted=wanted, include=asked.get("include_frames"), precision=asked["precision"]
        )
        return await report_answer(document, self._live.budget.turn)


def _frame(description: str, **more: Any) -> dict[str, Any]:
    return whole(description, minimum=0, maximum=LARGEST, **more)


_COLUMN: Final = named(
    "A column of the report: a model's name or a feature. Left out: the first model's score."
)
_SCORE_INPUT: Final = record(
    index=_frame("One frame by its number, 0 is the first. Left out: the newest that has a score."),
    first=_frame("A range instead: its first frame. Left out where there is a last: 0."),
    last=_frame("Its last frame. Left out where there is a first: the newest."),
    name=_COLUMN,
    features=array(named(""), 64, f'Figures to add for every frame, by name; ["{ALL}"] stands for all.'),
    percentiles=array(
        number(minimum=0, maximum=100), 32, "Percentiles for the aggregate: [1, 5, 50] adds p1, p5 and p50."
    ),
)
_WORST_INPUT: Final = record(
    n=whole("How many.", minimum=1, maximum=500, default=5),
    name=_COLUMN,
    apart=whole(
        "Of frames that are less than so many apart only the worst: places, not runs.",
        minimum=0,
        maximum=100_000,
        default=0,
    ),
    pictures=flag(
        f"Whether to look at pictures: small copies are made for {WATCH:g} seconds after each such call, "
        "and the answer names those of its frames.",
        default=False,
    ),
)
_CURVE_INPUT: Final = record(
    first=_frame("The first frame wanted: next_first of the answer before.", default=0),
    name=_COLUMN,
    status=flag("Whether the answer is to have the status of the measurement too.", default=False),
    times=flag("Whether the answer is to have the times of the frames.", default=False),
)
_WATCH_INPUT: Final = record(
    "below",
    below=number("Frames whose figure is lower than this are told."),
    name=_COLUMN,
    first=_frame("Look at the frames from this one on: next_first of the answer before.", default=0),
    timeout_seconds=number(
        "How long to wait for the first such frame.", minimum=0, maximum=_LONGEST_WATCH, default=30
    ),
)
_REPORT_INPUT: Final = record(
    include_frames=flag(
        "Whether the answer has the figures of every frame. Left out: if it stays under "
        f"{SHORT:,} characters; otherwise frames_omitted says how to read them. true: of {MOST_FRAMES} "
        "at most."
    ),
    first=_frame("Only the figures of the frames from this one on; the pools are of all frames."),
    last=_frame("Only those up to this one."),
    precision=choices(
        PRECISIONS,
        "Digits: legacy is six decimals as libvmaf prints them, max brings back the exact double.",
        default="legacy",
    ),
)

_STATUS: Final = outline(
    "state:string fps:number paused:boolean queue:object reason,reference,distorted,model,last_model,"
    "paused_until:string? models,features,metrics,paused_by:array frames_read,frames_scored,"
    "frames_pending,subsample:integer frames_total,last_frame,stop_after:integer? last_score,"
    "waiting_seconds,pause_seconds_left:number?"
)
_FEATURES: Final = outline("extractors,figures,models:array")
_SCORE: Final = outline(
    "name:string model:string? frame:integer score:number? aggregate:object?",
    "features:object frames:array next_first:integer?",
)
_WORST: Final = outline(
    "name:string frames:array frames_compared:integer", "models:array pictures_missing:string"
)
_CURVE: Final = outline(
    "name:string aggregate:object? next_first,repredictions:integer frames,scores,models:array more,"
    "over:boolean",
    "status:object times:array",
)
_WATCH: Final = outline(
    "name:string below:number frames:array next_first:integer over:boolean state:string reason:string?"
)
_REPORT: Final = outline(
    "version:string frames:array acuity:object report:string pooled_metrics:object",
    "fps:number? frames_omitted,aggregate_metrics:object",
)

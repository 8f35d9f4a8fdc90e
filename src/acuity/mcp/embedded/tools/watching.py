"""Looking at a measurement while it runs: none of this waits for it, or makes it wait."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import mcp_types as types

from acuity.errors import InputError
from acuity.mcp.catalog import Call, Tool
from acuity.mcp.embedded.reporting import report_document
from acuity.mcp.embedded.tools import watch_schemas as schemas
from acuity.mcp.embedded.tools.figure_schemas import LARGEST
from acuity.mcp.results import answer
from acuity.mcp.schemas import record

if TYPE_CHECKING:
    from acuity.mcp.embedded.scores import Scores
    from acuity.mcp.embedded.state import Live

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

_WORST_TEXT: Final = """\
The frames with the lowest scores so far, the worst first: where to look. vmaf.score with `index` and \
`features` says more about one of them."""

_REPORT_TEXT: Final = """\
The report so far, in the shape of the JSON that the command writes at the end: pooled figures, and those \
of every frame where they fit. acuity.partial says whether more is to come."""


def tools(live: Live, scores: Scores) -> list[Tool]:
    """Those that read."""
    family = _Watching(live, scores)
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
        Tool(
            "vmaf.worst_frames",
            "Worst frames so far",
            _WORST_TEXT,
            schemas.WORST_INPUT,
            family.worst,
            schemas.WORST,
        ),
        Tool(
            "vmaf.report", "Report so far", _REPORT_TEXT, schemas.REPORT_INPUT, family.report, schemas.REPORT
        ),
    ]


class _Watching:
    def __init__(self, live: Live, scores: Scores) -> None:
        self._live = live
        self._scores = scores

    async def status(self, _: Call) -> dict[str, Any]:
        return self._live.status()

    async def features(self, _: Call) -> dict[str, Any]:
        measurement = self._live.measurement
        return {
            "extractors": self._live.features(),
            "figures": measurement.features,
            "models": [
                {"name": model.name, "label": model.label, "reads": model.feature_keys()}
                for model in measurement.models
            ],
        }

    async def score(self, call: Call) -> dict[str, Any]:
        return self._scores.answer(call.arguments) if call.arguments else self._scores.newest()

    async def worst(self, call: Call) -> dict[str, Any]:
        return self._scores.worst(int(call.arguments["n"]), call.arguments.get("name"))

    async def report(self, call: Call) -> types.CallToolResult:
        asked = call.arguments
        wanted = None
        if "first" in asked or "last" in asked:
            first, last = int(asked.get("first", 0)), int(asked.get("last", LARGEST))
            if first > last:
                raise InputError(f"first {first} is behind last {last}: swap them")
            wanted = range(first, last + 1)
        # Thousands of frames take a while to write out, in which others want answers.
        return await anyio.to_thread.run_sync(partial(self._report, wanted, asked))

    def _report(self, wanted: range | None, asked: dict[str, Any]) -> types.CallToolResult:
        return answer(
            report_document(
                self._live,
                wanted=wanted,
                include=asked.get("include_frames"),
                precision=asked["precision"],
            )
        )

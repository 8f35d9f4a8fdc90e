"""The tool get_frames: figures of single frames of a finished score, page by page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import mcp_types as types

from acuity.agents.compare_answers import is_comparison
from acuity.agents.job_documents import stored_report
from acuity.agents.schemas import array, named, outline, record, text, whole
from acuity.agents.score_answers import score_columns
from acuity.agents.tools.services import Services
from acuity.errors import FeatureError, NoReport
from acuity.jobs.service import Jobs
from longwire.product.catalog import Answer, Call, Tool
from longwire.product.results import ordered_answer

_TEXT: Final = """\
Figures of single frames of a finished score, a row a frame; `columns` names its entries. Without \
`features` these are the scores alone, about 700 frames an answer. Call it to find bad stretches, or with \
`features` to see what happened in one; `worst` in the score's answer has the lowest frames. Where a range \
doesn't fit, `next` is the range to ask for next; null: that was all."""

_FEATURES: Final = 'Columns, by their names in pooled_metrics; ["all"] for every one.'
_PAGE: Final = 18_000  # characters of the rows of one answer
_MARGIN: Final = 6  # characters around a row
_ALL: Final = "all"
_MOST_NAMES: Final = 64
_LARGEST: Final = 2**31 - 1


def tools(services: Services) -> list[Tool]:
    async def run(call: Call) -> Answer:
        return await _frames(services.jobs, call.arguments)

    properties = {
        "job_id": named("From a score's answer, submit_job or list_jobs.", 128),
        "first": _frame("Number of the first frame; they count from 0.", default=0),
        "last": _frame("Number of the last one; left out: to the end."),
        "features": array(text(), _MOST_NAMES, _FEATURES, default=[]),
    }
    return [Tool("get_frames", "Read frames of a score", _TEXT, record("job_id", **properties), run, _OUTPUT)]


def _frame(description: str, **more: Any) -> dict[str, Any]:
    return whole(description, minimum=0, maximum=_LARGEST, **more)


_OUTPUT: Final = outline("next:object? columns,rows:array count:integer")


async def _frames(jobs: Jobs, asked: Mapping[str, Any]) -> types.CallToolResult:
    report = await stored_report(jobs, asked["job_id"])
    if is_comparison(report):
        raise NoReport(
            f"job '{report['job_id']}' compared several encodes: read their frames from "
            f"{report['report']}?frames=0-499"
        )
    # In a thread, because a hundred thousand frames would block the event loop.
    return await asyncio.to_thread(lambda: ordered_answer(_page(report, asked)))


def _page(report: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The frames that fit into one answer, and the range of the next page."""
    columns = _columns(report, asked["features"])
    first, last = int(asked["first"]), int(asked.get("last", _LARGEST))
    if last < first:
        raise FeatureError(f"invalid last {last}: should be {first} or more, as first is")
    frames: list[dict[str, Any]] = report["frames"]
    wanted = [frame for frame in frames if first <= frame["frameNum"] <= last]
    rows: list[list[Any]] = []
    room = _PAGE
    for frame in wanted:
        row = [frame["frameNum"], *(frame["metrics"].get(name) for name in columns)]
        room -= len(json.dumps(row)) + _MARGIN
        if room < 0 and rows:
            break
        rows.append(row)
    rest = wanted[len(rows) :]
    return {
        "job_id": report["job_id"],
        "count": len(rows),
        "frames_scored": len(frames),
        "next": {"first": rest[0]["frameNum"], "last": rest[-1]["frameNum"]} if rest else None,
        "columns": ["frame", *columns],
        "rows": rows,
    }


def _columns(report: dict[str, Any], wanted: Sequence[str]) -> list[str]:
    there = dict.fromkeys(name for frame in report["frames"] for name in frame["metrics"])
    if not wanted:
        return score_columns(report)
    if list(wanted) == [_ALL]:
        return list(there)
    for name in wanted:
        if name not in there:
            raise FeatureError(f"no frame has a figure '{name[:80]}': there are {', '.join(there)}")
    return list(dict.fromkeys(wanted))

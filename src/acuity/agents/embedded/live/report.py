"""The report so far, in the command's own shape, as much of it as fits into an answer.

Writing out a film's worth of figures would keep the measuring thread from the interpreter for seconds, so
what is going to be left out is never written, and the rest is written in slices: after each the lock is free,
and the client waits for its turn as with another question.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import mcp_types as types
import numpy as np

from acuity.agents.embedded.live.state import LiveState
from acuity.errors import EmbeddedError
from acuity.measure.results import Results
from acuity.report.precision import parse_precision
from acuity.report.writers import as_document, report_rows
from longwire.product.results import READABLE, answer, to_text, without_frames

MEASUREMENT: Final = "acuity://measurement"
REPORT: Final = f"{MEASUREMENT}/report"  # where this report can be read
MOST_FRAMES: Final = 5000  # in one answer
SHORT: Final = 20_000  # characters of an answer, unless the frames are asked for
_LAYOUT: Final = 6  # characters of margin before each figure of a frame in a report
_SLICE: Final = 50  # frames written at a time, in about a millisecond
_MARK: Final = "\0frames\0"  # stands for the frames in a text; no name or path has such characters

# Waits until the client may go on being answered.
Turn: TypeAlias = Callable[[], Awaitable[None]]


class Excerpt:
    """Some rows of the results, and the pools of all unless it is bare."""

    def __init__(self, whole: Results, rows: slice, *, bare: bool = False) -> None:
        self.whole: Final = whole
        self.rows: Final = rows
        self.frames: Final = whole.frames[rows]
        self.columns: Final = {name: values[rows] for name, values in whole.columns.items()}
        self.undefined: Final = {name: which[rows] for name, which in whole.undefined.items()}
        self.aggregate: Final[Mapping[str, float]] = {} if bare else whole.aggregate
        self.width: Final = whole.width
        self.height: Final = whole.height
        self.fps: Final = whole.fps
        self._bare = bare

    def pooled(self) -> dict[str, dict[str, float]]:
        return {} if self._bare else self.whole.pooled()


def excerpt(results: Results, wanted: range | None) -> Excerpt:
    """The frames with these numbers; None: all of them."""
    if wanted is None:
        return Excerpt(results, slice(None))
    first, last = np.searchsorted(results.frames, [wanted.start, wanted.stop])
    return Excerpt(results, slice(int(first), int(last)))


def slices(part: Excerpt) -> Iterator[Excerpt]:
    """The same rows, a few at a time."""
    first, last, _ = part.rows.indices(len(part.whole.frames))
    for start in range(first, last, _SLICE):
        yield Excerpt(part.whole, slice(start, min(start + _SLICE, last)), bare=True)


async def report_document(
    live: LiveState, *, wanted: range | None = None, include: bool | None = None, precision: str = "legacy"
) -> dict[str, Any]:
    """The report with the frames that are wanted if they are to be included; None: if it stays short.

    Raises NoFramesError before the first frame.
    """
    results = live.results()
    part = excerpt(results, wanted)
    count = len(part.frames)
    if include and count > MOST_FRAMES:
        raise EmbeddedError(
            f"{count} frames are too many for one answer, {MOST_FRAMES} are the most: name first and last"
        )
    extra = {"acuity": _about(live, results), "report": REPORT}
    document = as_document(excerpt(results, range(0)), precision, extra=extra)
    if include is False or count > MOST_FRAMES:
        return without_frames(document, count)
    digits = parse_precision(precision)
    frames: list[Any] = []
    for rows in slices(part):
        await live.budget.turn()
        frames += report_rows(rows, digits)
        if include is None and frames and not _stays_short(document, count, frames[0]):
            return without_frames(document, count)
    return {**document, "frames": frames}


def _stays_short(document: dict[str, Any], count: int, first: Any) -> bool:
    """Whether so many frames make no more than a short text, judged by the length of the first."""
    return len(to_text(document)) + count * (len(to_text(first)) + _LAYOUT * len(first["metrics"])) <= SHORT


async def report_text(document: dict[str, Any], turn: Turn) -> str:
    """The text of a report without NaN or infinity, as `to_text` makes it, in slices."""
    frames = document["frames"]
    if len(frames) <= _SLICE:
        return to_text(document)
    rows = []
    for start in range(0, len(frames), _SLICE):
        await turn()
        rows.append(_compact(frames[start : start + _SLICE])[1:-1])
    before, _, after = _compact({**document, "frames": [_MARK]}).partition(_compact(_MARK))
    text = "".join((before, ", ".join(rows), after))
    return text if len(text) > READABLE else to_text(document)


async def report_answer(document: dict[str, Any], turn: Turn) -> types.CallToolResult:
    """The answer with a report, as `answer` makes it, in slices."""
    if not document["frames"]:
        return answer(document)
    content = types.TextContent(type="text", text=await report_text(document, turn))
    return types.CallToolResult(content=[content], structured_content=document)


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False)


def _about(live: LiveState, results: Results) -> dict[str, Any]:
    measurement = live.measurement
    at = measurement.snapshot()
    return {
        "partial": live.state != "over",
        **({"reason": reason} if (reason := live.reason) is not None else {}),
        "frames_read": at.frames_fed,
        "frames_scored": int(np.searchsorted(results.frames, at.frames_done)),  # those left out don't count
        "model": results.label(results.models[0]) if results.models else None,
        "subsample": results.subsample,
        "width": results.width,
        "height": results.height,
        "backend": measurement.backend,
        "computed_by": measurement.computed_by,
        "instruction_set": measurement.instruction_set,
        "threads": measurement.threads,
        **({"steering": results.marks()} if results.steered else {}),
    }

"""The report so far, in the command's own shape, as much of it as fits into an answer.

Writing out a film's worth of figures would keep the measuring thread from the interpreter for seconds, so
what is going to be left out is never written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import EmbeddedError
from acuity.mcp.embedded.addresses import REPORT
from acuity.mcp.fitting import fit, without_frames
from acuity.measure.results import Results
from acuity.report import render_report

if TYPE_CHECKING:
    from acuity.mcp.embedded.state import Live

MOST_FRAMES: Final = 5000  # in one answer


@dataclass(frozen=True, slots=True, eq=False)
class Excerpt:
    """Some rows of the results, and the pools of all."""

    whole: Results
    rows: slice

    @property
    def frames(self) -> list[int]:
        return self.whole.frames[self.rows]

    @property
    def columns(self) -> dict[str, NDArray[np.float64]]:
        return {name: values[self.rows] for name, values in self.whole.columns.items()}

    @property
    def undefined(self) -> dict[str, NDArray[np.bool_]]:
        return {name: which[self.rows] for name, which in self.whole.undefined.items()}

    def pooled(self) -> dict[str, dict[str, float]]:
        return self.whole.pooled()

    @property
    def aggregate(self) -> Mapping[str, float]:
        return self.whole.aggregate

    @property
    def width(self) -> int:
        return self.whole.width

    @property
    def height(self) -> int:
        return self.whole.height

    @property
    def fps(self) -> float:
        return self.whole.fps


def excerpt(results: Results, wanted: range | None) -> Excerpt:
    """The frames with these numbers; None: all of them."""
    if wanted is None:
        return Excerpt(results, slice(None))
    first, last = np.searchsorted(results.frames, [wanted.start, wanted.stop])
    return Excerpt(results, slice(int(first), int(last)))


def report_document(
    live: Live, *, wanted: range | None = None, include: bool | None = None, precision: str = "legacy"
) -> dict[str, Any]:
    """The report with the frames that are wanted if they are to be included; None: if they fit.

    Raises NoFramesError before the first frame.
    """
    results = live.results()
    part = excerpt(results, wanted)
    count = len(part.frames)
    if include and count > MOST_FRAMES:
        raise EmbeddedError(
            f"{count} frames are too many for one answer, {MOST_FRAMES} are the most: name first and last"
        )
    written = include is not False and count <= MOST_FRAMES
    if not written:
        part = excerpt(results, range(0))
    pieces = render_report(part, "json", precision, extra={"acuity": _about(live, results)})
    document: dict[str, Any] = {**json.loads("".join(pieces)), "report": REPORT}
    return fit(document, include) if written else without_frames(document, count)


def _about(live: Live, results: Results) -> dict[str, Any]:
    measurement = live.measurement
    at = measurement.snapshot()
    return {
        "partial": not live.over,
        "frames_read": at.frames_fed,
        "frames_scored": at.frames_done,
        "model": measurement.models[0].label if measurement.models else None,
        "width": results.width,
        "height": results.height,
        "backend": measurement.backend,
        "computed_by": measurement.computed_by,
        "instruction_set": measurement.instruction_set,
        "threads": measurement.threads,
        **({"steering": results.marks()} if results.steered else {}),
    }

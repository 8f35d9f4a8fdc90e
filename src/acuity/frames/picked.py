"""Finds which frames of a scored comparison are the worst, also where their scores don't say it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import ScoreError
from acuity.frames.differences import differences, needs_differences
from acuity.frames.pick import FRAMES_A_SECOND, Picked, pick, tied
from acuity.frames.progress import Listener, WorstProgress
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.video import notes
from acuity.video.notes import Note

_EQUAL: Final = (
    "{} frames have the same score as another, so the score can't rank them: they are ranked by how much "
    "their samples differ from the reference's"
)
FEWER_FRAMES: Final = "fewer-frames"  # the code of the note that says so
IDENTICAL: Final = "every scored frame is identical to its reference, so none is the worst and none is shown"


def picked_frames(
    request: Request,
    report: ScoreReport,
    n: int,
    apart: float,
    tell: Listener,
    between: tuple[float | None, float | None] = (None, None),
) -> tuple[Picked, list[Note]]:
    """The worst frames `between` these seconds, and notes about how they were found; raises AcuityError.

    Both videos are read once more if scores tie, or may be those of identical pictures.
    """
    results = report.results
    scores = _within(report, results.columns[results.models[0]], *between)

    def picked(off: dict[int, float] | None = None) -> Picked:
        return pick(results.frames, scores, n, apart, report.time_of, off)

    found = picked()
    if not found.picks:
        where = "" if between == (None, None) else " there"
        raise ScoreError(f"no frame{where} has a finite score of {report.model}, so none is the worst")
    if not needs_differences(found.picks, tied(scores, found.picks) > 0):
        return found, [*_about_picks(found, n, apart, 0)]
    tell(WorstProgress("comparing", 0, report.pairs))

    def passed(index: int) -> None:
        tell(WorstProgress("comparing", index + 1, report.pairs))

    off = differences(request, report, passed)
    found = picked(off)
    identical = sum(not value for value in off.values())
    if not found.picks:
        return found, [notes.info("identical-frames", IDENTICAL)]
    differing = np.array([off[int(frame)] > 0 for frame in results.frames])
    equal = tied(scores[differing], found.picks)
    ties = [] if not equal else [notes.info("equal-scores", _EQUAL.format(equal))]
    return found, [*ties, *_about_picks(found, n, apart, identical)]


def _within(
    report: ScoreReport, scores: NDArray[np.float64], start: float | None, end: float | None
) -> NDArray[np.float64]:
    """The scores, and NaN for frames before `start` and after `end`, in seconds."""
    if start is None and end is None:
        return scores
    times = [report.time_of(frame) for frame in report.results.frames]
    known = [
        frame / FRAMES_A_SECOND if time is None else time
        for frame, time in zip(report.results.frames, times, strict=True)
    ]
    at = np.array(known)
    inside = (at >= (-np.inf if start is None else start)) & (at <= (np.inf if end is None else end))
    return np.where(inside, scores, np.nan)


def _about_picks(picked: Picked, n: int, apart: float, identical: int) -> Iterator[Note]:
    if len(picked.picks) < n:
        distance = f" {apart:g} s apart" if apart else ""
        same = f"; {identical} are identical to their reference" if identical else ""
        yield notes.info(
            FEWER_FRAMES,
            f"{len(picked.picks)} of {n} frames are shown: the clip has no more{distance} with a score"
            f"{' and a difference' if identical else ''}{same}",
        )
    if apart and not picked.timed:
        yield notes.info(
            "no-rate",
            f"no frame rate is known, so a second between the frames is taken for {FRAMES_A_SECOND} frames",
        )

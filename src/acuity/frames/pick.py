"""Picks the worst frames of a scored comparison, also where scores tie or are those of identical pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.errors import InputError, ScoreError
from acuity.frames.compared import compared_pairs, reopen
from acuity.frames.request import Listener, WorstProgress
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.video import notes
from acuity.video.notes import Note
from acuity.video.picture import Picture

# What a second counts for where no frame rate is known, as in raw video.
FRAMES_A_SECOND: Final = 25
_SLACK: Final = 1e-6  # seconds: times are rounded
_DECIMALS: Final = 6  # of scores: those that differ by less are equal


class Pick(NamedTuple):
    """A frame that was picked."""

    frame: int
    time: float | None  # seconds; None: no rate is known
    score: float


def pick(
    frames: Sequence[int],
    scores: NDArray[np.float64],
    n: int,
    apart: float,
    time_of: Callable[[int], float | None],
    differences: Mapping[int, float] | None = None,
) -> list[Pick]:
    """The `n` lowest frames, each at least `apart` seconds from all that are worse.

    Frames without a finite score are left out. Of equal scores the frame with the greater difference from its
    reference comes first, where `differences` are known, and then the earlier one; frames without a
    difference are left out. There may be fewer than `n`. If the time of a frame isn't known, a second is
    taken for FRAMES_A_SECOND frames.
    """
    times = [time_of(frame) for frame in frames]
    places = np.asarray(
        times if None not in times else np.asarray(frames, np.float64) / FRAMES_A_SECOND, np.float64
    )
    left = np.isfinite(scores)
    order = np.argsort(np.where(left, scores, np.inf), kind="stable")
    if differences is not None:
        off = np.array([differences[int(frame)] for frame in frames], np.float64)
        left &= off > 0
        order = np.lexsort((-off, np.round(np.where(left, scores, np.inf), _DECIMALS)))
    picks: list[Pick] = []
    for at in order:
        if len(picks) == n:
            break
        if left[at]:
            picks.append(Pick(int(frames[at]), times[at], float(scores[at])))
            left[at] = False
            left[np.abs(places - places[at]) < apart - _SLACK] = False
    return picks


def tied(scores: NDArray[np.float64], picks: Sequence[Pick]) -> int:
    """How many frames share a score with another where that decides what is picked; 0: none."""
    rounded = np.round(scores, _DECIMALS)
    alike = [int((rounded == round(score, _DECIMALS)).sum()) for score in {pick.score for pick in picks}]
    return sum(number for number in alike if number > 1)


def spread(count: int, most: int) -> list[int]:
    """At most so many of `count` numbers from 0 on, evenly spread, in the middle of equal parts."""
    parts = min(count, most)
    return [(2 * part + 1) * count // (2 * parts) for part in range(parts)]


# Identical pictures may score less than the highest where nothing moves, but no less than this.
_MAY_BE_IDENTICAL: Final = 90.0


def differences(request: Request, report: ScoreReport, passed: Callable[[int], None]) -> dict[int, float]:
    """The difference of each scored pair, by its number: 0 if the pictures are identical.

    Reads both videos once. Raises InputError if they aren't those that were scored.
    """
    wanted = {int(frame) for frame in report.results.frames}
    with reopen(request, report) as pairing, closing(compared_pairs(pairing, wanted, passed)) as pairs:
        return {pair.index: difference(pair.ref, pair.dis) for pair in pairs}


def difference(ref: Picture, dis: Picture) -> float:
    """The mean squared difference of all samples, chroma too, in steps of 8-bit video."""
    total = 0.0
    for x, y in zip(ref.planes, dis.planes, strict=True):
        off = x.astype(np.float32) - y.astype(np.float32)
        total += float(np.einsum("ij,ij", off, off))  # not with dot, which may start a thread for every core
    samples = sum(plane.size for plane in ref.planes)
    return total / samples / float(1 << (ref.format.depth - 8)) ** 2


_EQUAL: Final = (
    "{} frames have the same score as another, so the score can't rank them: they are ranked by how much "
    "their samples differ from the reference's"
)
FEWER_FRAMES: Final = "fewer-frames"  # the code of the note that says so
IDENTICAL: Final = "every scored frame is identical to its reference, so none is the worst and none is shown"


def pick_worst(
    request: Request,
    report: ScoreReport,
    n: int,
    apart: float,
    tell: Listener,
    between: tuple[float | None, float | None] = (None, None),
) -> tuple[list[Pick], list[Note]]:
    """The worst frames `between` these seconds, and notes about how they were found; raises AcuityError.

    Both videos are read once more if scores tie, or may be those of identical pictures.
    """
    results = report.results
    scores = _within(report, results.columns[results.models[0]], *between)

    picks = pick(results.frames, scores, n, apart, report.time_of)
    if not picks:
        where = "" if between == (None, None) else " there"
        raise ScoreError(f"no frame{where} has a finite score of {report.model}, so none is the worst")
    if not tied(scores, picks) and all(found.score < _MAY_BE_IDENTICAL for found in picks):
        return picks, [*_about_picks(report, len(picks), n, apart, 0)]
    tell(WorstProgress("comparing", 0, report.pairs))

    def passed(index: int) -> None:
        tell(WorstProgress("comparing", index + 1, report.pairs))

    off = differences(request, report, passed)
    picks = pick(results.frames, scores, n, apart, report.time_of, off)
    identical = sum(not value for value in off.values())
    if not picks:
        return [], [notes.info("identical-frames", IDENTICAL)]
    differing = np.array([off[int(frame)] > 0 for frame in results.frames])
    equal = tied(scores[differing], picks)
    ties = [] if not equal else [notes.info("equal-scores", _EQUAL.format(equal))]
    return picks, [*ties, *_about_picks(report, len(picks), n, apart, identical)]


def _within(
    report: ScoreReport, scores: NDArray[np.float64], start: float | None, end: float | None
) -> NDArray[np.float64]:
    """The scores, and NaN for frames before `start` and after `end`, in seconds; raises InputError."""
    if start is None and end is None:
        return scores
    times = ((frame, report.time_of(frame)) for frame in report.results.frames)
    at = np.array([frame / FRAMES_A_SECOND if time is None else time for frame, time in times])
    inside = (at >= (-np.inf if start is None else start)) & (at <= (np.inf if end is None else end))
    if not inside.any():
        first, last = at[0], at[-1]
        raise InputError(f"no frame there was compared: the first is at {first:g} s, the last at {last:g} s")
    return np.where(inside, scores, np.nan)


def _about_picks(report: ScoreReport, found: int, n: int, apart: float, identical: int) -> Iterator[Note]:
    if found < n:
        distance = f" {apart:g} s apart" if apart else ""
        same = f"; {identical} are identical to their reference" if identical else ""
        yield notes.info(
            FEWER_FRAMES,
            f"{found} of {n} frames are shown: the clip has no more{distance} with a score"
            f"{' and a difference' if identical else ''}{same}",
        )
    if apart and None in map(report.time_of, report.results.frames):
        yield notes.info(
            "no-rate",
            f"no frame rate is known, so a second between the frames is taken for {FRAMES_A_SECOND} frames",
        )

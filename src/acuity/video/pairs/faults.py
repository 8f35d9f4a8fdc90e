"""The ways in which an encode can show other frames than its source, each found in a history."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from acuity.video.pairs.history import FLOOR, History

Kind = Literal["shift", "lost", "doubled", "swapped", "frozen", "twice", "half", "other"]
Matches = Sequence[tuple[int, int]]

# Costs of a path through frames that match, in units of evidence. Errors of neighbouring cells and frames are
# alike, so that the evidence of a frame counts a fortieth of what independent errors would be worth.
ALIKE: Final = 40.0
MOST: Final = 20.0  # that one frame may say
JUMP: Final = 8.0  # from one lag to another

_FROZEN: Final = 5  # frames; encoders themselves code next to nothing for fewer, before a cut
_STRETCH: Final = 30  # frames before a fault that tell how well the encode tracked its source
_RUN: Final = 6  # frames of one lag that make a shift
_CONTEXT: Final = 40  # frames before an alarm that are looked at again to find the first wrong one


@dataclass(frozen=True, slots=True)
class Finding:
    """Where two videos stop showing the same frames.

    kind: 'shift' from the first frame on, 'lost' and 'doubled' frames from `frame` on, two frames 'swapped',
        a stretch 'frozen'; every frame shown 'twice', or only every second one ('half'); 'other' content.
    lag: how many frames the distorted video is ahead of the reference, negative: behind.
    frames: how many frames of the distorted video, from `frame` on, say so.
    """

    kind: Kind
    frame: int
    lag: int
    frames: int


def costs(errors: NDArray[np.float64], cells: int, weight: float) -> NDArray[np.float64]:
    """What it costs to match a frame with each of several, from its squared errors against them."""
    least = float(errors.min())
    return np.minimum(MOST, (errors - least) * (weight / (2 * ALIKE * max(FLOOR, least / cells))))


def _tracked(history: History, before: int) -> bool:
    """Whether the encode moved as its source does, in the stretch before a frame."""
    rows = history.moving(before - _STRETCH, before)
    return len(rows) >= 6 and float(np.median([history.tracking[row] for row in rows])) >= 0.5


def _usual_error(history: History, before: int) -> float:
    return float(np.median([history.error[row] for row in history.moving(before - _STRETCH, before)]))


def swapped(history: History, second: int) -> Finding | None:
    """Frame `second` and the one before it, shown in the other order.

    Between them the encode moves backwards. The two frames that follow are there already, and match again.
    """
    row = second - history.first
    if row < 3 or history.tracking[row] > -0.3:
        return None
    (one, two), (ref_one, ref_two) = history.dis(second - 1, second + 1), history.ref(second - 1, second + 1)
    way = ref_two - ref_one
    apart = float(way @ way)
    if apart < history.cells * 0.02 or not _tracked(history, second - 1):
        return None
    low = max(
        2 * _usual_error(history, second - 1) + history.floor, 0.5 * min(history.error[row - 1 : row + 1])
    )
    if max(history.error[row + 1 : row + 3], default=0.0) > low:
        return None
    positions = float((one - ref_one) @ way) / apart, float((ref_two - two) @ way) / apart
    crossed = [float(np.square(a - b).sum()) + history.floor for a, b in ((one, ref_two), (two, ref_one))]
    gain = min(history.error[row - 1] / crossed[0], history.error[row] / crossed[1])
    if min(positions) >= 0.7 and max(positions) <= 1.3 and gain >= 1.1:
        return Finding("swapped", second - 1, 0, 2)
    return None


def frozen(history: History, start: int, end: int) -> Finding | None:
    """Frames from `start` to before `end` that repeat the one before; then the encode catches up."""
    first, last = start - history.first, end - history.first
    if last - first < _FROZEN or first < 8 or not _tracked(history, start):
        return None
    if history.moved_ref[last] > 4 * usual_motion(history, end):
        return None  # a cut, before which encoders save
    usual = _usual_error(history, start)
    worse = (history.error[last - 1] + history.floor) / (max(usual, history.error[last]) + history.floor)
    kept, now = history.ref(start - 1, start)[0], history.ref(end - 1, end)[0]
    way = kept - now
    position = float((history.dis(end - 1, end)[0] - now) @ way) / (float(way @ way) + 1e-9)
    return Finding("frozen", start, 0, end - start) if worse >= 4 and 0.6 <= position <= 1.4 else None


def usual_motion(history: History, frame: int) -> float:
    """The median change of the reference in the last half second."""
    row = frame - history.first
    motion = sorted(history.moved_ref[max(1, row - 12) : row + 1])
    return max(motion[len(motion) // 2], history.cells * 0.02)


def paced(history: History, error: float = math.inf) -> Finding | None:
    """Every frame twice, or every second one only, since the first pair; at less than `error` a frame."""
    if history.first:
        return None
    found = None
    for kind, matches in _paces(history.end):
        evidence = history.evidence(matches)
        if evidence is None or not evidence.convincing or evidence.gain < 1.5:
            continue
        dis, ref = np.array(matches).T
        rest = history.dis(0, history.end)[dis] - history.ref(0, history.end)[ref]
        if (own := float(np.square(rest).sum(axis=1).mean())) < error:
            error, found = own, Finding(kind, 0, 0, len(matches))
    return found


def _paces(end: int) -> Iterator[tuple[Kind, Matches]]:
    for phase in (0, 1):
        yield "half", [(i, 2 * i + phase) for i in range(1, (end - phase) // 2)]
        yield "twice", [(i, (i + phase) // 2) for i in range(2, end)]


def located(history: History, alarm: Matches) -> Finding:
    """The fault behind convincing matches at another lag: which it is, where it begins, how far it shifts."""
    start = max(history.first, alarm[0][0] - _CONTEXT)
    dis, ref = history.dis(start, history.end), history.ref(start, history.end)
    errors = np.square(dis).sum(axis=1)[:, None] + np.square(ref).sum(axis=1)[None] - 2 * (dis @ ref.T)
    errors = np.maximum(errors, 0.0).astype(np.float64)
    lag, first, last = _longest_run(_best_path(history, errors, start))
    if last - first < _RUN:
        if (pace := paced(history)) is not None:
            return pace
        lag, first, last = alarm[0][1] - alarm[0][0], alarm[0][0] - start, alarm[-1][0] + 1 - start
    rows = np.arange(max(first, -lag, 0), min(last, len(errors) - max(lag, 0)))
    if (pace := paced(history, float(errors[rows, rows + lag].mean()))) is not None:
        return pace
    # The frame from which on this lag fits better than none; and whether any frame before it says lag 0.
    rows = np.arange(max(0, -lag), min(last, len(errors) - max(lag, 0)))
    paired, matched = errors[rows, rows], errors[rows, rows + lag]
    first = int(rows[np.argmax(np.cumsum((paired - matched)[::-1])[::-1])])
    says_paired = rows[matched - paired > 0.5 * history.floor + 0.1 * paired]
    if start == 0 and not np.any((says_paired > 3 + max(0, -lag)) & (says_paired < first)):
        return Finding("shift", 0, lag, last)
    return Finding("lost" if lag > 0 else "doubled", start + first, lag, last - first)


def _best_path(history: History, errors: NDArray[np.float64], start: int) -> NDArray[np.intp]:
    """For each frame the frame of the reference that it shows: the cheapest way through all of them."""
    count = len(errors)
    frames = np.arange(count)
    total = np.full(count, JUMP)
    total[0] = 0.0
    came_from = []
    for i, row in enumerate(errors):
        if i:
            best = int(total.argmin())
            came, cost = np.full(count, best), np.full(count, total[best] + JUMP)
            goes_on = total[:-1] <= cost[1:]
            cost[1:] = np.where(goes_on, total[:-1], cost[1:])
            came[1:] = np.where(goes_on, frames[:-1], best)
            came_from.append(came)
            total = cost
        # Of lags that fit equally, as in content that repeats, the smallest is meant.
        total = total + costs(row, history.cells, history.weight(start + i)) + 0.002 * np.abs(frames - i)
    path = [int(total.argmin())]
    for came in reversed(came_from):
        path.append(int(came[path[-1]]))
    return np.array(path[::-1])


def _longest_run(path: NDArray[np.intp]) -> tuple[int, int, int]:
    """The lag other than 0 that most frames in a row have, their first and their end; (0, 0, 0): none."""
    lags = path - np.arange(len(path))
    starts = np.r_[0, np.flatnonzero(np.diff(lags)) + 1, len(lags)]
    runs = [(int(lags[a]), int(a), int(b)) for a, b in itertools.pairwise(starts) if lags[a]]
    return max(runs, key=lambda run: run[2] - run[1], default=(0, 0, 0))

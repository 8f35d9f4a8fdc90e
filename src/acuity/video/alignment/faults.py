"""The ways in which an encode can show other frames than its source, each found in a history."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

from acuity.arrays import np
from acuity.records import Record
from acuity.video.alignment.history import JUMP, History

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal[
    "shift", "lost", "doubled", "detour", "swapped", "frozen", "twice", "half", "reversed", "other"
]
Matches = Sequence[tuple[int, int]]

_FROZEN: Final = 5  # frames; encoders themselves code next to nothing for fewer, before a cut
_THAW: Final = 5  # frames in which an encode catches up: some of them lie between both pictures
_STRETCH: Final = 30  # frames before a fault that tell how well the encode tracked its source
_RUN: Final = 6  # frames of one lag that make a shift
_START: Final = 3  # frames that may match by chance before a shift, as the first one does of a delayed encode
_CONTEXT: Final = 40  # frames before an alarm that are looked at again to find the first wrong one


class Misalignment(Record):
    """Where two videos stop showing the same frames.

    kind: 'shift' from the first frame on, 'lost' and 'doubled' frames from `frame` on, a 'detour' that ends
        again, two frames 'swapped', a stretch 'frozen'; every frame shown 'twice', or only every second one
        ('half'); a short clip 'reversed'; 'other' content.
    lag: how many frames the distorted video is ahead of the reference, negative: behind.
    frames: how many frames of the distorted video, from `frame` on, show it.
    """

    kind: Kind
    frame: int
    lag: int
    frames: int


def most_first(lag: int) -> int:
    """How many first frames of a shifted video may match: none of a video that is ahead."""
    return 0 if lag > 0 else _START


def _tracked(history: History, before: int) -> bool:
    """Whether the encode moved as its source does, in the stretch before a frame."""
    rows = history.moving(before - _STRETCH, before)
    return len(rows) >= 6 and float(np.median(history.track.tracking[rows])) >= 0.5


def _usual_error(history: History, before: int) -> float:
    return float(np.median(history.track.error[history.moving(before - _STRETCH, before)]))


def swapped(history: History, second: int) -> Misalignment | None:
    """Frame `second` and the one before it, shown in the other order.

    Between them the encode moves backwards. The two frames that follow are there already, and match again.
    """
    if not history.track.backwards(second):
        return None
    row = second - history.track.first
    (one, two), (ref_one, ref_two) = history.dis(second - 1, second + 1), history.ref(second - 1, second + 1)
    way = ref_two - ref_one
    apart = float(way @ way)
    if apart < history.track.cells * 0.02 or not _tracked(history, second - 1):
        return None
    usual, least = _usual_error(history, second - 1), min(history.track.error[row - 1 : row + 1])
    low = max(2 * usual + history.floor, 0.5 * least)
    if usual > least or max(history.track.error[row + 1 : row + 3], default=0.0) > low:
        return None  # frames before or after don't match either
    positions = float((one - ref_one) @ way) / apart, float((ref_two - two) @ way) / apart
    crossed = [float(np.square(a - b).sum()) + history.floor for a, b in ((one, ref_two), (two, ref_one))]
    gain = min(history.track.error[row - 1] / crossed[0], history.track.error[row] / crossed[1])
    if min(positions) >= 0.65 and max(positions) <= 1.3 and gain >= 1.1:
        return Misalignment("swapped", second - 1, 0, 2)
    return None


def frozen(history: History, start: int, end: int) -> Misalignment | None:
    """Frames from `start` to before `end` that repeat the one before; then the encode catches up, or ends."""
    first, last = start - history.track.first, end - history.track.first
    if last - first < _FROZEN or first < 8 or not _tracked(history, start):
        return None
    if end < history.track.end and history.track.moved_ref[last] > 4 * history.track.usual_motion(end):
        return None  # a cut, before which encoders save
    usual = _usual_error(history, start)
    after = float(min(history.track.error[last : last + _THAW], default=0.0))
    worse = (history.track.error[last - 1] + history.floor) / (max(usual, after) + history.floor)
    kept, now = history.ref(start - 1, start)[0], history.ref(end - 1, end)[0]
    way = kept - now
    position = float((history.dis(end - 1, end)[0] - now) @ way) / (float(way @ way) + 1e-9)
    return Misalignment("frozen", start, 0, end - start) if worse >= 4 and 0.6 <= position <= 1.4 else None


def paced(history: History, error: float = math.inf) -> Misalignment | None:
    """Every frame twice, or every second one only, since the first pair.

    `error` is that of a run of frames at one lag. A pace explains all frames, so it may fit a little worse.
    """
    if history.track.first or history.track.matches(0):
        return None
    found, errors, error = None, None, 1.5 * error
    for kind, matches in _paces(history.track.end):
        evidence = history.evidence(matches)
        if evidence is None or not evidence.convincing or evidence.gain < 1.5:
            continue
        errors = _errors(history, 0) if errors is None else errors  # rarely needed, and slow
        dis, ref = np.array(matches).T
        own, best = float(errors[dis, ref].mean()), float(errors[dis].min(axis=1).mean())
        if own < error and own <= 2 * best + history.floor:
            error, found = own, Misalignment(kind, 0, 0, len(matches))
    return found


def _errors(history: History, start: int) -> NDArray[np.float64]:
    """The squared error of each frame of the distorted video from `start` on against each reference frame."""
    dis, ref = history.dis(start, history.track.end_dis), history.ref(start, history.track.end_ref)
    squares = np.square(dis).sum(axis=1)[:, None] + np.square(ref).sum(axis=1)[None]
    errors: NDArray[np.float64] = np.maximum(squares - 2 * (dis @ ref.T), 0.0).astype(np.float64)
    return errors


def _paces(end: int) -> Iterator[tuple[Kind, Matches]]:
    for phase in (0, 1):
        yield "half", [(i, 2 * i + phase) for i in range(1, (end - phase) // 2)]
        yield "twice", [(i, (i + phase) // 2) for i in range(2, end)]
    yield "reversed", [(i, end - 1 - i) for i in range(1, end)]


def located(history: History, alarm: Matches) -> Misalignment:
    """The fault behind convincing matches at another lag: which it is, where it begins, how far it shifts."""
    start = max(history.track.first, alarm[0][0] - _CONTEXT - abs(alarm[0][1] - alarm[0][0]))
    errors = _errors(history, start)
    cost = np.stack([history.costs(row, history.track.weight(start + i)) for i, row in enumerate(errors)])
    lag, first, last = _best_run(_best_path(cost), cost)
    if last - first < _RUN:
        if (pace := paced(history)) is not None:
            return pace
        lag, first, last = alarm[0][1] - alarm[0][0], alarm[0][0] - start, alarm[-1][0] + 1 - start
    lag, error = _smallest_lag(errors, lag, first, last)
    if (pace := paced(history, error)) is not None:
        return pace
    part = _parting(errors, lag, last, history.floor)
    if start == 0 and part <= most_first(lag):
        return Misalignment("shift", 0, lag, last)
    return Misalignment("lost" if lag > 0 else "doubled", start + part, lag, last - part)


def _parting(errors: NDArray[np.float64], lag: int, last: int, slack: float) -> int:
    """The frame from which on the lag fits better than 0, less the frames that are too many there."""
    extra = max(0, -lag)
    rows = np.arange(max(0, min(last, errors.shape[1] - max(lag, 0)) - extra))
    before = np.r_[0.0, np.cumsum(errors[rows, rows])]
    after = np.r_[np.cumsum(errors[rows + extra, rows + extra + lag][::-1])[::-1], 0.0]
    total = before + after
    # Of several equal frames nothing tells which one is too many: the last of them is taken.
    part = int(np.flatnonzero(total <= total.min() + (slack if extra else 0.0))[-1])
    # Unless the frames before it match at lag 0, the lag begins with the first frame.
    return part if total[0] - total[part] > slack + 0.1 * before[part] else 0


def _smallest_lag(errors: NDArray[np.float64], lag: int, first: int, last: int) -> tuple[int, float]:
    """The smallest lag of those that fit these frames equally, as where content repeats; its mean error."""

    def error(lag: int) -> float:
        rows = np.arange(max(first, -lag), min(last, errors.shape[1] - lag))
        return float(errors[rows, rows + lag].mean()) if 2 * len(rows) > last - first else math.inf

    least = error(lag)
    smaller = sorted((other for other in range(1 - abs(lag), abs(lag)) if other), key=abs)
    found = next((other for other in smaller if error(other) <= 1.1 * least + 1e-3), lag)
    return found, error(found)


def _best_path(costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """For each frame the frame of the reference that it shows: the cheapest way through all of them."""
    count = costs.shape[1]
    frames = np.arange(count)
    total = np.full(count, JUMP)
    total[0] = 0.0
    came_from = []
    for i, row in enumerate(costs):
        if i:
            best = int(total.argmin())
            came, cost = np.full(count, best), np.full(count, total[best] + JUMP)
            goes_on = total[:-1] <= cost[1:]
            cost[1:] = np.where(goes_on, total[:-1], cost[1:])
            came[1:] = np.where(goes_on, frames[:-1], best)
            came_from.append(came)
            total = cost
        total = total + row + 0.002 * np.abs(frames - i)
    path = [int(total.argmin())]
    for came in reversed(came_from):
        path.append(int(came[path[-1]]))
    return np.array(path[::-1])


def _best_run(path: NDArray[np.intp], costs: NDArray[np.float64]) -> tuple[int, int, int]:
    """(lag, first, end) of the run of frames that gain most by a lag other than 0; (0, 0, 0): none.

    Frames whose match isn't there yet, because it comes later, gain little anywhere.
    """
    frames = np.arange(len(path))
    lags = path - frames
    gains = costs[frames, np.minimum(frames, costs.shape[1] - 1)] - costs[frames, path]
    starts = np.r_[0, np.flatnonzero(np.diff(lags)) + 1, len(lags)]
    runs = [(float(gains[a:b].sum()), int(a), int(b)) for a, b in itertools.pairwise(starts) if lags[a]]
    _, first, last = max(runs, default=(0.0, 0, 0))
    return int(lags[first]) if last else 0, first, last

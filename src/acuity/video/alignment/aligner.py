"""The aligner: finds from signatures where two videos stop showing the same frames, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final

from acuity.arrays import np
from acuity.video.alignment import faults
from acuity.video.alignment.drift import Drift
from acuity.video.alignment.faults import Matches, Misalignment
from acuity.video.alignment.history import REACH, History
from acuity.video.alignment.signature import coarse
from acuity.video.picture import AnySignature

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAR: Final = 150  # frames beyond REACH up to which a search every WINDOW frames finds a lag
WINDOW: Final = 25  # frames between these searches
_ALARM: Final = 14.0  # evidence against lag 0 that is worth a closer look
# Frames until a look that did not convince is repeated; doubled each time, up to WINDOW.
_PATIENCE: Final = 5
_SETTLE: Final = 25  # frames after an alarm that are awaited before its fault is named
_AT_ONCE: Final = 5  # pairs that are looked at together; WINDOW is a multiple
_FEWEST: Final = 15  # pairs that a look at farther frames needs
_FEWEST_ALL: Final = 9  # pairs that a look at the frames after the last pair needs
_LAGGING: Final = 0.03  # sharpness below which encoders themselves lag by a frame or two
_UNLIKE: Final = 400.0  # mean squared error of coarse cells that no encoder makes
_MOST_UNLIKE: Final = 16  # stretches of such pairs that are remembered
_PACE_LOOKS: Final = (50, 100)  # frames after which the pace is compared


class Aligner:
    """Takes a pair of signatures at a time and returns a Misalignment once it is sure.

    Near lags are followed frame by frame: the cheapest path through lags of up to REACH frames, where a
    frame's cost is its error beyond its best match's. Farther ones are searched every WINDOW frames. Both
    must convince (see Evidence) before the fault is named.
    """

    def __init__(self) -> None:
        self._history = History()
        self.drift = Drift()
        self._new: tuple[list[AnySignature], list[AnySignature]] = ([], [])  # pairs to be looked at together
        self._next = 0  # the frame to be looked at when those that follow it within reach are there
        self._frozen: int | None = None  # the first frame of a stretch that may be frozen
        self._alarm: Matches = ()
        self._name_at = 0  # frames after which the alarm is named
        self._look_at = 0  # frame of the next closer look
        self._patience = _PATIENCE
        self.unlike: list[tuple[int, int]] = []  # first and last pair of stretches that show different things
        self._unlike = 0  # windows in a row with other content
        self._other: int | None = None

    @property
    def certain(self) -> bool:
        """Whether a fault is certain, and only its kind isn't known yet."""
        return bool(self._alarm) or self._other is not None

    @property
    def pairs(self) -> int:
        return self._history.track.end + len(self._new[0])

    def add(self, ref: AnySignature, dis: AnySignature) -> Misalignment | None:
        self._new[0].append(coarse(ref))
        self._new[1].append(coarse(dis))
        drift = self.drift.add(ref, dis)
        found = self._take() if len(self._new[0]) == _AT_ONCE else None
        if found is not None:
            return self._believed(found)
        return None if self.certain else drift

    def _take(self) -> Misalignment | None:
        """Look at the pairs that are new."""
        history, new = self._history, len(self._new[0])
        history.track.extend(*self._new)
        self._new = ([], [])
        self._note_unlike(history.track.end - new, history.track.last_errors(new))
        if (found := self._look_on(history.track.end - REACH)) is not None:
            return found
        if history.track.end % WINDOW == 0:
            self._look_far()
        return self._named(over=False)

    def end(self, ref: Iterable[AnySignature] = (), dis: Iterable[AnySignature] = ()) -> Misalignment | None:
        """The finding after the last pair; `ref` or `dis` are frames that one video has beyond it."""
        if self._new[0] and (found := self._take()) is not None:
            return found
        over = self._history.track.end
        if (found := self._look_on(over) or self._thawed(over)) is not None:
            return found
        if over % WINDOW:
            self._look_far()
        ref = list(islice(ref, FAR))
        self._look_beyond(ref, dis)
        found = self._named(over=True)
        return self.drift.end(ref) if found is None else self._believed(found)

    def _believed(self, finding: Misalignment) -> Misalignment | None:
        """The finding with its lag refined; None for a lag that comes of coding little detail."""
        if -2 <= finding.lag < 0 and self.drift.sharpness < _LAGGING:
            self._alarm = ()
            return None
        return self.drift.refined(finding)

    def _note_unlike(self, first: int, errors: Iterable[float]) -> None:
        for pair, error in enumerate(errors, first):
            if error <= _UNLIKE * self._history.track.cells:
                continue
            if self.unlike and self.unlike[-1][1] == pair - 1:
                self.unlike[-1] = self.unlike[-1][0], pair
            elif len(self.unlike) < _MOST_UNLIKE:
                self.unlike.append((pair, pair))

    def _look_on(self, limit: int) -> Misalignment | None:
        """Look at the frames before `limit`, each with its neighbours within reach."""
        track = self._history.track
        while self._next < limit:
            frame = track.advance(self._next, limit, self._frozen is not None)
            if frame > self._next:  # nothing but lag 0 was begun
                self._patience = _PATIENCE
            self._next = min(frame + 1, limit)
            if frame < limit and (found := self._look_closer(frame)) is not None:
                return found
        return None

    def _look_closer(self, frame: int) -> Misalignment | None:
        """Look at a frame that may not be as it should be."""
        history = self._history
        if (found := self._thawed(frame) or faults.swapped(history, frame - 2)) is not None:
            return found
        if history.track.settled or self.certain or -history.track.least_cost <= _ALARM:
            self._patience = _PATIENCE
        elif frame >= self._look_at:
            self._look_at = frame + self._patience
            self._patience = min(2 * self._patience, WINDOW)
            self._consider(history.track.path(frame))
        return None

    def _thawed(self, frame: int) -> Misalignment | None:
        """A frozen stretch that ends with this frame."""
        history = self._history
        if frame - history.track.first < 1:
            return None
        if frame < history.track.end and history.track.still(frame):
            self._frozen = frame if self._frozen is None else self._frozen
            return None
        start, self._frozen = self._frozen, None
        return None if start is None or start <= history.track.first else faults.frozen(history, start, frame)

    def _look_far(self) -> None:
        """Compare the last frames with all that are remembered."""
        history = self._history
        if not (size := self._doubtful(_FEWEST)):
            return
        start = history.track.end - size
        gain, lag = max(self._far_lag(size, 1), self._far_lag(size, -1))
        if gain >= 1.5:
            last = history.track.end - max(lag, 0)
            self._consider([(i, i + lag) for i in range(last - size, last)])
        self._unlike = self._unlike + 1 if _other_content(history, start) else 0
        if self._unlike == 2 and not self._alarm:
            self._other = max(0, start - WINDOW)

    def _look_beyond(self, ref: Iterable[AnySignature], dis: Iterable[AnySignature]) -> None:
        """Compare the last frames of the shorter video with those of the longer one that have no partner."""
        history = self._history
        if not (size := self._doubtful(_FEWEST_ALL)):
            return
        history.track.add_rest(*([*map(coarse, islice(rest, FAR))] for rest in (ref, dis)))
        start, end = history.track.end - size, history.track.end
        if history.track.end_ref > end:
            fits = _slide(history.dis(start, end), history.ref(start, history.track.end_ref))
        else:
            fits = _slide(history.ref(start, end), history.dis(start, history.track.end_dis))
        lag = int(fits.argmin())
        if fits[0] + size * history.floor >= 1.5 * (fits[lag] + size * history.floor):
            far = (lag, 0) if history.track.end_dis > end else (0, lag)
            self._consider([(i + far[0], i + far[1]) for i in range(start, end)])

    def _doubtful(self, fewest: int) -> int:
        """How many of the last frames are to be looked at, if they don't match; otherwise 0."""
        history = self._history
        size = min(WINDOW, history.track.end)
        if size < fewest or self._alarm or history.track.matches(history.track.end - size):
            return 0
        return size

    def _far_lag(self, size: int, sign: int) -> tuple[float, int]:
        """(gain over lag 0, lag): the lag of one sign beyond REACH that fits the last frames best."""
        history = self._history
        start = max(history.track.first, history.track.end - size - FAR)
        latest, past = (history.ref, history.dis) if sign > 0 else (history.dis, history.ref)
        new, old = latest(history.track.end - size, history.track.end), past(start, history.track.end)
        lags = len(old) - size
        if lags < REACH:
            return 0.0, 0
        fits = _slide(new, old)  # from the farthest lag to 0
        rows = history.track.error[start - history.track.first :]
        paired = (
            np.convolve(rows, np.ones(size), "valid") if sign > 0 else np.full(lags + 1, rows[-size:].sum())
        )
        floor = size * history.floor
        gains = (paired + floor) / (fits + floor)
        best = int(gains[: lags - REACH + 1].argmax())
        return float(gains[best]), sign * (lags - best)

    def _consider(self, matches: Matches) -> None:
        """Raise the alarm if the matches convince."""
        evidence = self._history.evidence(matches)
        if evidence is not None and evidence.convincing:
            self._alarm, self._name_at = matches, self._history.track.end + _SETTLE

    def _named(self, *, over: bool) -> Misalignment | None:
        history, end = self._history, self._history.track.end
        if self._alarm:
            return faults.located(history, self._alarm) if over or end >= self._name_at else None
        if self._other is not None:
            # Meanwhile it may turn out to be the same content, a few seconds apart.
            late = over or end >= self._other + FAR + WINDOW
            other = Misalignment("other", self._other, 0, end - self._other)
            return faults.paced(history) or other if late else None
        return faults.paced(history) if end in _PACE_LOOKS or (over and end >= 16) else None


def _slide(frames: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """The squared error of the frames against each run of as many of the others."""
    squares = np.square(frames).sum(axis=1)[:, None] + np.square(others).sum(axis=1)[None]
    errors = squares - 2 * (frames @ others.T)
    places = len(others) - len(frames) + 1
    fits: NDArray[np.float64] = np.sum([errors[i, i : i + places] for i in range(len(frames))], axis=0)
    return np.maximum(fits, 0.0)


def _other_content(history: History, start: int) -> bool:
    """Whether the pictures since `start` have next to nothing in common."""
    ref, dis = history.ref(start, history.track.end), history.dis(start, history.track.end)
    if math.sqrt(float(np.square(ref - dis).mean())) <= 10:
        return False
    spread = ref.std(axis=1), dis.std(axis=1)
    seen = np.maximum(*spread) >= 6
    if np.count_nonzero(seen) * 2 <= len(seen):
        return False
    common = ((ref - ref.mean(axis=1, keepdims=True)) * (dis - dis.mean(axis=1, keepdims=True))).mean(axis=1)
    flat = np.minimum(*spread) < 2
    alike = np.where(flat, 0.0, common / np.maximum(spread[0] * spread[1], 1e-6))
    return bool(np.median(alike[seen]) < 0.4)

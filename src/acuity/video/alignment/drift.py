"""Drift: the lag between two videos, from the errors of many frames together.

A frame at low quality says little about which frame it is, but all frames of a stretch err in the same way if
they are late. The error of a stretch as a function of the lag is close to a parabola, whose vertex is the lag
to a fraction of a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import add
from typing import Final, TypeAlias

from acuity.arrays import np
from acuity.records import NamedTuple
from acuity.video.alignment.faults import Kind, Misalignment, most_first
from acuity.video.alignment.matching import (
    FLOOR,
    error_rows,
    errors,
    frame_costs,
    fresh_errors,
    goes_straight,
    usual_motion,
)
from acuity.video.alignment.signature import coarse
from acuity.video.picture import AnySignature, Signature

REACH: Final = 8  # frames that the videos may be apart
WINDOW: Final = 25  # frames whose errors are added up
_NEAR: Final = 4  # frames by which a lag that was found otherwise may be wrong
_KEPT: Final = 250  # pairs that are remembered to find where a fault is
_STRETCHES: Final = (2, 3, 4, 6, 12, 24, 48)  # windows before the last frame that are looked at together
_FEWEST: Final = 24  # frames that can show a lag
_APART: Final = 0.65  # the least distance of a vertex from 0, in frames, that is a lag
_APART_FEW: Final = 0.75  # the same in a stretch shorter than two windows
_APART_BEHIND: Final = 0.85  # the same for a lag behind, which encoders that code little have too
# A vertex is believed if the error one frame away from it is larger by this share. An encoder that codes
# little makes frames that resemble earlier ones (never later ones), in what is smooth more than in detail.
_SHARP_AHEAD: Final = 0.05
_SHARP_LONG: Final = 0.012  # ahead, in a stretch of at least _LONG frames
_LONG: Final = 75
_SHARP_BEHIND: Final = 0.09
_SHARP_STRAIGHT: Final = 0.4  # behind, where the reference changes in the same way from frame to frame
_SHARP_SMOOTH: Final = 1.4
_MOSTLY_SMOOTH: Final = 10.0  # times as sharp as the detail: the brightness changes, as in fades

Row: TypeAlias = list[float]  # figures by lag

# Lags of a detour. Larger lags behind are left out: low quality looks like them, and they are found
# elsewhere.
_LAGS: Final = (-2, -1, 1, 2, 3, 4)
# Encoders that code little show earlier frames for a while, never later ones: so a frame must gain this much
# by a lag behind.
_BEHIND: Final = 0.25
_SURE: Final = 4.0  # the least gain of a detour that has ended; encodes of the right frames reach half of it
_LIKELY: Final = 2.5  # the same for the largest detour, when no more frames come
_STILL: Final = 4  # the least number of frames that repeat the one before them; encoders repeat fewer
_STANDS: Final = 1.0  # the least gain of each such frame but the first by the frame that it repeats


class Detours:
    """Takes the errors of frames at all lags, and remembers the largest detour and the longest freeze.

    Detours are short stretches of another lag between frames that match. One frame lost and another one
    doubled soon after leave videos of one length, whose frames between are one apart: too few for a lag of
    the whole, and at low quality no frame shows it alone. So the frames' gains by a lag are added up: the sum
    grows while frames share that lag, and falls where they don't.
    """

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._sums = [0.0] * len(_LAGS)  # what the frames up to the last one gain, by lag, at least 0
        self._firsts = [0] * len(_LAGS)  # the frame at which each of these sums begins
        self._gain, self._best = 0.0, Misalignment("detour", 0, 0, 0)  # the largest detour, and what it gains
        self._last: list[Row] = []  # gains of the last frames
        self._still = self._longest = (0, 0)  # the first and the end of the last freeze, and of the longest

    def add(self, first: int, error: list[Row], smooth: list[Row]) -> Misalignment | None:
        """Take in the errors of the frames from `first` on, by lag; `smooth` are those of coarse cells."""
        detail = [
            [max(whole - part, 0.0) for whole, part in zip(*rows, strict=True)]
            for rows in zip(error, smooth, strict=True)
        ]
        both = zip(_gains(detail, self._reach), _gains(error, self._reach), strict=True)
        gain = [[*map(min, *rows)] for rows in both]
        self._watch_stills(first, gain)
        self._follow(first, gain)
        over = self._gain >= _SURE and max(self._sums) < 1.0
        return self._best if over else None

    def end(self) -> Misalignment | None:
        """The largest detour or the longest freeze, once there are no more frames."""
        if self._gain >= _LIKELY:
            return self._best
        first, end = self._longest
        return Misalignment("frozen", first, 0, end - first) if end > first else None

    def _follow(self, first: int, gain: list[Row]) -> None:
        """Add up what frames gain by each lag but 0, as long as the sum isn't negative."""
        for frame, row in enumerate(gain, first):
            most = max(row)
            for place, lag in enumerate(_LAGS):
                own = row[self._reach + lag]
                own -= most - own  # a lag that isn't the best one is worth less
                own = min(max(own, -1.0), 1.0) - (_BEHIND if lag < 0 else 0.0)
                if self._sums[place] <= 0.0:
                    self._firsts[place] = frame
                self._sums[place] = max(self._sums[place] + own, 0.0)
            which = self._sums.index(max(self._sums))
            if self._sums[which] > self._gain:
                self._gain, start = self._sums[which], self._firsts[which]
                self._best = Misalignment("detour", start, _LAGS[which], frame + 1 - start)

    def _watch_stills(self, first: int, gain: list[Row]) -> None:
        """Look for freezes: frames that all show the frame before the first of them, and so have no lag."""
        known = [*self._last, *gain]
        start = first - len(self._last)
        self._last = known[max(len(known) - _STILL + 2, 0) :]
        for row in range(len(known) - _STILL + 2):
            if min(known[row + k - 2][self._reach - k] for k in range(2, _STILL + 1)) < _STANDS:
                continue
            begin, end = start + row - 1, start + row + _STILL - 1
            self._still = (self._still[0] if begin <= self._still[1] else begin, end)
            self._longest = max(self._longest, self._still, key=lambda still: still[1] - still[0])
            for frame in range(max(begin, first), min(end, first + len(gain))):
                gain[frame - first] = [0.0] * len(gain[frame - first])


def _gains(error: list[Row], reach: int) -> list[Row]:
    """The gain of each frame by each lag over lag 0, in units of its least error."""
    found = []
    for row in error:
        least = max(min(row), FLOOR)
        found.append([(row[reach] - each) / least for each in row])
    return found


class Vertex(NamedTuple):
    """Where the error of a stretch is least."""

    lag: float  # frames that the distorted video is ahead
    sharpness: float  # how much larger the error is a frame away

    @classmethod
    def of(cls, error: Row) -> Vertex:
        middle, reach = error.index(min(error)), len(error) // 2
        if not 0 < middle < 2 * reach:  # the error falls on, beyond the lags that are looked at
            return cls(float(middle - reach), 0.0)
        before, least, after = error[middle - 1 : middle + 2]
        bend = before - 2 * least + after
        place = (before - after) / (2 * bend) if bend > 0 else 0.0
        return cls(middle - reach + float(place), float(bend / (2 * max(least, FLOOR))))


class Drift:
    """Takes pairs of signatures and tells a lag once a stretch of them shows it."""

    def __init__(self) -> None:
        self._first = 0  # the oldest pair that is kept
        self._ref: list[AnySignature] = []
        self._dis: list[AnySignature] = []
        self._coarse: tuple[list[AnySignature], list[AnySignature]] = ([], [])
        self._summed = 0  # pairs whose errors are in the windows
        # Sums from the first pair to the end of each window, of the errors in detail and in coarse cells.
        self._windows: list[tuple[Row, Row]] = []
        self._counts: list[int] = []
        self._detours = Detours(REACH)

    @property
    def recent(self) -> tuple[list[Signature], list[Signature]]:
        """The signatures that are kept, of both videos."""
        return [*map(np.asarray, self._ref)], [*map(np.asarray, self._dis)]

    @property
    def sharpness(self) -> float:
        """By how much a lag of one frame enlarges the error of all pairs; infinite where they are few."""
        if not self._counts or self._counts[-1] < _FEWEST:
            return float("inf")
        means = ([each / self._counts[-1] for each in sums] for sums in self._windows[-1])
        detail, smooth = (Vertex.of(error).sharpness for error in means)
        return max(detail, smooth / _MOSTLY_SMOOTH)

    def add(self, ref: AnySignature, dis: AnySignature) -> Misalignment | None:
        """Take in a pair."""
        signatures = ref, dis, coarse(ref), coarse(dis)
        for kept, signature in zip((self._ref, self._dis, *self._coarse), signatures, strict=True):
            kept.append(signature)
        if self._first + len(self._dis) < self._summed + WINDOW + REACH:
            return None
        found = self._look()
        if len(self._dis) > _KEPT + WINDOW:
            count = len(self._dis) - _KEPT
            for kept in (self._ref, self._dis, *self._coarse):
                del kept[:count]
            self._first += count
        return found

    def end(self, rest: Iterable[AnySignature] = ()) -> Misalignment | None:
        """The finding from all pairs together; `rest` are frames of the reference after the last pair."""
        for signature in islice(rest, REACH):
            self._ref.append(signature)
            self._coarse[0].append(coarse(signature))
        found = self._look() if len(self._dis) > REACH else None
        return self._detours.end() if found is None else found

    def _look(self) -> Misalignment | None:
        """Add up the errors of a window, and look at the stretches that end with it."""
        start = max(self._summed, REACH) - self._first
        end = min(len(self._dis), len(self._ref) - REACH, start + WINDOW)
        if end <= start:
            return None
        bands = self._errors(start, end, 0, REACH)
        sums = _parted(*map(_sum, bands))
        if self._windows:
            sums = _sum([self._windows[-1][0], sums[0]]), _sum([self._windows[-1][1], sums[1]])
        self._windows.append(sums)
        self._counts.append((self._counts[-1] if self._counts else 0) + end - start)
        self._summed = self._first + end
        for windows, lag in self._lags():
            first = 0 if windows == len(self._windows) else self._summed - windows * WINDOW
            return self._named(first, lag)
        return self._detours.add(self._summed - (end - start), *bands)

    def _lags(self) -> Iterator[tuple[int, int]]:
        """(windows, lag) of each stretch before the last frame that shows a lag."""
        windows = len(self._windows)
        for size in sorted({min(size, windows) for size in _STRETCHES} | {windows}):
            before = windows - size - 1
            count = self._counts[-1] - (self._counts[before] if before >= 0 else 0)
            earlier = (
                self._windows[before] if before >= 0 else [[0.0] * len(row) for row in self._windows[-1]]
            )
            detail, smooth = (
                [(now - then) / max(count, 1) for now, then in zip(*rows, strict=True)]
                for rows in zip(self._windows[-1], earlier, strict=True)
            )
            lag = self._lag(detail, smooth, count)
            least = _APART if count >= 2 * WINDOW else _APART_FEW
            least = max(least, _APART_BEHIND) if lag < 0 else least
            if count >= _FEWEST and abs(lag) >= least:
                yield size, round(lag) or (1 if lag > 0 else -1)

    def _named(self, start: int, lag: int) -> Misalignment:
        """The fault that makes the videos drift apart: where it is, by the best path through what is kept."""
        from acuity.video.alignment.path import Costs, best_path

        ref, dis = self.recent
        ref = ref[: len(dis)]
        error = errors(dis, ref)
        path, _ = best_path(
            frame_costs(fresh_errors(dis, ref, error), usual_motion(ref)),
            Costs.expecting(0, 0, timed=False),
            ends=False,
        )
        lags = path - np.arange(len(path))
        away = np.flatnonzero((path >= 0) & (np.sign(lags) == np.sign(lag)))
        if len(away):
            place = int(away[0])
            lag = int(np.median(lags[away]))
            place = max(place + min(lag, 0), 0)
        else:
            place = max(start - self._first, 0)
        frame = self._first + place
        kind: Kind = "shift" if frame <= most_first(lag) else "lost" if lag > 0 else "doubled"
        return self.refined(Misalignment(kind, 0 if kind == "shift" else frame, lag, len(dis) - place))

    def refined(self, finding: Misalignment) -> Misalignment:
        """The finding with the lag that fits the frames after it best."""
        if finding.kind not in ("shift", "lost", "doubled"):
            return finding
        start = max(finding.frame + max(-finding.lag, 0) - self._first, 0) + _NEAR
        start = max(start, _NEAR - finding.lag)  # where there are frames of the reference
        end = min(len(self._dis), len(self._ref) - finding.lag - _NEAR)
        if end - start < _FEWEST:
            return finding
        bands = self._errors(start, end, finding.lag, _NEAR)
        means = ([each / (end - start) for each in _sum(band)] for band in bands)
        lag = self._lag(*_parted(*means), end - start)
        more = round(lag) if abs(lag) >= _APART else 0
        if not more or finding.lag + more == 0:
            return finding
        return finding.changed(lag=finding.lag + more)

    def _errors(self, start: int, end: int, lag: int, reach: int) -> list[list[Row]]:
        """The errors of a stretch of frames at lags around this one, in their detail and in coarse cells."""
        return [
            error_rows(dis[start:end], ref[start + lag - reach : end + lag + reach], 2 * reach + 1)
            for ref, dis in ((self._ref, self._dis), self._coarse)
        ]

    def _lag(self, fine: Row, rough: Row, frames: int) -> float:
        """The lag of a stretch by its errors in detail and in coarse cells; 0 if it can't be told."""
        detail, smooth = Vertex.of(fine), Vertex.of(rough)
        if smooth.sharpness >= max(_SHARP_SMOOTH, _MOSTLY_SMOOTH * detail.sharpness):
            return smooth.lag
        ahead = _SHARP_AHEAD if frames < _LONG else _SHARP_LONG
        least = ahead if detail.lag > 0 else _SHARP_BEHIND
        if detail.lag <= -_APART and least <= detail.sharpness < _SHARP_STRAIGHT:
            least = _SHARP_STRAIGHT if goes_straight([*map(np.asarray, self._ref[-2 * WINDOW :])]) else least
        return detail.lag if detail.sharpness >= least else 0.0


def _sum(rows: Sequence[Row]) -> Row:
    """The sum of rows, from first to last."""
    total = rows[0]
    for row in rows[1:]:
        total = [*map(add, total, row)]
    return total


def _parted(whole: Row, smooth: Row) -> tuple[Row, Row]:
    """The errors in detail, which are what is left without those in coarse cells, and these."""
    return [max(both - part, 0.0) for both, part in zip(whole, smooth, strict=True)], smooth

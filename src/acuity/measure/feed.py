"""Feeds a measurement from a stream of pairs, and reports progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from acuity.errors import NotReady, ScoreError
from acuity.measure.boundary import BoundarySnapshot
from acuity.measure.measurement import Measurement
from acuity.measure.pictures import PictureLike

# Called after each frame and at the end with the pairs done, the number of all pairs if known, and the mean
# score so far if there is one.
ProgressCallback = Callable[[int, int | None, float | None], None]
# Waits at most that many seconds; returns whether the next pair or the end has come.
ReadyCallback = Callable[[float], bool]

_LOOK: Final = 0.05  # seconds between two checks for commands while waiting for the next pair


def feed(
    measurement: Measurement,
    pairs: Iterable[tuple[PictureLike, PictureLike]],
    *,
    total: int | None = None,
    progress: ProgressCallback | None = None,
    running_mean: bool = True,
    every: float = 0.0,
) -> bool:
    """Feed every pair until the end, the frame to stop after, or stop(); then flush.

    Returns whether the pairs came to their end. If they raise, those who watch the measurement are told why.

    While the measurement is paused nothing is fed. If the source has a method `ready(seconds)`, as a Pairing
    has, feed() waits for it in short intervals, carries out commands in between, and stop() ends the feeding
    even if the source stalls. Otherwise feed() waits in the source's own next().

    For the running mean each frame is predicted by itself on the feeding thread: about a tenth of a
    millisecond for a model, twenty times that for a bootstrap collection. Without it all frames are predicted
    at once. With `every`, progress is reported at most once in that many seconds, and the frames since the
    last report are predicted together, which takes a tenth of the time.
    """
    reporter = None
    if progress is not None:
        reporter = _ProgressReporter(measurement, total, progress, running_mean=running_mean, every=every)
        measurement.boundary.on_frame(reporter)
    try:
        ended = _feed_all(measurement, pairs)
    except BaseException as error:
        measurement.fail(error)
        raise
    measurement.flush()
    if reporter is not None:
        reporter.now(measurement.snapshot())
    return ended


def _feed_all(measurement: Measurement, pairs: Iterable[tuple[PictureLike, PictureLike]]) -> bool:
    """Feed pairs until the measurement takes no more or they end; returns whether they ended."""
    measurement.wait_while_paused()
    ready: ReadyCallback | None = getattr(pairs, "ready", None)
    iterator = iter(pairs)
    while _arrived(measurement, ready):
        pair = next(iterator, None)
        if pair is None:
            return True
        if measurement.add(*pair) is None:
            return False
        del pair  # it is large, and the wait for the next may be long
        measurement.wait_while_paused()
    return False


def _arrived(measurement: Measurement, ready: ReadyCallback | None) -> bool:
    """Whether to take the next pair: it is ready, and the measurement isn't finished."""
    while not measurement.finished:
        if ready is None or ready(_LOOK):
            return True
        measurement.boundary.on_idle.tell()
        measurement.wait_while_paused()
    return False


class _ProgressReporter:
    """Listens at the frame boundary, and reports progress to a callback."""

    def __init__(
        self,
        measurement: Measurement,
        total: int | None,
        callback: ProgressCallback,
        *,
        running_mean: bool,
        every: float,
    ) -> None:
        self._measurement = measurement
        self._total = total
        self._callback = callback
        self._running_mean = running_mean and bool(measurement.models)
        self._every = every
        self._when = 0.0  # the time of the next report
        self._restart()

    def __call__(self, snapshot: BoundarySnapshot) -> None:
        if self._every:
            now = time.monotonic()
            if now < self._when:
                return
            self._when = now + self._every
        self.now(snapshot)

    def now(self, snapshot: BoundarySnapshot) -> None:
        """Report progress now, whether it is due or not."""
        if self._running_mean:
            if self._every:
                self._measurement.predict_known()
            self._add_known_scores(snapshot.frames_done)
        mean = self._sum / self._count if self._count else None
        self._callback(snapshot.frames_done, self._end(), mean)

    def _end(self) -> int | None:
        """The number of pairs that will be fed, if known."""
        last = self._measurement.last_frame
        if last is None:
            return self._total
        return last + 1 if self._total is None else min(last + 1, self._total)

    def _restart(self) -> None:
        self._repredictions = self._measurement.repredictions
        self._sum = 0.0
        self._count = 0
        self._frame = 0  # the next to be added

    def _add_known_scores(self, done: int) -> None:
        if self._repredictions != self._measurement.repredictions:
            self._restart()
        while (frame := self._measurement.next_counted(self._frame)) < done:
            try:
                self._sum += self._measurement.score_at(frame)
                self._count += 1
            except NotReady:
                return
            except ScoreError:
                if not self._measurement.models[0].selective:
                    raise
            self._frame = frame + 1

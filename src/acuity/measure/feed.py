"""Feeding a measurement from a stream of pairs, with progress on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from acuity.errors import NotReady
from acuity.measure.boundary import BoundarySnapshot
from acuity.measure.measurement import Measurement
from acuity.measure.pictures import PictureLike

# Told after each frame and at the end: pairs done, how many there are in all if known, and the mean score of
# the frames known so far if there is one.
ProgressCallback = Callable[[int, int | None, float | None], None]
# Whether the next pair is there, or none will be; waits for it at most so many seconds.
ReadyCallback = Callable[[float], bool]

_LOOK: Final = 0.05  # seconds between looks at whether there are commands, while the next pair isn't there


def feed(
    measurement: Measurement,
    pairs: Iterable[tuple[PictureLike, PictureLike]],
    *,
    total: int | None = None,
    progress: ProgressCallback | None = None,
    running_mean: bool = True,
    every: float = 0.0,
) -> None:
    """Feed every pair, or those until the frame to stop after or until stop(), then flush.

    While the measurement is paused nothing is fed. A source that can say whether it is `ready(seconds)`, as a
    Pairing can, is waited for in short turns: meanwhile commands are carried out, and stop() ends the feeding
    even if the source stalls. Any other one is asked for its next pair and waited for.

    The running mean has each frame predicted by itself, on the feeding thread: about a tenth of a millisecond
    for a model, twenty times that for a bootstrap collection. Without it all frames are predicted at once.
    With `every`, progress is told at most once in so many seconds, and the frames since then are predicted
    together, which takes a tenth of the time.
    """
    tell = None
    if progress is not None:
        tell = _Teller(measurement, total, progress, running_mean=running_mean, every=every)
        measurement.boundary.on_frame(tell)
    measurement.wait_while_paused()
    ready: ReadyCallback | None = getattr(pairs, "ready", None)
    iterator = iter(pairs)
    while _arrived(measurement, ready) and (pair := next(iterator, None)) is not None:
        if measurement.add(*pair) is None:
            break
        del pair  # large, and this may wait long for the next
        measurement.wait_while_paused()
    measurement.flush()
    if tell is not None:
        tell.now(measurement.snapshot())


def _arrived(measurement: Measurement, ready: ReadyCallback | None) -> bool:
    """Whether to ask for the next pair: it is there, and it is wanted."""
    while not measurement.finished:
        if ready is None or ready(_LOOK):
            return True
        measurement.boundary.idle()
        measurement.wait_while_paused()
    return False


class _Teller:
    """Listens at the frame boundary, and tells a callback how far the work is."""

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
        self._when = 0.0  # to tell again
        self._restart()

    def __call__(self, snapshot: BoundarySnapshot) -> None:
        if self._every:
            now = time.monotonic()
            if now < self._when:
                return
            self._when = now + self._every
        self.now(snapshot)

    def now(self, snapshot: BoundarySnapshot) -> None:
        """Tell, whether it is time or not."""
        if self._running_mean:
            if self._every:
                self._measurement.predict_known()
            self._add_known_scores(snapshot.frames_done)
        mean = self._sum / self._count if self._count else None
        self._callback(snapshot.frames_done, self._end(), mean)

    def _end(self) -> int | None:
        """How many pairs there will be."""
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
            except NotReady:
                return
            self._count += 1
            self._frame = frame + 1

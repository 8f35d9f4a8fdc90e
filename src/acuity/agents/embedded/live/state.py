"""The state of a running measurement, as the server's thread reads it.

Nothing here waits for a frame boundary or makes the measuring thread wait. Scores are predicted when a client
asks for them, on the asking thread, and kept: the report at the end has that much less to do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity._native import Bridge
from acuity.agents.embedded.budget import Budget
from acuity.agents.embedded.steering.bridge import BoundaryListener
from acuity.agents.embedded.steering.commands import pause_documents, timestamp
from acuity.errors import NotReady, ScoreError
from acuity.measure import BoundarySnapshot, Measurement, Results
from acuity.measure.gate import Pause
from acuity.measure.plan import ExtractorSet
from acuity.scoring.watched import WatchedRun

if TYPE_CHECKING:
    from acuity.features.extractor import Extractor

Document: TypeAlias = dict[str, Any]
# Frames fed and done, re-predictions, whether it is over: changes when there may be something new to read.
Revision: TypeAlias = tuple[int, int, int, bool]

# Predicting one frame takes several times as long as all the rest of a status, and holds the lock that the
# measuring thread needs: a client that asks a thousand times a second gets a new score ten times.
MAX_AGE: Final = 0.1  # seconds

_LOOK_BACK: Final = 64  # counted frames: more than can be under way on most machines

# Seconds after the last frame boundary until the state is `waiting_for_input`.
_STALLED: Final = 1.0


class LiveState:
    """Reads one measurement. For the server's thread."""

    def __init__(
        self,
        measurement: Measurement,
        native: Bridge,
        listener: BoundaryListener,
        *,
        watched: WatchedRun | None = None,
        clock: Callable[[], float] = time.monotonic,
        max_age: float = MAX_AGE,
    ) -> None:
        """`watched` is what the host knows of the videos; the newest score may be `max_age` old."""
        self.measurement: Final = measurement
        self.watched: Final = watched or WatchedRun()
        self.budget: Final = Budget(lambda: self.moving)
        self._native, self._listener, self._clock, self._max_age = native, listener, clock, max_age
        self._latest: tuple[Revision, tuple[int, float] | None] | None = None
        self._looked = 0.0  # when, for the latest score
        self._results: tuple[Revision, Results] | None = None
        self._keys: tuple[list[Extractor], list[str]] = ([], [])

    @property
    def revision(self) -> Revision:
        """A value that stays the same as long as nothing happens."""
        at = self.measurement.snapshot()
        return at.frames_fed, at.frames_done, self.measurement.repredictions, self.over

    @property
    def over(self) -> bool:
        return self.measurement.over or self.measurement.failure is not None

    @property
    def moving(self) -> bool:
        return self.state in ("measuring", "finishing")

    @property
    def state(self) -> str:
        """What the measurement does: waiting, measuring, waiting_for_input, paused, finishing; or how it
        ended: over, failed, interrupted.
        """
        return self._state(self.measurement.snapshot(), paused=self.measurement.paused)[0]

    def _state(self, at: BoundarySnapshot, *, paused: bool) -> tuple[str, float | None]:
        """The state, and how many seconds it has waited for its next frame if it does."""
        measurement = self.measurement
        if (failure := measurement.failure) is not None:
            return failure.state, None
        if measurement.over:
            return "over", None
        if paused:
            return "paused", None
        if measurement.finished:
            return "finishing", None
        if at.frames_fed == at.frames_done:  # nothing that it could be working on
            waited = self._clock() - (self._native.status()[1] or self._listener.attached)
            if not at.frames_fed:
                return "waiting", round(max(waited, 0.0), 1)
            if waited >= _STALLED:
                return "waiting_for_input", round(waited, 1)
        return "measuring" if at.frames_fed else "waiting", None

    def status(self, newest: tuple[int, float] | None = None) -> Document:
        """The answer of vmaf.status; `newest` is a score that was just read, which saves looking for one."""
        measurement, native = self.measurement, self._native
        at, over = measurement.snapshot(), self.over
        fed, done = at.frames_fed, at.frames_done
        pauses, last_frame = measurement.gate.pauses, measurement.last_frame
        models, longest = measurement.models, _longest(pauses)
        state, waited = self._state(at, paused=bool(pauses))
        revision = fed, done, measurement.repredictions, over
        if newest is not None:
            self._latest, self._looked = (revision, newest), time.monotonic()
        frame, score = self._latest_at(revision, moving=state == "measuring") or (None, None)
        return {
            "state": state,
            "reason": self.reason,
            "reference": self.watched.reference,
            "distorted": self.watched.distorted,
            "model": models[0].label if models else None,
            "models": [{"name": model.name, "label": model.label} for model in models],
            "features": self._active(),
            "metrics": [
                {"name": metric.name, "column": key, "unit": metric.unit, "decimals": metric.decimals}
                for metric, key, _ in self.watched.metrics
            ],
            "frames_read": fed,
            "frames_scored": done,
            "frames_pending": fed - done,
            "frames_total": self._total(last_frame),
            "fps": self._fps(),
            "last_frame": frame,
            "last_score": score,
            "last_model": self._model_at(frame),
            "waiting_seconds": waited,
            "paused": bool(pauses),
            "paused_by": pause_documents(pauses),
            "paused_until": timestamp(longest.ends_at),
            "pause_seconds_left": self._seconds_until(longest.until),
            "subsample": measurement.subsample,
            "stop_after": last_frame,
            "queue": {
                "depth": native.depth,
                "waiting": native.waiting,
                "outstanding": native.outstanding,
                "refused": native.refused,
            },
        }

    @property
    def reason(self) -> str | None:
        """Why it ended before its input did, if it did."""
        failure = self.measurement.failure
        return None if failure is None else failure.reason

    def _model_at(self, frame: int | None) -> str | None:
        """The first model as it holds at this frame."""
        slots = self.measurement.agenda.slots
        return slots[0].holders.at(frame).model.label if slots and frame is not None else None

    def _latest_at(self, revision: Revision, *, moving: bool) -> tuple[int, float] | None:
        """The last frame that has a score of the first model, and that score; None before the first.

        While frames are fed it may be a few frames old.
        """
        known, now = self._latest, time.monotonic()
        if known is not None:
            # While nothing moves only the last one is new enough.
            fresh = moving and now < self._looked + self._max_age and known[1] is not None
            if fresh or known[0] == revision:
                return known[1]
        self._latest = revision, self._find_latest(revision[1])
        self._looked = now
        return self._latest[1]

    def features(self) -> list[Document]:
        """The extractors that are computed now, each with its options and the keys of what it gives."""
        return [
            {
                "name": extractor.name,
                "options": dict(extractor.settings),
                "keys": [*extractor.keys(late=False), *extractor.keys(late=True)],
            }
            for extractor in self.measurement.extractors
        ]

    def results(self) -> Results:
        """The results so far, and their pools; raises NoFramesError before the first frame."""
        revision = self.revision
        if self._results is None or self._results[0] != revision:
            self._results = revision, self.measurement.results(partial=True)
        return self._results[1]

    def _active(self) -> list[str]:
        """The keys of what is measured now."""
        extractors = self.measurement.extractors
        if self._keys[0] != extractors:
            self._keys = extractors, ExtractorSet(extractors).keys()
        return self._keys[1]

    def _total(self, last_frame: int | None) -> int | None:
        total = self.watched.total
        if last_frame is None:
            return total
        return last_frame + 1 if total is None else min(last_frame + 1, total)

    def _fps(self) -> float:
        """Frames in a second of measuring, pauses not counted; 0 before the first."""
        done, at = self._native.status()
        seconds = at - self._listener.began - self._listener.paused_for
        return round(done / seconds, 3) if seconds > 0 else 0.0

    def _seconds_until(self, end: float | None) -> float | None:
        return None if end is None else round(max(end - self.measurement.gate.clock(), 0.0), 1)

    def _find_latest(self, done: int) -> tuple[int, float] | None:
        measurement = self.measurement
        if not measurement.models:
            return None
        # Later frames are under way, or a thread was ahead of the others: looking for them costs more than
        # it gives.
        frame = measurement.last_counted(done - 1)
        for _ in range(_LOOK_BACK):
            if frame < 0:
                break
            try:
                return frame, measurement.score_at(frame)
            except (NotReady, ScoreError):
                frame = measurement.last_counted(frame - 1)
        return None


def _longest(pauses: tuple[Pause, ...]) -> Pause:
    """The pause that ends last by itself; one without an end if there is none, or one doesn't end."""
    return max(pauses, key=lambda pause: math.inf if pause.until is None else pause.until, default=Pause(""))

"""A running measurement, to be looked at from the thread that serves clients.

Nothing here waits for a frame boundary or makes the measuring thread wait. Scores are predicted when somebody
asks for them, on the asking thread, and kept: the report at the end has that much less to do.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.errors import NotReady
from acuity.measure.plan import ExtractorSet

if TYPE_CHECKING:
    from acuity._native import Bridge
    from acuity.features.extractor import Extractor
    from acuity.mcp.embedded.bridge import MeasuringSide
    from acuity.measure import Measurement, Results
    from acuity.measure.agenda import Agenda

Document: TypeAlias = dict[str, Any]
# Changes whenever there may be something new to read.
Version: TypeAlias = tuple[int, int, int, bool]

# Predicting one frame takes as long as all the rest of a status, and holds the lock that the measuring thread
# needs: somebody who asks a thousand times a second gets a new score ten times.
_FRESH: Final = 0.1  # seconds

_LOOK_BACK: Final = 64  # counted frames: more than can be under way on most machines


class Live:
    """Read-only views of a measurement. For the server's thread."""

    def __init__(
        self, measurement: Measurement, native: Bridge, side: MeasuringSide, *, total: int | None = None
    ) -> None:
        """`total` is how many frames there will be, where the host knows."""
        self.measurement: Final = measurement
        self.total: Final = total
        self._native = native
        self._side = side
        self._latest: tuple[Version, tuple[int, float] | None] | None = None
        self._looked = 0.0  # when, for the latest score
        self._status: tuple[Agenda, tuple[object, ...], Document] | None = None
        self._results: tuple[Version, Results] | None = None
        self._keys: tuple[list[Extractor], list[str]] = ([], [])

    @property
    def version(self) -> Version:
        """Frames fed and done, re-predictions, and whether it is over: the same while nothing happens."""
        at = self.measurement.snapshot()
        return at.frames_fed, at.frames_done, self.measurement.repredictions, self.measurement.over

    @property
    def over(self) -> bool:
        """Whether no more frames come."""
        return self.measurement.over

    def status(self) -> Document:
        """Where the measurement stands, in a few microseconds: the same document while nothing changes."""
        measurement, native = self.measurement, self._native
        at = measurement.snapshot()
        agenda = measurement.agenda  # never changes: after a command it is another one
        queue = (native.waiting, native.outstanding, native.refused)
        key = (at, queue, self.latest(), measurement.paused, measurement.over, measurement.last_frame)
        known = self._status
        if known is None or known[0] is not agenda or known[1] != key:
            known = self._status = agenda, key, self._describe(at.frames_fed, at.frames_done)
        return known[2]

    def _describe(self, fed: int, done: int) -> Document:
        measurement, native = self.measurement, self._native
        models = measurement.models
        latest = self.latest()
        last_frame = measurement.last_frame
        return {
            "state": self._state(fed),
            "model": models[0].label if models else None,
            "models": [{"name": model.name, "label": model.label} for model in models],
            "features": self._active(),
            "frames_read": fed,
            "frames_scored": done,
            "frames_pending": fed - done,
            "frames_total": self._total(last_frame),
            "fps": self._fps(),
            "last_frame": latest[0] if latest else None,
            "last_score": latest[1] if latest else None,
            "paused": measurement.paused,
            "subsample": measurement.subsample,
            "stop_after": last_frame,
            "queue": {
                "depth": native.depth,
                "waiting": native.waiting,
                "outstanding": native.outstanding,
                "refused": native.refused,
            },
        }

    def latest(self) -> tuple[int, float] | None:
        """The last frame that has a score of the first model, and that score; None before the first.

        While frames are fed it may be a few frames old.
        """
        version, now = self.version, time.monotonic()
        known = self._latest
        if known is not None and (known[0] == version or (self._is_fresh(now) and known[1] is not None)):
            return known[1]
        self._latest = version, self._find_latest(version[0])
        self._looked = now
        return self._latest[1]

    def _is_fresh(self, now: float) -> bool:
        """Whether the latest score is new enough; while nothing moves, only the last one is."""
        return now < self._looked + _FRESH and not self.measurement.paused and not self.measurement.over

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
        """Everything known so far, pools over what is there; raises NoFramesError before the first frame."""
        version = self.version
        if self._results is None or self._results[0] != version:
            self._results = version, self.measurement.results(partial=True)
        return self._results[1]

    def _active(self) -> list[str]:
        """The keys of what is measured now."""
        extractors = self.measurement.extractors
        if self._keys[0] != extractors:
            self._keys = extractors, ExtractorSet(extractors).keys()
        return self._keys[1]

    def _state(self, fed: int) -> str:
        measurement = self.measurement
        if measurement.over:
            return "over"
        if measurement.paused:
            return "paused"
        if measurement.finished:
            return "finishing"
        return "measuring" if fed else "waiting"

    def _total(self, last_frame: int | None) -> int | None:
        if last_frame is None:
            return self.total
        return last_frame + 1 if self.total is None else min(last_frame + 1, self.total)

    def _fps(self) -> float:
        """Frames in a second of measuring, pauses not counted; 0 before the first."""
        _, done, _, _, _, at = self._native.status()
        seconds = at - self._side.began - self._side.paused_for
        return round(done / seconds, 3) if seconds > 0 else 0.0

    def _find_latest(self, fed: int) -> tuple[int, float] | None:
        measurement = self.measurement
        if not measurement.models:
            return None
        frame = measurement.last_counted(fed - 1)
        for _ in range(_LOOK_BACK):
            if frame < 0:
                break
            try:
                return frame, measurement.score_at(frame)
            except NotReady:
                frame = measurement.last_counted(frame - 1)
        return None

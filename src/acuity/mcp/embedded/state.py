"""A running measurement, to be looked at from the thread that serves clients.

Nothing here waits for a frame boundary or makes the measuring thread wait. Scores are predicted when somebody
asks for them, on the asking thread, and kept: the report at the end has that much less to do.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from acuity.errors import NotReady
from acuity.mcp.embedded.budget import Budget
from acuity.mcp.embedded.parted import Parted
from acuity.measure.plan import ExtractorSet

if TYPE_CHECKING:
    from acuity._native import Bridge
    from acuity.features.extractor import Extractor
    from acuity.mcp.embedded.bridge import MeasuringSide
    from acuity.measure import Measurement, Results
    from acuity.measure.agenda import Agenda
    from acuity.measure.epochs import Epochs

Document: TypeAlias = dict[str, Any]
# Changes whenever there may be something new to read.
Version: TypeAlias = tuple[int, int, int, bool]

# Predicting one frame takes several times as long as all the rest of a status, and holds the lock that the
# measuring thread needs: somebody who asks a thousand times a second gets a new score ten times.
_FRESH: Final = 0.1  # seconds

_LOOK_BACK: Final = 64  # counted frames: more than can be under way on most machines

# What the constant part of a status is made of, beside the agenda: the state, whether it is paused, the frame
# to stop after, and the queue's numbers.
_Key: TypeAlias = tuple[str, bool, int | None, tuple[int, int, int]]


class _Constant(NamedTuple):
    agenda: Agenda
    key: _Key
    stop: int  # the frame at which the agenda says that something in the document changes
    document: Document


class Live:
    """Read-only views of a measurement. For the server's thread."""

    def __init__(
        self, measurement: Measurement, native: Bridge, side: MeasuringSide, *, total: int | None = None
    ) -> None:
        """`total` is how many frames there will be, where the host knows."""
        self.measurement: Final = measurement
        self.total: Final = total
        self.budget: Final = Budget(lambda: self.moving)
        self._native = native
        self._side = side
        self._latest: tuple[Version, tuple[int, float] | None] | None = None
        self._looked = 0.0  # when, for the latest score
        self._constant: _Constant | None = None
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

    @property
    def moving(self) -> bool:
        """Whether frames are measured now."""
        measurement = self.measurement
        return bool(measurement.frames) and not (measurement.paused or measurement.over)

    def status(self) -> Document:
        """Where the measurement stands."""
        return self.parted_status().whole()

    def parted_status(self) -> Parted:
        """The same in two parts, in a few microseconds: whatever is asked for here is asked for once."""
        measurement, native = self.measurement, self._native
        at, over = measurement.snapshot(), measurement.over
        fed, done = at.frames_fed, at.frames_done
        agenda = measurement.agenda  # never changes: after a command it is another one
        paused, last_frame = measurement.paused, measurement.last_frame
        latest = self._latest_at((fed, done, agenda.claims, over), moving=not (paused or over))
        queue = native.waiting, native.outstanding, native.refused
        key = (_state(fed, last_frame, paused=paused, over=over), paused, last_frame, queue)
        known = self._constant
        if known is None or known.agenda is not agenda or known.key != key or fed >= known.stop:
            known = self._constant = _Constant(agenda, key, _changes(agenda, fed), self._describe(key))
        varying = {
            "frames_read": fed,
            "frames_scored": done,
            "frames_pending": fed - done,
            "fps": self._fps(),
            "last_frame": latest[0] if latest else None,
            "last_score": latest[1] if latest else None,
        }
        return Parted(known.document, varying)

    def _describe(self, key: _Key) -> Document:
        measurement = self.measurement
        state, paused, last_frame, (waiting, outstanding, refused) = key
        models = measurement.models
        return {
            "state": state,
            "model": models[0].label if models else None,
            "models": [{"name": model.name, "label": model.label} for model in models],
            "features": self._active(),
            "frames_read": 0,
            "frames_scored": 0,
            "frames_pending": 0,
            "frames_total": self._total(last_frame),
            "fps": 0.0,
            "last_frame": None,
            "last_score": None,
            "paused": paused,
            "subsample": measurement.subsample,
            "stop_after": last_frame,
            "queue": {
                "depth": self._native.depth,
                "waiting": waiting,
                "outstanding": outstanding,
                "refused": refused,
            },
        }

    def latest(self) -> tuple[int, float] | None:
        """The last frame that has a score of the first model, and that score; None before the first.

        While frames are fed it may be a few frames old.
        """
        moving = not (self.measurement.paused or self.measurement.over)
        return self._latest_at(self.version, moving=moving)

    def _latest_at(self, version: Version, *, moving: bool) -> tuple[int, float] | None:
        known, now = self._latest, time.monotonic()
        if known is not None:
            # While nothing moves only the last one is new enough.
            fresh = moving and now < self._looked + _FRESH and known[1] is not None
            if fresh or known[0] == version:
                return known[1]
        self._latest = version, self._find_latest(version[1])
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

    def _total(self, last_frame: int | None) -> int | None:
        if last_frame is None:
            return self.total
        return last_frame + 1 if self.total is None else min(last_frame + 1, self.total)

    def _fps(self) -> float:
        """Frames in a second of measuring, pauses not counted; 0 before the first."""
        done, at = self._native.status()
        seconds = at - self._side.began - self._side.paused_for
        return round(done / seconds, 3) if seconds > 0 else 0.0

    def _find_latest(self, done: int) -> tuple[int, float] | None:
        measurement = self.measurement
        if not measurement.models:
            return None
        # Later ones are under way, or a thread was faster than the others: to look for those takes longer
        # than it is worth.
        frame = measurement.last_counted(done - 1)
        for _ in range(_LOOK_BACK):
            if frame < 0:
                break
            try:
                return frame, measurement.score_at(frame)
            except NotReady:
                frame = measurement.last_counted(frame - 1)
        return None


def _changes(agenda: Agenda, fed: int) -> int:
    """The next number of frames fed at which another model holds, or others are measured or counted."""
    epochs: list[Epochs[Any]] = [agenda.plans, agenda.steps, *(slot.holders for slot in agenda.slots)]
    return min(stop for each in epochs for _, stop, _ in each.spans(fed, fed + 1))


def _state(fed: int, last_frame: int | None, *, paused: bool, over: bool) -> str:
    if over:
        return "over"
    if paused:
        return "paused"
    if last_frame is not None and fed > last_frame:
        return "finishing"
    return "measuring" if fed else "waiting"

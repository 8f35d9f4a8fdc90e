"""Readings: what any thread may read of a measurement, at any time."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acuity.devices import device_for
from acuity.errors import ClosedError, NoFramesError
from acuity.measure.agenda import Agenda
from acuity.measure.collector import Collector
from acuity.measure.epochs import Sampling, last_counted, next_counted
from acuity.measure.gate import Gate
from acuity.measure.pictures import Intake
from acuity.measure.pooling import Bound, Method
from acuity.measure.results import Results
from acuity.measure.segments import Segment
from acuity.measure.snapshot import Snapshot
from acuity.measure.worker import FrameScheduler

if TYPE_CHECKING:
    from acuity.devices import Device
    from acuity.features.extractor import Extractor, Geometry
    from acuity.measure.checkpoint import Checkpoint
    from acuity.models.inputs import AnyModel


class Readings:
    """The state of a measurement, and the methods that only read it."""

    def __init__(self, devices: Sequence[Device], steps: Sampling) -> None:
        self.gate = Gate()
        self._devices = tuple(devices)
        self._collector = Collector()
        self._agenda = Agenda(steps)
        self._intake = Intake(self._devices)
        self._process = os.getpid()
        self._scheduler: FrameScheduler | None = None
        self._frames = 0
        self._known: Checkpoint | None = None  # the first frames, whose figures were restored
        self._state = "open"
        self._started = self._stopped = math.nan

    @property
    def _forked(self) -> bool:
        return os.getpid() != self._process

    def _check_process(self) -> None:
        if self._forked:
            raise ClosedError(
                "the measurement belongs to the process that made it, and this one was forked from that: "
                "make a new one here"
            )

    @property
    def readings(self) -> list[str]:
        """How extractors read the colours of the pictures: a sentence for each whose figures depend on it."""
        geometry = self._intake.geometry
        said = [] if geometry is None else [entry.reading(geometry) for entry in self._agenda.measured]
        return [text for text in said if text is not None]

    @property
    def restored(self) -> int:
        """The number of frames whose figures were restored."""
        return 0 if self._known is None else self._known.frames

    @property
    def paused(self) -> bool:
        """Whether a pause is in effect; gate.pauses names the owners."""
        return bool(self.gate.pauses)

    @property
    def last_frame(self) -> int | None:
        """The frame to stop after, if one was named; after stop() the last frame fed."""
        return self._frames - 1 if self.gate.stopped and not self.gate.interrupted else self.gate.last

    @property
    def finished(self) -> bool:
        """Whether no more frames are taken: after stop(), or when the frame to stop after was fed."""
        return self.gate.is_last(self._frames)

    @property
    def frames(self) -> int:
        """The number of pairs fed."""
        return self._frames

    @property
    def subsample(self) -> int:
        """The sampling step from the next frame on: one frame in so many is counted."""
        return self._agenda.steps.at(self._frames)

    @property
    def over(self) -> bool:
        """Whether it was flushed or closed, so that no more frames come."""
        return self._state != "open"

    @property
    def features(self) -> list[str]:
        """The keys of all features that are or were measured, in report order."""
        return self._agenda.measured.keys()

    @property
    def extractors(self) -> list[Extractor]:
        """The extractors of the next frame; at the end, those of the last frame."""
        if self._scheduler is None:
            return list(self._agenda.measured)
        return list(self._agenda.plans.at(max(self._frames - self.over, 0)))

    @property
    def backend(self) -> str:
        """The name of the preferred device."""
        return self._devices[0].name

    @property
    def card(self) -> str | None:
        """The name of the card that computes, if one does."""
        found: str | None = self._devices[0].describe().get("card")
        return found

    @property
    def instruction_set(self) -> str:
        """The instruction set of the CPU device."""
        return str(self._devices[-1].describe().get("instruction_set", ""))

    @property
    def computed_by(self) -> dict[str, str]:
        """The name of the device that computes each extractor that is or was measured."""
        measured = self._agenda.measured
        pictures = self._intake.geometry
        return {entry.identity: device_for(self._devices, type(entry), pictures).name for entry in measured}

    @property
    def uses_chroma(self) -> bool:
        """Whether a model or feature reads chroma planes."""
        return self._agenda.measured.uses_chroma

    @property
    def models(self) -> list[AnyModel]:
        """The models of the next frame; at the end, those of the last frame."""
        index = max(self._frames - self.over, 0)
        return [slot.holders.at(index).model for slot in self._agenda.slots]

    @property
    def geometry(self) -> Geometry | None:
        """The size and depth of the pictures; None before the first."""
        return self._intake.geometry

    @property
    def segments(self) -> list[Segment]:
        """Which model scores which of the frames fed so far."""
        return self._snapshot().segments()

    @property
    def agenda(self) -> Agenda:
        """The models, features and plans of every frame; a steering command replaces it."""
        return self._agenda

    @property
    def repredictions(self) -> int:
        """How often frames that clients may have read were assigned to another model."""
        return self._agenda.claims

    def next_counted(self, index: int) -> int:
        """The first frame from `index` on that subsampling counts."""
        return next_counted(self._agenda.steps, index)

    def last_counted(self, index: int) -> int:
        """The last frame up to `index` that subsampling counts; -1 if there is none."""
        return last_counted(self._agenda.steps, index)

    def score_at(self, index: int, name: str | None = None) -> float:
        """A frame's score, of the first model unless named; NotReady until its features exist."""
        return self._snapshot().score_at(index, name)

    def feature_at(self, index: int, key: str) -> float:
        """A frame's figure by its key; NotReady until it exists."""
        return self._snapshot().feature_at(index, key)

    def predict_known(self, first: int = 0) -> None:
        """Predict all frames from `first` on whose features are known; score_at() then only looks them up."""
        self._snapshot().predict(first)

    def _snapshot(self) -> Snapshot:
        self._check_process()
        frames = self._frames  # before the agenda, which Snapshot relies on
        return Snapshot(frames, self._agenda, self._collector, over=self.over)

    def pool(
        self, name: str | None = None, method: Method = "mean", first: Bound = None, last: Bound = None
    ) -> float:
        """One figure for many frames: see Results.pool()."""
        return self.results().pool(name, method, first, last)

    def results(self, *, partial: bool = False) -> Results:
        """All figures known so far; complete after flush(). With `partial`, incomplete columns pool too."""
        reading = self._snapshot()
        if self._scheduler is None or self._intake.geometry is None:
            if self.gate.stopped:
                raise NoFramesError("the measurement was stopped before its first frame: it has no results")
            raise NoFramesError("no frame was measured, so there are no results")
        end = time.monotonic() if math.isnan(self._stopped) else self._stopped
        return reading.results(
            self._intake.geometry,
            (reading.frames - self.restored) / max(end - self._started, 1e-9),
            partial=partial,
            stopped_after=self.last_frame if self.finished and not self.gate.interrupted else None,
        )

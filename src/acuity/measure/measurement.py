"""Measurement: feed pairs of pictures, get figures. The object a host embeds."""

from __future__ import annotations

import math
import os
import time
import weakref
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from acuity.errors import ClosedError, FeatureError, InputError, NoFramesError, NotReady, PairingError
from acuity.features import get_extractor, parse_feature
from acuity.features.extractor import Frame, Geometry
from acuity.features.options import OptionValue
from acuity.measure.boundary import BoundarySnapshot, FrameBoundary
from acuity.measure.collector import Collector
from acuity.measure.pictures import PictureLike, as_picture, geometry_of
from acuity.measure.plan import ExtractorSet, worker_factory
from acuity.measure.pooling import Method
from acuity.measure.prediction import Prediction
from acuity.measure.results import Results
from acuity.measure.scheduler import Scheduler
from acuity.video.picture import Picture

if TYPE_CHECKING:
    from acuity.models import Model, ModelCollection


# Each has pictures and scratch memory of its own; more than this is a typing error.
MAX_THREADS: Final = 1024


def available_threads() -> int:
    """How many threads this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Measurement:
    """Models and features over pairs of pictures, computed on several threads.

    Add models and features, then pictures; ask for figures of a frame as soon as they are known, flush, and
    take the results. The output does not depend on the number of threads. All methods are for one feeding
    thread, except score_at() and feature_at(), which any thread may call.
    """

    def __init__(
        self, threads: int | None = None, subsample: int = 1, instruction_set: str | None = None
    ) -> None:
        from acuity import _native

        if subsample < 1:
            raise InputError(f"subsample {subsample} must be at least 1: every Nth frame is measured")
        if threads is not None and not 0 <= threads <= MAX_THREADS:
            raise InputError(f"threads {threads} must be 1 to {MAX_THREADS}, or 0 for all there are")
        self.threads = threads or available_threads()
        self.subsample = subsample
        self.instruction_set = _native.select_instruction_set(instruction_set or "")
        self.boundary = FrameBoundary()
        self._extractors = ExtractorSet()
        self._predictions: list[Prediction] = []
        self._outputs: dict[str, Prediction] = {}  # the prediction behind each score column
        self._collector = Collector()
        self._scheduler: Scheduler[Frame] | None = None
        self._geometry: Geometry | None = None
        self._before: deque[Picture] = deque(maxlen=0)  # earlier references, the nearest first
        self._frames = 0
        self._every_frame = False  # whether frames that subsampling leaves out need work too
        self._unscheduled = 0  # frames that needed no work
        self._state = "open"
        self._started = self._stopped = math.nan

    # ---- what to measure --------------------------------------------------------------------

    def add_model(self, model: Model | ModelCollection | str) -> Model | ModelCollection:
        """Add a model, by itself or by name, with the features it needs."""
        self._check_unstarted("a model")
        if isinstance(model, str):
            from acuity.models import load_model

            model = load_model(model)
        taken = [name for name in model.output_names() if name in self._outputs]
        if taken:
            raise FeatureError(
                f"two models would both be reported as '{taken[0]}': tell them apart by adding :name=LABEL "
                f"to '{model.label}'"
            )
        for name, options in model.extractors():
            try:
                extractor = get_extractor(name)(options)
            except FeatureError as error:
                raise FeatureError(f"the model '{model.label}' cannot be measured: {error}") from None
            self._extractors.add(extractor)
        prediction = Prediction(model, self._collector)
        self._predictions.append(prediction)
        self._outputs.update(dict.fromkeys(prediction.outputs, prediction))
        return model

    def add_feature(self, name: str, options: Mapping[str, OptionValue] | None = None) -> None:
        """Add an extractor: add_feature('vif', {'debug': True}) or add_feature('vif=debug=true')."""
        self._check_unstarted("a feature")
        extractor, written = parse_feature(name)
        self._extractors.add(get_extractor(extractor)({**written, **(options or {})}))

    def _check_unstarted(self, what: str) -> None:
        self._check_open()
        if self._frames:
            raise ClosedError(f"{what} must be added before the first frame")

    # ---- feeding ----------------------------------------------------------------------------

    def add(self, ref: PictureLike, dis: PictureLike, *, bitdepth: int | None = None) -> int:
        """Feed the next pair and get its frame number; waits while too many frames are under way.

        Pictures are borrowed until their figures and those of the next two frames are there; arrays (luma, or
        a tuple of planes) are copied. Arrays of uint16 need a bitdepth.
        """
        self._check_open()
        frame = self._frame(as_picture(ref, bitdepth), as_picture(dis, bitdepth))
        scheduler = self._scheduler or self._start()
        if self._every_frame or self._is_counted(frame.index):
            scheduler.submit(frame)
        else:
            self._unscheduled += 1
        self._before.appendleft(frame.ref)
        self._frames += 1
        if self.boundary:
            self.boundary.notify(self.snapshot())
        return frame.index

    def snapshot(self) -> BoundarySnapshot:
        """Where the measurement stands."""
        done = self._unscheduled + (self._scheduler.done if self._scheduler else 0)
        return BoundarySnapshot(self._frames, done, self._frames - 1)

    def _frame(self, ref: Picture, dis: Picture) -> Frame:
        ours, theirs = geometry_of(ref), geometry_of(dis)
        if ours != theirs:
            raise PairingError(
                f"the reference is {_describe(ours)} and the distorted picture {_describe(theirs)}"
            )
        if self._geometry is None:
            self._geometry = ours
        elif ours != self._geometry:
            raise InputError(
                f"frame {self._frames} is {_describe(ours)}, but the video was {_describe(self._geometry)}"
            )
        return Frame(self._frames, ref, dis, tuple(self._before))

    def _start(self) -> Scheduler[Frame]:
        if not self._extractors:
            raise FeatureError("there is nothing to measure: add a model or a feature first")
        assert self._geometry is not None
        groups = self._extractors.prepare(self._collector, self._geometry)
        for prediction in self._predictions:
            self._collector.declare(prediction.outputs)
        self._before = deque(maxlen=self._extractors.lookback)
        self._every_frame = any(group.every_frame for group in groups)
        self._started = time.monotonic()
        self._scheduler = Scheduler(
            self.threads,
            worker_factory(
                groups,
                self._geometry,
                self._collector,
                subsample=self.subsample,
                instruction_set=self.instruction_set,
            ),
        )
        # Joins the threads also when the measurement is forgotten or the interpreter ends.
        weakref.finalize(self, self._scheduler.close)
        return self._scheduler

    def flush(self) -> None:
        """No more frames come: wait for those under way and write the last figures."""
        self._check_open()
        if self._scheduler is not None:
            self._scheduler.drain()
            self._collector.finish()
        self._state = "flushed"
        self._stopped = time.monotonic()
        self._before.clear()
        self._stop()

    def close(self) -> None:
        """Stop and join the threads; figures that are known stay readable. May be called again."""
        if self._state == "open":
            self._state = "closed"
            self._stopped = time.monotonic()
        self._before.clear()
        self._stop()

    def _stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.close()

    def _check_open(self) -> None:
        if self._state != "open":
            raise ClosedError(
                f"the measurement was {self._state}, so it takes no more frames: make a new one"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- figures ----------------------------------------------------------------------------

    @property
    def frames(self) -> int:
        """How many pairs were fed."""
        return self._frames

    @property
    def needs_chroma(self) -> bool:
        """Whether pictures must have chroma planes for what was added."""
        return self._extractors.needs_chroma

    @property
    def models(self) -> list[Model | ModelCollection]:
        return [prediction.model for prediction in self._predictions]

    def score_at(self, index: int, name: str | None = None) -> float:
        """A frame's score, of the first model unless named; NotReady until its features exist."""
        if name is None:
            if not self._outputs:
                raise FeatureError(
                    "no model was added, so there are no scores: ask feature_at() for features"
                )
            name = next(iter(self._outputs))
        if name not in self._outputs:
            raise FeatureError(
                f"no model is reported as '{name}': there are {', '.join(self._outputs) or 'none'}"
            )
        score = self._outputs[name].at(index, name) if self._scheduler and self._is_counted(index) else None
        return self._answer(score, index, name)

    def feature_at(self, index: int, key: str) -> float:
        """A frame's figure by its key; NotReady until it exists."""
        if key in self._outputs:
            return self.score_at(index, key)
        known = self._extractors.all_keys()
        if key not in known:
            raise FeatureError(f"nothing named '{key}' is measured: there are {', '.join(known) or 'none'}")
        value = self._collector.get(key, index) if self._scheduler else None
        return self._answer(value, index, key)

    def predict_known(self) -> None:
        """Predict every frame whose features are known at once; score_at() then only looks them up."""
        if self._scheduler is not None:
            for prediction in self._predictions:
                prediction.fill(self._frames, self.subsample)

    def _is_counted(self, index: int) -> bool:
        return index >= 0 and index % self.subsample == 0

    def _answer(self, value: float | None, index: int, name: str) -> float:
        if value is not None:
            return value
        if 0 <= index < self._frames and index % self.subsample:
            raise NotReady(f"frame {index} has no {name}, because one frame in {self.subsample} is measured")
        if self._state != "open":
            raise NotReady(f"frame {index} has no {name}: {self._frames} frames were measured")
        raise NotReady(f"frame {index} has no {name} yet: feed more frames or flush")

    def pool(
        self,
        name: str | None = None,
        method: Method = "mean",
        first: int | None = None,
        last: int | None = None,
    ) -> float:
        """One figure for many frames: see Results.pool()."""
        return self.results().pool(name, method, first, last)

    def results(self) -> Results:
        """Everything known so far; all of it after flush()."""
        if self._scheduler is None or self._geometry is None:
            raise NoFramesError("no frame was measured, so there are no results")
        self.predict_known()
        keys = self._collector.keys
        values, _ = self._collector.table(keys, self._frames)
        end = time.monotonic() if math.isnan(self._stopped) else self._stopped
        return Results(
            frames=list(range(0, self._frames, self.subsample)),
            columns={key: np.ascontiguousarray(values[:: self.subsample, i]) for i, key in enumerate(keys)},
            models=list(self._outputs),
            model_labels={name: prediction.model.label for name, prediction in self._outputs.items()},
            width=self._geometry.width,
            height=self._geometry.height,
            fps=self._frames / max(end - self._started, 1e-9),
        )


def _describe(geometry: Geometry) -> str:
    return f"{geometry.width}x{geometry.height} at {geometry.depth} bits"

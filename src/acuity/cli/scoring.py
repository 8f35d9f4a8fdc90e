"""Scoring a pair as both commands do it: open, pair, measure, with progress on the way."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from acuity.cli.inputs import RawGeometry, geometries, open_input
from acuity.cli.progress import Progress, Quiet
from acuity.errors import NotReady, OutputError

if TYPE_CHECKING:
    from acuity.measure import BoundarySnapshot, Measurement, Results
    from acuity.models import Model, ModelCollection
    from acuity.video.pair_options import PairOptions
    from acuity.video.pairing import Pairing

AnyModel: TypeAlias = "Model | ModelCollection"
AUTO: Final = "auto"


@dataclass(slots=True)
class Request:
    """What to score, and how."""

    reference: str
    distorted: str
    models: Sequence[str] = (AUTO,)
    features: Sequence[str] = ()
    predict: bool = True  # False: only extract the models' features
    geometry: RawGeometry = field(default_factory=RawGeometry)
    guess: bool = False  # may the names of raw files give what the geometry leaves open?
    rate: Fraction | None = None  # of raw files
    pairing: PairOptions | None = None
    threads: int | None = None
    subsample: int = 1
    instruction_set: str | None = None


@dataclass(slots=True)
class Outcome:
    """What came out; `models` are those that predicted, in the order given."""

    results: Results
    pairing: Pairing
    models: list[AnyModel]
    chosen: str | None  # the model that 'auto' stood for
    threads: int
    instruction_set: str
    seconds: float
    times: list[float] | None  # presentation times of the reference, where its rate is variable


def run_request(
    request: Request,
    progress: Progress | None = None,
    started: Callable[[Pairing, list[AnyModel], str | None], None] | None = None,
) -> Outcome:
    """Score; `started` is told before the first frame what is going to be compared."""
    from acuity.measure import Measurement

    progress = progress or Quiet()
    with Measurement(request.threads, request.subsample, request.instruction_set) as measurement:
        _add_models(measurement, request, [m for m in request.models if m != AUTO])
        for feature in request.features:
            measurement.add_feature(feature)
        with _open_pair(request, luma_only=not measurement.needs_chroma) as pairing:
            chosen = _choose(pairing) if AUTO in request.models else None
            if chosen is not None:
                _add_models(measurement, request, [chosen])
            if started is not None:
                started(pairing, measurement.models, chosen)
            begin = time.monotonic()
            times = _feed(measurement, pairing, progress)
            return Outcome(
                results=measurement.results(),
                pairing=pairing,
                models=measurement.models,
                chosen=chosen,
                threads=measurement.threads,
                instruction_set=measurement.instruction_set,
                seconds=time.monotonic() - begin,
                times=times,
            )


def _add_models(measurement: Measurement, request: Request, wanted: list[str]) -> None:
    from acuity.models import load_model

    for text in wanted:
        model = load_model(text)
        if request.predict:
            measurement.add_model(model)
            continue
        for name, options in model.extractors():
            measurement.add_feature(name, options)


def _choose(pairing: Pairing) -> str:
    from acuity.api import model_for_size

    return model_for_size(pairing.width, pairing.height)


def _open_pair(request: Request, *, luma_only: bool) -> Pairing:
    from acuity.video.notes import info
    from acuity.video.pairing import pair_videos

    paths = (request.reference, request.distorted)
    shapes = geometries(paths, request.geometry, guess=request.guess)
    with contextlib.ExitStack() as stack:
        readers = []
        for path, geometry in zip(paths, shapes, strict=True):
            reader = open_input(path, geometry, rate=request.rate, luma_only=luma_only)
            stack.callback(reader.close)
            readers.append(reader)
        pairing = pair_videos(readers[0], readers[1], options=request.pairing)
        stack.pop_all()  # the pairing owns them now
    for path, geometry in zip(paths, shapes, strict=True):
        if geometry is not None and not request.geometry.complete:
            text = f"'{path}' is read as {geometry}, going by its name and length"
            pairing.notes.append(info("guessed", text))
    return pairing


def _feed(measurement: Measurement, pairing: Pairing, progress: Progress) -> list[float] | None:
    variable = pairing.info_ref.variable_rate
    times: list[float] = []
    listener = _Listener(measurement, pairing.length, progress)
    measurement.boundary.on_frame(listener)
    try:
        for ref, dis in pairing:
            if variable:
                times.append(ref.pts if ref.pts is not None else float("nan"))
            measurement.add(ref, dis)
        measurement.flush()
        listener(measurement.snapshot())
    finally:
        progress.done()
    return [t - times[0] for t in times] if variable else None


class _Listener:
    """At every frame boundary: how many frames are done, and the mean of the scores known so far."""

    def __init__(self, measurement: Measurement, total: int | None, progress: Progress) -> None:
        self._measurement = measurement
        self._total = total
        self._progress = progress
        self._sum = 0.0
        self._scores = 0

    def __call__(self, snapshot: BoundarySnapshot) -> None:
        if self._measurement.models and self._progress.wants_mean:
            self._collect(snapshot.frames_done)
        mean = self._sum / self._scores if self._scores else None
        self._progress.frame(snapshot.frames_done, self._total, mean)

    def _collect(self, done: int) -> None:
        step = self._measurement.subsample
        with contextlib.suppress(NotReady):
            while self._scores * step < done:
                self._sum += self._measurement.score_at(self._scores * step)
                self._scores += 1


def check_target(output: str, inputs: Sequence[str]) -> None:
    """Refuse now what would fail, or destroy an input, after minutes of scoring."""
    from acuity.report import check_output

    for path in inputs:
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise OutputError(f"the report would overwrite the video '{path}': name another file")
    check_output(output)

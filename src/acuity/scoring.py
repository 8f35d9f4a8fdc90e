"""Scoring a pair of videos as acuity.score() and both commands do it: open, pair, measure."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from acuity.measure.feed import ProgressCallback, feed
from acuity.measure.measurement import Measurement
from acuity.score_report import AnyModel, ScoreReport
from acuity.video.open import OpenOptions, RawGeometry
from acuity.video.open_pair import Video, open_pair
from acuity.video.pairing import Pairing, pair_videos

if TYPE_CHECKING:
    from acuity.video.pair_options import PairOptions

AUTO: Final = "auto"
# The first line whose size the reference reaches; a 4K display is watched from nearer than a 1080p one.
# These models read luma only: readers may leave chroma out before the choice is made.
_MODEL_BY_SIZE: Final = ((3840, 2160, "vmaf_4k_v0.6.1"), (0, 0, "vmaf_v0.6.1"))

# Told before the first frame: what is going to be compared, the models, and which one 'auto' stands for.
StartCallback = Callable[[Pairing, list[AnyModel], str | None], None]
# Given the measurement before its first frame, and how many frames there are if known.
AttachCallback = Callable[[Measurement, int | None], None]


def model_for_size(width: int, height: int) -> str:
    """The default model for pictures of that size."""
    return next(name for w, h, name in _MODEL_BY_SIZE if width >= w or height >= h)


@dataclass(frozen=True, slots=True)
class Request:
    """What to score, and how."""

    reference: Video
    distorted: Video
    models: Sequence[str | AnyModel] = (AUTO,)
    features: Sequence[str] = ()
    predict: bool = True  # False: only extract the models' features
    geometry: RawGeometry = field(default_factory=RawGeometry)
    opening: OpenOptions = field(default_factory=OpenOptions)
    pairing: PairOptions | None = None
    threads: int | None = None
    subsample: int = 1
    instruction_set: str | None = None


def run_request(
    request: Request,
    *,
    progress: ProgressCallback | None = None,
    running_mean: bool = True,
    every: float = 0.0,
    started: StartCallback | None = None,
    attach: AttachCallback | None = None,
) -> ScoreReport:
    """Score; raises AcuityError. Readers that were handed in are closed at the end, come what may.

    `progress` is called after every frame, or at most once in `every` seconds. What `attach` does with the
    measurement is its own business; it can still be read when this has returned.
    """
    try:
        with Measurement(request.threads, request.subsample, request.instruction_set) as measurement:
            return _run(request, measurement, _Telling(progress, running_mean, every, started, attach))
    finally:
        for video in (request.reference, request.distorted):
            if not isinstance(video, str | os.PathLike):
                video.close()


@dataclass(frozen=True, slots=True)
class _Telling:
    """Whom to tell about the work, and how often."""

    progress: ProgressCallback | None
    running_mean: bool
    every: float
    started: StartCallback | None
    attach: AttachCallback | None


def _run(request: Request, measurement: Measurement, telling: _Telling) -> ScoreReport:
    # Before a file is opened: a typing error should cost nothing, and what is measured decides what is read.
    _add_models(measurement, request, [m for m in request.models if m != AUTO])
    for feature in request.features:
        measurement.add_feature(feature)
    # Whoever steers may swap to a model that wants chroma.
    opening = replace(request.opening, luma_only=not (measurement.uses_chroma or telling.attach))
    readers = open_pair(request.reference, request.distorted, request.geometry, opening)
    with pair_videos(*readers, options=request.pairing) as pairing:
        chosen = model_for_size(pairing.width, pairing.height) if AUTO in request.models else None
        if chosen is not None:
            _add_models(measurement, request, [chosen])
        if telling.started is not None:
            telling.started(pairing, measurement.models, chosen)
        if telling.attach is not None:
            telling.attach(measurement, pairing.length)
        begin = time.monotonic()
        feed(
            measurement,
            pairing,
            total=pairing.length,
            progress=telling.progress,
            running_mean=telling.running_mean,
            every=telling.every,
        )
        return ScoreReport(
            results=measurement.results(),
            models=measurement.models,
            chosen=chosen,
            notes=pairing.notes,
            input=pairing.description,
            timeline=pairing.timeline,
            threads=measurement.threads,
            instruction_set=measurement.instruction_set,
            seconds=time.monotonic() - begin,
        )


def _add_models(measurement: Measurement, request: Request, wanted: Sequence[str | AnyModel]) -> None:
    from acuity.models import load_model

    for model in wanted:
        if isinstance(model, str):
            model = load_model(model)
        if request.predict:
            measurement.add_model(model)
            continue
        for name, options in model.extractors():
            measurement.add_feature(name, options)

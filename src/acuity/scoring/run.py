"""Runs a request for acuity.score() and both commands: opens, pairs and measures two videos, or one alone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from acuity.devices import open_backend, open_decoder
from acuity.errors import InputError, ModelError, to_omit, to_set
from acuity.features import Extractor, get_extractor, make_extractor
from acuity.measure.feed import ProgressCallback, feed
from acuity.measure.measurement import Measurement
from acuity.models.choose import (
    AUTO,
    ModelChoice,
    choose,
    find_viewing,
    model_display,
    models_for_viewing,
)
from acuity.models.inputs import AnyModel
from acuity.records import NamedTuple
from acuity.scoring.metrics import Metric, find_metrics, headlines
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.run_notes import Source as Source
from acuity.scoring.run_notes import about_devices, about_figures, about_tiny, explained, remarks
from acuity.scoring.watched import WatchedRun, file_identity
from acuity.video.notes import warning
from acuity.video.pairs.colour import colour_tags
from acuity.video.pairs.lone_video import LoneVideo
from acuity.video.pairs.open_pair import open_alone, open_pair
from acuity.video.pairs.pairing import pair_videos
from acuity.video.readers.open import open_as

if TYPE_CHECKING:
    from acuity.devices import Opened
    from acuity.measure.crew import Crew
    from acuity.measure.results import Results
    from acuity.scoring.resume import Partial
    from acuity.tiny.tiny_model import TinyModel
    from acuity.video.pairs.open_pair import Opener
    from acuity.video.pairs.pair_options import PairOptions
    from acuity.video.readers.open import OpenOptions
    from acuity.video.readers.reader import BaseReader

# Called before the first frame with the pairing, the models, and the choice that 'auto' stands for.
StartCallback = Callable[[Source, list[AnyModel], ModelChoice | None], None]
# Called with the measurement before its first frame.
AttachCallback = Callable[[Measurement, WatchedRun], None]
# Called with the measurement when its frames begin to be fed, to interrupt it.
WatchCallback = Callable[[Measurement], None]
# What feeds the measurement, and these.
_Calls = tuple[Callable[..., bool], StartCallback | None, AttachCallback | None, WatchCallback | None]


def run_request(
    request: Request,
    *,
    progress: ProgressCallback | None = None,
    running_mean: bool = True,
    every: float = 0.0,
    started: StartCallback | None = None,
    attach: AttachCallback | None = None,
    watch: WatchCallback | None = None,
    beside: SharedRun | None = None,
    share: int = 1,
) -> ScoreReport:
    """Score; raises AcuityError. Readers that were handed in are closed at the end in any case.

    `progress` is called after every frame, or at most once in `every` seconds. `attach` may do anything with
    the measurement, which can still be read when this has returned. `beside` is what this run
    shares with others, and `share` the number of runs on one card, so that the memory of all fits.
    """
    try:
        opened = open_backend(request.backend, request.excluded_backends, request.cpu, request.device, share)
        with Measurement(
            request.threads,
            request.subsample,
            backend=opened.devices,
            may_decline=opened.automatic,
            alone=request.no_reference,
            crew=None if beside is None else beside.crew,
        ) as measurement:
            fed = partial(feed, measurement, progress=progress, running_mean=running_mean, every=every)
            return _run(request, measurement, opened, beside, (fed, started, attach, watch))
    finally:
        for video in (request.reference, request.distorted):
            if video is not None and not isinstance(video, str | os.PathLike):
                video.close()


class SharedRun(NamedTuple):
    """The objects that simultaneous runs of several requests share; no figure depends on them."""

    crew: Crew  # worker threads
    openers: tuple[Opener, Opener]  # of the reference and the distorted video


class WantedMetrics(NamedTuple):
    """The models, features and metrics of a request, after its metrics are looked up."""

    models: list[str | AnyModel]
    features: list[str]
    metrics: list[Metric]

    @property
    def rated(self) -> list[Metric]:
        """The metrics whose extractor needs the frame rate."""
        return [metric for metric in self.metrics if metric.rate_option]

    @classmethod
    def of(cls, request: Request) -> WantedMetrics:
        metrics = find_metrics(request.metrics)
        models = list(request.models)
        if request.no_reference:
            models = []
            if (classic := next((metric for metric in metrics if metric.model), None)) is not None:
                raise ModelError(
                    f"the metric '{classic.name}' needs the reference: leave it out, or ",
                    to_omit("no_reference"),
                )
        if metrics and request.viewing is None and all(metric.model != AUTO for metric in metrics):
            models = [model for model in models if model != AUTO]
        if request.viewing is not None and not models:
            models = [AUTO]
        for metric in metrics:
            if metric.model and not (metric.model == AUTO and models):
                models.append(metric.model)
        if request.viewing is not None and AUTO not in models:
            raise ModelError(
                to_set("viewing", request.viewing),
                " chooses the model, and one is named already: leave one of them out, or add "
                f"'{AUTO}' to the models",
            )
        known = (metric.feature for metric in metrics if metric.feature and not metric.rate_option)
        return cls(models, [*request.features, *known], metrics)


def _run(
    request: Request, measurement: Measurement, opened: Opened, beside: SharedRun | None, calls: _Calls
) -> ScoreReport:
    fed, started, attach, watch = calls
    videos = [video for video in (request.reference, request.distorted) if video is not None]
    files = tuple(map(file_identity, videos))
    # Before a file is opened, so that a typing error costs nothing; the features also decide what is read.
    wanted = WantedMetrics.of(request)
    models = [model if model == AUTO else _load(model) for model in wanted.models]
    tiny = _load_tiny(request)
    automatic = AUTO in models
    if not automatic:
        _add_models(measurement, request, models)
    for feature in wanted.features:
        measurement.add_feature(feature)
    checkpoint = None
    if request.resume is not None:
        from acuity.scoring.resume import read_checkpoint

        checkpoint = read_checkpoint(request, tiny)
    later = _later_extractors(request, wanted, models)
    chroma = measurement.uses_chroma or any(extractor.uses_chroma for extractor in later)
    chroma = chroma or (tiny is not None and tiny.uses_chroma)
    # An agent may swap to a model that needs chroma.
    opening = request.opening.changed(luma_only=not (chroma or attach))
    if (preferred := opened.devices[0].allocate) is not None:
        opening = opening.changed(allocate=preferred)
    decoding = open_decoder(request.decoder, opened.devices)
    decoded: list[bool] = []  # an entry for each container that is opened
    if (containers := decoding.containers) is not None:

        def noted(*given: Any, **options: Any) -> BaseReader:
            decoded.append(True)
            return containers(*given, **options)

        # Pairs whose options are equal share the reading of their reference.
        opening = opening.changed(containers=containers if request.decoder == AUTO else noted)
    shown = request.changed(display=_display(request, models))
    with _open(request, opening, shown.pairing, beside) as pairing:
        if request.decoder != AUTO and containers is not None and not decoded:
            raise InputError(
                to_set("decoder", request.decoder),
                " has no encoded file to decode: raw video, Y4M and images are read without it, so ",
                to_omit("decoder"),
            )
        for metric in wanted.rated:
            measurement.add_feature(metric.spec(pairing.rate))
        choice = None
        if automatic:
            size = pairing.width, pairing.height
            choice = choose(*size, pairing.rate, request.viewing, pairing.display)
            chosen = _load(choice.model)
            _add_models(measurement, request, [chosen if model == AUTO else model for model in models])
        if tiny is not None:  # the last, because the first model's score is the headline
            tiny = tiny.in_colours(pairing.matrix, pairing.full_range)
            measurement.add_model(tiny)
        infos = pairing.info_ref, pairing.info_dis
        measurement.tell_colour(colour_tags(*infos, pairing.matrix, pairing.full_range))
        if checkpoint is not None:
            measurement.restore(checkpoint)
        if started is not None:
            started(pairing, measurement.models, choice)
        if attach is not None:
            attach(measurement, _watched(request, wanted.metrics, pairing))
        if watch is not None:
            watch(measurement)
        begin = time.monotonic()
        ended = fed(pairing, total=pairing.length)
        results = measurement.results()
        part = None if ended else _partial(request, measurement, pairing, tiny)
        if request.sequential_first:
            order = measurement.agenda.measured.keys_of_threads(measurement.frames)
            results = results.in_order(order)
        return ScoreReport(
            results=results,
            models=measurement.models,
            choice=choice,
            headlines=headlines(wanted.metrics, _classic(measurement, results, tiny)),
            notes=[
                *([] if part is None else [warning("partial", str(part))]),
                *explained(pairing, results, list(_classic(measurement, results, tiny))),
                *remarks(pairing, measurement),
                *about_tiny(tiny),
                *about_figures(results, measurement.frames),
                *about_devices(opened, decoding, measurement, pairing),
            ],
            input={**pairing.description, "pairs": measurement.frames},  # which may be one ahead
            bitdepth=pairing.format.depth,
            timeline=pairing.timeline,
            threads=measurement.threads,
            instruction_set=measurement.instruction_set,
            backend=measurement.backend,
            computed_by=measurement.computed_by,
            card=measurement.card,
            seconds=time.monotonic() - begin,
            restored=measurement.restored,
            partial=part,
            tiny_model=tiny,
            no_reference=request.no_reference,
            request=request,
            files=files,
        )


def _watched(request: Request, metrics: Sequence[Metric], pairing: Source) -> WatchedRun:
    def name(video: object) -> str | None:
        return os.path.basename(video) or None if isinstance(video, str | os.PathLike) else None

    asked = [metric for metric in metrics if metric.feature]
    videos = request.reference, request.distorted
    files = [os.fspath(video) for video in videos if isinstance(video, str | os.PathLike)]
    there = [file for file in files if os.path.isfile(file)]
    length, columns = pairing.length, headlines(asked, {})
    names = name(request.reference), name(request.distorted)
    return WatchedRun(*names, length, columns, lambda frame: pairing.timeline.at(frame), there)


def _open(
    request: Request, opening: OpenOptions, options: PairOptions, beside: SharedRun | None = None
) -> Source:
    said, (ref, dis) = request.geometry, request.streams
    if request.no_reference:
        return LoneVideo(open_alone(request.distorted, said, opening, dis), options)
    openers = (open_as, open_as) if beside is None else beside.openers
    readers = open_pair(*request.pair, said, opening, (ref, dis), openers)
    return pair_videos(*readers, options=options)


def _classic(measurement: Measurement, results: Results, tiny: TinyModel | None) -> dict[str, str]:
    names = [model.name for model in measurement.models if tiny is None or model.name != tiny.name]
    return {name: results.label(name) for name in names}


def _load_tiny(request: Request) -> TinyModel | None:
    """The tiny model of a request, if it has one; raises ModelError, BackendError or MissingExtra."""
    if request.tiny_model is None:
        return None
    from acuity.tiny.load import load_tiny_model
    from acuity.tiny.options import TinyOptions

    same = ("device", "threads", "fp16", "codec", "preset", "crf", "resize")
    given = {name: getattr(request, f"tiny_{name}") for name in same}
    model = load_tiny_model(request.tiny_model, TinyOptions(**given, verify=request.tiny_model_verify))
    if request.no_reference and not model.no_reference:
        raise ModelError(
            f"the tiny model '{model.label}' needs the reference: name a no-reference model, or ",
            to_omit("no_reference"),
        )
    return model


def _display(request: Request, models: Sequence[str | AnyModel]) -> str | None:
    """The display that the pictures are scaled to: the one asked for, or that of the models."""
    viewed = None if request.viewing is None else find_viewing(request.viewing).display
    if request.display != AUTO:
        return request.display or viewed
    displays = {viewed if isinstance(model, str) else model_display(model.label) for model in models} - {None}
    if len(displays) > 1:
        raise ModelError(
            to_set("display", AUTO),
            " has two answers: the models are made for 1080p and for 2160p, so name one",
        )
    return displays.pop() if displays else AUTO


def _partial(
    request: Request, measurement: Measurement, pairing: Source, tiny: TinyModel | None
) -> Partial | None:
    if not measurement.gate.interrupted:
        return None
    from acuity.scoring.resume import partial_of

    return partial_of(request, measurement, pairing.length, tiny)


def _load(model: str | AnyModel) -> AnyModel:
    from acuity.models import load_model

    return load_model(model) if isinstance(model, str) else model


def _later_extractors(
    request: Request, wanted: WantedMetrics, models: Sequence[str | AnyModel]
) -> list[Extractor]:
    """The extractors that are or may be added when size and rate are known; raises FeatureError.

    Models that go by size are not among them: they are known to work, and read luma only.
    """
    known = [model for model in models if not isinstance(model, str)]
    if request.viewing is not None:
        known += map(_load, models_for_viewing(request.viewing))
    needed = [entry for model in known for entry in model.extractors()]
    return [
        *(get_extractor(name)(options) for name, options in needed),
        *(make_extractor(metric.feature) for metric in wanted.rated),
    ]


def _add_models(measurement: Measurement, request: Request, models: Sequence[str | AnyModel]) -> None:
    for model in map(_load, models):
        if request.predict:
            measurement.add_model(model)
            continue
        for name, options in model.extractors():
            measurement.add_feature(name, options)

"""The task that scores a pair of videos with Acuity's own engine, and the document it leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Self

from acuity.errors import AcuityError, JobFailed
from acuity.jobs.job import Progress
from acuity.jobs.progress import Pace
from acuity.jobs.tasks.remedies import as_arguments

if TYPE_CHECKING:
    from acuity.report.precision import Precision
    from acuity.scoring.report import AnyModel, ScoreReport
    from acuity.scoring.run import Request
    from acuity.video.pairs.pairing import Pairing

_EVERY: Final = 0.1  # seconds between two messages


@dataclass(frozen=True, slots=True)
class ScorePayload:
    """What to score, as plain values."""

    reference: str
    distorted: str
    model: str  # a spec as `vmaf --model` takes it, or 'auto'
    more_models: list[str] = field(default_factory=list)  # scored beside it
    backend: str = "auto"
    width: int | None = None  # geometry of raw video; None where the videos say it themselves
    height: int | None = None
    pixfmt: str | None = None
    bitdepth: int | None = None
    precision: str = "legacy"
    features: list[str] = field(default_factory=list)
    predict: bool = True
    threads: int | None = None
    subsample: int = 1
    pairing: dict[str, Any] = field(default_factory=dict)  # arguments of PairOptions
    allow_damaged: bool = False
    echo: dict[str, Any] = field(default_factory=dict)  # entries of the document that are known before

    @classmethod
    def from_dict(cls, payload: dict[str, Any]) -> Self:
        return cls(**payload)

    def to_dict(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Score, and answer with the command's JSON report and what a caller should know besides."""
    wanted = ScorePayload.from_dict(payload)
    try:
        return _document(wanted, _score(wanted, report))
    except AcuityError as error:
        sentence = as_arguments(str(error), geometry=wanted.width is not None)
        raise JobFailed(sentence) from error


def _score(wanted: ScorePayload, report: Callable[[Progress], None]) -> ScoreReport:
    from acuity.scoring.run import run_request

    pace = Pace()

    def started(pairing: Pairing, _: list[AnyModel], __: object) -> None:
        nonlocal pace
        pace = Pace()  # opening files is no scoring
        report(pace.progress(0, pairing.length, None))

    def frame(done: int, total: int | None, mean: float | None) -> None:
        report(pace.progress(done, total, mean))

    return run_request(_request(wanted), progress=frame, every=_EVERY, started=started)


def _request(wanted: ScorePayload) -> Request:
    from acuity.measure import available_threads
    from acuity.scoring.run import Request
    from acuity.video.pairs.pair_options import PairOptions
    from acuity.video.readers.open import OpenOptions, RawGeometry

    return Request(
        wanted.reference,
        wanted.distorted,
        models=[wanted.model, *wanted.more_models],
        features=wanted.features,
        predict=wanted.predict,
        geometry=RawGeometry(wanted.width, wanted.height, wanted.pixfmt, wanted.bitdepth),
        opening=OpenOptions(guess=wanted.width is None, allow_damaged=wanted.allow_damaged),
        pairing=PairOptions(**wanted.pairing),
        threads=min(wanted.threads, available_threads()) if wanted.threads is not None else None,
        subsample=wanted.subsample,
    )


def _document(wanted: ScorePayload, found: ScoreReport) -> dict[str, Any]:
    from acuity.models.choose import AUTO
    from acuity.models.fit import first_mismatch
    from acuity.report import render_report
    from acuity.report.precision import parse_precision

    about = found.about()
    text = "".join(render_report(found.results, "json", wanted.precision, extra={"acuity": about}))
    document: dict[str, Any] = {
        **_printed(found.summary(), parse_precision(wanted.precision)),
        **json.loads(text),
        "backend_requested": wanted.backend,
        "backend_used": about["backend"],
        **wanted.echo,
    }
    chosen = found.choice.model if found.choice is not None else AUTO
    models = [chosen if model == AUTO else model for model in (wanted.model, *wanted.more_models)]
    warning = first_mismatch(models, found.results.width, found.results.height) if wanted.predict else None
    return document if warning is None else {**document, "mismatched_model_warning": warning}


def _printed(value: Any, precision: Precision) -> Any:
    """The same with the digits that the report's own figures have."""
    if isinstance(value, float):
        return float(precision.format(value))
    if isinstance(value, dict):
        return {key: _printed(item, precision) for key, item in value.items()}
    return [_printed(item, precision) for item in value] if isinstance(value, list) else value

"""The task that scores a pair of videos with Acuity's own engine, and the document it leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from acuity.jobs.progress import Pace
from acuity.scoring.request import Request
from longwire.work import Progress

if TYPE_CHECKING:
    from acuity.models.inputs import AnyModel
    from acuity.report.precision import Precision
    from acuity.scoring.report import ScoreReport
    from acuity.scoring.run import Source

_EVERY: Final = 0.1  # seconds between two messages


def score_payload(
    request: Request, *, precision: str = "legacy", pictures: str | None = None, **echo: Any
) -> dict[str, Any]:
    """The task's payload: the request, the report's digits, and entries of the document known in advance.

    `pictures` is the folder for pictures of the worst frames, if those are wanted.
    """
    document = {"request": request.to_document(), "precision": precision, "echo": echo}
    return document if pictures is None else {**document, "pictures": pictures}


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Score, and return the command's JSON report with the summary and notes."""
    request = Request.from_document(payload["request"])
    scored = _score(request, report)
    found = {**_document(request, scored, payload["precision"]), **payload["echo"]}
    if "pictures" not in payload:
        return found
    from acuity.jobs.tasks.worst import score_previews

    return {**found, **score_previews(request, scored, payload["pictures"])}


def _score(request: Request, report: Callable[[Progress], None]) -> ScoreReport:
    from acuity.measure import available_threads
    from acuity.scoring.run import run_request

    pace = Pace()

    def started(pairing: Source, _: list[AnyModel], __: object) -> None:
        nonlocal pace
        pace = Pace()  # don't count the opening of files
        report(pace.progress(0, pairing.length, None))

    def frame(done: int, total: int | None, mean: float | None) -> None:
        report(pace.progress(done, total, mean))

    if request.threads is not None:
        request = replace(request, threads=min(request.threads, available_threads()))
    return run_request(request, progress=frame, every=_EVERY, started=started)


def _document(request: Request, found: ScoreReport, precision: str) -> dict[str, Any]:
    from acuity.report.precision import parse_precision
    from acuity.report.writers import as_document

    about = found.about()
    document = {
        **_printed(found.summary(), parse_precision(precision)),
        **as_document(found.results, precision, extra={"acuity": about, **found.tiny_marks()}),
        "backend_requested": request.backend,
        "backend_used": about["backend"],
    }
    return {**document, **mismatch(request, found)}


def mismatch(request: Request, found: ScoreReport) -> dict[str, Any]:
    """The entry that warns of a model made for other sizes; empty if all fit."""
    from acuity.models.choose import AUTO, first_mismatch

    chosen = [] if found.choice is None else [found.choice.model]
    models = [name for model in request.models for name in (chosen if model == AUTO else [str(model)])]
    warning = first_mismatch(models, found.results.width, found.results.height) if request.predict else None
    return {} if warning is None else {"mismatched_model_warning": warning}


def _printed(value: Any, precision: Precision) -> Any:
    """The value with the digits that the report's own figures have."""
    if isinstance(value, float):
        return float(precision.format(value))
    if isinstance(value, dict):
        return {key: _printed(item, precision) for key, item in value.items()}
    return [_printed(item, precision) for item in value] if isinstance(value, list) else value

"""A ScoreReport as JSON and bytes, and back: every figure keeps all its bits."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from acuity.errors import Remedy
from acuity.measure.results import Results
from acuity.measure.segments import Segment
from acuity.models import load_model
from acuity.models.choose import AUTO, ModelChoice
from acuity.scoring.metrics import headlines
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.run import WantedMetrics
from acuity.video.notes import Note
from acuity.video.pairs.clock import PairTimes

# Fields of a report, and of its results, that JSON holds as they are.
_PLAIN = ("input", "bitdepth", "threads", "instruction_set", "seconds", "backend", "computed_by")
_FIGURES = ("models", "model_labels", "width", "height", "fps", "aggregate", "segments", "steps")


def can_be_kept(report: ScoreReport) -> bool:
    """Whether it is the report of a whole run, without steering and without a tiny model."""
    tiny = report.tiny_model is not None or report.no_reference
    return report.partial is None and not report.results.steered and not tiny


def packed(report: ScoreReport) -> tuple[str, bytes]:
    """The report as JSON, and the bytes of its columns."""
    results = report.results
    head = {
        **{name: getattr(report, name) for name in _PLAIN},
        "card": report.card,
        "choice": report.choice,
        "timeline": report.timeline.to_document(),
        "notes": [[note.level, note.code, note.text, _pieces(note)] for note in report.notes],
        "results": {
            "columns": list(results.columns),
            **{name: getattr(results, name) for name in _FIGURES},
            "undefined": {name: np.flatnonzero(rows).tolist() for name, rows in results.undefined.items()},
        },
    }
    columns = [np.asarray(values, "<f8") for values in results.columns.values()]
    arrays = [np.asarray(results.frames, "<i8"), *columns]
    return json.dumps(head), b"".join(array.tobytes() for array in arrays)


def unpacked(request: Request, head: str, arrays: bytes) -> ScoreReport:
    """The report of this request that was packed; raises ValueError, KeyError or TypeError."""
    about = json.loads(head)
    results = _results(about["results"], arrays)
    choice = None if about["choice"] is None else ModelChoice(*about["choice"])
    wanted = WantedMetrics.of(request)
    specs = [choice.model if model == AUTO and choice else model for model in wanted.models]
    models = (
        [load_model(spec) if isinstance(spec, str) else spec for spec in specs] if request.predict else []
    )
    if [model.name for model in models] != results.models[: len(models)]:
        raise ValueError("an entry is of other models")
    return ScoreReport(
        results=results,
        models=models,
        choice=choice,
        headlines=headlines(wanted.metrics, {model.name: results.label(model.name) for model in models}),
        notes=[_note(*entry) for entry in about["notes"]],
        timeline=PairTimes.from_document(about["timeline"]),
        **{name: about[name] for name in _PLAIN},
        card=about.get("card"),  # earlier entries have none
    )


def _results(about: dict[str, Any], arrays: bytes) -> Results:
    names = about["columns"]
    count, rest = divmod(len(arrays), 8 * (1 + len(names)))
    if rest or not count:
        raise ValueError("an entry is incomplete")
    frames, *columns = np.frombuffer(arrays, "<f8").reshape(1 + len(names), count)
    undefined = {name: np.zeros(count, bool) for name in about["undefined"]}
    for name, rows in about["undefined"].items():
        undefined[name][rows] = True
    figures = {name: about[name] for name in _FIGURES}
    figures["segments"] = [Segment(*entry) for entry in about["segments"]]
    figures["steps"] = [(first, step) for first, step in about["steps"]]
    kept = {name: column.copy() for name, column in zip(names, columns, strict=True)}
    return Results(frames.view("<i8").tolist(), kept, **figures, undefined=undefined)


def _pieces(note: Note) -> list[Any]:
    return [list(piece) if isinstance(piece, Remedy) else piece for piece in note.pieces]


def _note(level: Any, code: str, text: str, pieces: list[Any]) -> Note:
    made = (piece if isinstance(piece, str) else Remedy.from_document(piece) for piece in pieces)
    return Note(level, code, text, tuple(made))

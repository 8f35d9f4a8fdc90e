"""The task that evaluates ONNX models on a table of ratings: one of them, or several against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from acuity.errors import AcuityError
from acuity.text import one_line, shortened
from longwire.work import Progress

_ECHO: Final = 300  # characters of a model's name


def evaluate_payload(model: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The task's payload for one model; `table` has features, split, input_name and pooling."""
    return {"model": model, "table": dict(table)}


def compare_payload(
    models: Sequence[str | AcuityError], names: Sequence[str], table: Mapping[str, Any]
) -> dict[str, Any]:
    """The payload for several models, or the error of one that may not be read, and what they were called."""
    entries = [
        {"name": name, "error": str(model)} if isinstance(model, AcuityError) else {"model": model}
        for model, name in zip(models, names, strict=True)
    ]
    return {"models": entries, "table": dict(table)}


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Evaluate, and return the evaluation's or the comparison's document."""
    from acuity.tiny.evaluate.evaluation import evaluate

    def tell(done: int, total: int) -> None:
        report(Progress(done, total, f"{done:,} of {total:,} rows"))

    if "model" in payload:
        return evaluate(payload["model"], **payload["table"], progress=tell).to_document()
    return _compare(payload["models"], payload["table"], tell)


def _compare(
    entries: Sequence[Mapping[str, str]], table: Mapping[str, Any], tell: Callable[[int, int], None]
) -> dict[str, Any]:
    from acuity.tiny.evaluate.evaluation import compare

    models = [entry["model"] for entry in entries if "model" in entry]
    found = compare(models, **table, progress=tell).to_document() if models else _nothing(table)
    failed = {error["model"]: error for error in found["errors"]}
    # A model that is in the list twice is among the errors once.
    ordered = {
        entry.get("model", entry.get("name")): {"model": entry["name"], "error": entry["error"]}
        if "error" in entry
        else failed.get(entry["model"])
        for entry in entries
    }
    return {**found, "errors": [_readable(error) for error in ordered.values() if error is not None]}


def _readable(error: Mapping[str, str]) -> dict[str, str]:
    """An entry of `errors` whose echo of a client's text is short and on one line."""
    return {"model": one_line(shortened(error["model"], _ECHO)), "error": one_line(error["error"])}


def _nothing(table: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a comparison of which no model may be read."""
    return {"ranked": [], "errors": [], "features": table["features"], "split": table["split"], "notes": []}

"""Answers of compare_encodes: the ranking first, figures of each encode, and what sets them apart.

The whole comparison is stored, where it can be read as JSON, as a table and as a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from acuity.jobs.tasks.compare import PAGE, TABLE
from acuity.report.read_report import COMPARE

_DECIMALS: Final = 6
_MISFIT: Final = "mismatched_model_warning"
_MOST_NOTES: Final = 12
_SHOWN_FRAMES: Final = 2  # of each difference
_FEW: Final = 8  # differences that have their frames
_INSIDE: Final = (PAGE, TABLE)  # entries that are read as resources of their own
_PAIR: Final = ("name", "distorted", "encoder", "score", "kbps", "bytes", "remembered")


def is_comparison(document: Mapping[str, Any]) -> bool:
    """Whether a tool's document is a comparison of encodes."""
    return document.get("schema") == COMPARE


def stored_comparison(document: Mapping[str, Any]) -> dict[str, Any]:
    """The whole document as clients read it."""
    return {name: value for name, value in document.items() if name not in _INSIDE}


def compare_answer(document: Mapping[str, Any]) -> dict[str, Any]:
    """The short form of a comparison: entries by the names of the whole one, best encode first."""
    pairs = {pair["name"]: pair for pair in document["pairs"]}
    places = document["places"]
    ranking = document["ranking"]
    notes = list(_notes(document))
    answer: dict[str, Any] = {
        "ranking": ranking,
        "pairs": [{"place": places.get(name), **_row(pairs[name])} for name in ranking],
        "bd_rates": _rounded(document["bd_rates"]),
        "differences": _differences([entry for entry in document["differences"] if entry["a"] == ranking[0]]),
        "notes": notes[:_MOST_NOTES],
        _MISFIT: document.get(_MISFIT),
        "model": document["model"],
        "reference": document["pairs"][0]["reference"],
        "job_id": document.get("job_id"),
        "report": document.get("report"),
        "schema": COMPARE,
        "seconds": document["seconds"],
        "version": document["version"],
    }
    if len(notes) > _MOST_NOTES:
        answer["notes_omitted"] = len(notes) - _MOST_NOTES
    if (report := document.get("report")) is not None:
        answer["more"] = (
            f"{report} has all figures, and those of every two encodes; {report}/report.html is a page for "
            f"people, {report}.csv a table"
        )
    return {name: value for name, value in answer.items() if value is not None or name == "model"}


def _row(pair: Mapping[str, Any]) -> dict[str, Any]:
    """An encode: its pooled figures in the place of the whole summary, or its error."""
    if pair["error"] is not None:
        return {"name": pair["name"], "distorted": pair["distorted"], "error": pair["error"]}
    found: dict[str, Any] = {name: pair[name] for name in _PAIR}
    summary = pair["summary"]
    entries: list[dict[str, Any]] = [*summary["models"], *summary.get("metrics", ())]
    first = entries[0]
    if first.get("better") == "lower":
        found |= {"p95": first["percentiles"]["p95"], "max": first["max"]}
    else:
        found |= {name: first[name] for name in ("harmonic_mean", "min") if first[name] is not None}
        found["p5"] = first["percentiles"]["p5"]
    means = {entry["label"]: entry["mean"] for entry in entries if entry["label"] != first["label"]}
    rounded: dict[str, Any] = _rounded({**found, **({"metrics": means} if means else {})})
    return rounded


def _differences(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The differences, with the frames that differ most as far as there is room."""
    shown = _SHOWN_FRAMES if len(entries) <= _FEW else 0
    cut = [{**entry, "worst": entry["worst"][:shown]} for entry in entries]
    left = ("block_frames", *(() if shown else ("worst",)))
    return [_rounded({name: value for name, value in entry.items() if name not in left}) for entry in cut]


def _notes(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The notes on encodes, warnings first, each once with the encodes it is about unless it is all."""
    found: dict[tuple[str, str], list[str]] = {}
    for pair in document["pairs"]:
        for note in (pair["about"] or {}).get("notes", ()):
            found.setdefault((note["level"], note["text"]), []).append(pair["name"])
    scored = sum(pair["about"] is not None for pair in document["pairs"])
    for (level, text), names in sorted(found.items(), key=lambda entry: entry[0][0] != "warning"):
        about = {} if len(names) == scored else {"encodes": names}  # those on all need no names
        yield {"level": level, "text": text, **about}
    for text in document["notes"]:
        yield {"level": "info", "text": text}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value

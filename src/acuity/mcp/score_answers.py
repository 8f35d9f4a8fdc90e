"""Answers of the scoring tools: the score first, and every frame's figures only while the whole stays short.

An answer is read by a language model, whose memory is dear, and clients that cut a long one keep its
beginning. The whole report stays where it can be read piece by piece.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from acuity.mcp.results import fits, to_ordered_text

_SHORT: Final = 19_000  # characters of an answer that has its frames unasked; a job's own entries come on top
_LAYOUT: Final = 80  # characters of line ends and margins around a frame

# The entries of a score's answer; those that aren't named here come before the last two.
_FIRST: Final = (
    "score",
    "model",
    "models",
    "metrics",
    "worst",
    "notes",
    "mismatched_model_warning",
    "frames_omitted",
    "job_id",
    "report",
    "reference_encoded",
    "distorted_encoded",
    "backend_requested",
    "backend_used",
    "pooled_metrics",
    "aggregate_metrics",
    "version",
    "fps",
)
_LAST: Final = ("acuity", "frames")
ASKED: Final = "include_frames"  # the entry of a stored document that keeps what its caller asked for

FRAMES_SCHEMA: Final[dict[str, Any]] = {
    "type": "boolean",
    "description": "Whether the answer has every frame. Left out: if it stays short. get_frames pages them.",
}


def score_answer(document: Mapping[str, Any], include_frames: bool | None = None) -> dict[str, Any]:
    """The document as asked for; None: as the call that made it asked, or with frames if that stays short.

    Documents that are no reports of a pair stay as they are.
    """
    if not is_report(document):
        return dict(document)
    found = _without_nulls(in_order(document))
    frames = found["frames"]
    wanted = document.get(ASKED) if include_frames is None else include_frames
    if not frames or (wanted and fits(len(frames), frames[0])):
        return found
    if wanted is None and _length(frames) <= _SHORT and len(to_ordered_text(found)) <= _SHORT:
        return found
    return _without_frames(found, too_large=bool(wanted))


def in_order(document: Mapping[str, Any]) -> dict[str, Any]:
    """A report with the score first and the frames last."""
    known = _summarized(document)
    known["notes"] = known.get("acuity", {}).get("notes", [])
    placed = {*_FIRST, *_LAST, ASKED}
    names = [*_FIRST, *(name for name in known if name not in placed), *_LAST]
    return {name: known[name] for name in names if name in known}


def is_report(document: Mapping[str, Any]) -> bool:
    """Whether a tool's document is the report of a pair of videos."""
    return "frames" in document and "pooled_metrics" in document


def _summarized(document: Mapping[str, Any]) -> dict[str, Any]:
    if "score" in document:
        return dict(document)
    from acuity.jobs.tasks.report_summary import summarize
    from acuity.models.spec import DEFAULT_NAME

    label = document.get("acuity", {}).get("model")
    return {**document, **summarize(document, {DEFAULT_NAME: label})}


def _without_nulls(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what isn't known about the two videos."""
    about = document.get("acuity", {})
    if "input" not in about:
        return document
    return {**document, "acuity": {**about, "input": _known(about["input"])}}


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _known(fact) if isinstance(fact, Mapping) else fact
        for name, fact in facts.items()
        if fact is not None
    }


def _without_frames(document: dict[str, Any], *, too_large: bool) -> dict[str, Any]:
    """The document with the figures of its frames left out, and how to read them."""
    count = len(document["frames"])
    why = "do not fit into one message" if too_large else "are left out"
    ways = ["pass include_frames=true"] if not too_large else []
    if (report := document.get("report")) is not None:
        ways = [f"call get_frames with job_id '{document['job_id']}'", f"read {report}.csv", *ways]
    remedy = f"the figures of {count} frames {why}: {' or '.join(ways) or 'score fewer frames at once'}"
    return in_order({**document, "frames": [], "frames_omitted": {"count": count, "remedy": remedy}})


def _length(frames: list[Any]) -> int:
    """Characters of the frames in a text; they are all about as long as one from their middle."""
    return len(frames) * (len(json.dumps(frames[len(frames) // 2])) + _LAYOUT)

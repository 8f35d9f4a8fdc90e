"""Answers of the scoring tools: warnings and the score first, frames only if the answer stays short.

A language model with a limited context reads the answer, and clients that truncate a long one keep its
beginning. The whole report is stored, where it can be read in parts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from acuity.agents.schemas import flag
from acuity.jobs.tasks.worst import NO_PREVIEWS, PREVIEWS
from longwire.product.results import fits, to_ordered_text

_SHORT: Final = 19_000  # characters of an answer that has its frames by default, without a job's entries
_LAYOUT: Final = 80  # characters of line ends and margins around a frame

# The entries of an answer in order; entries that aren't named here come before the last two.
_FIRST: Final = (
    "score", "model", "models", "metrics", "worst", "worst_segments", "images", "images_missing", "notes",
    "geometry_asked", "no_reference", "mismatched_model_warning", "frames_omitted", "job_id", "report",
    "reference_encoded", "distorted_encoded", "backend_requested", "backend_used", "pooled_metrics",
    "aggregate_metrics", "version", "fps",
)  # fmt: skip
_LAST: Final = ("acuity", "frames")
ASKED: Final = "include_frames"  # the entry of a stored document with its caller's choice
IMAGES_ASKED: Final = "images_asked"  # the same for pictures
_INSIDE: Final = (ASKED, IMAGES_ASKED, PREVIEWS, NO_PREVIEWS)  # entries that no client sees

FRAMES_SCHEMA: Final = flag(
    "Whether the answer has every frame. Left out: if it stays short. get_frames pages them."
)


def score_answer(document: Mapping[str, Any], include_frames: bool | None = None) -> dict[str, Any]:
    """The document with or without frames; None: as its caller chose, or with frames if it stays short.

    Documents other than score reports are returned unchanged.
    """
    if not is_report(document):
        return dict(document)
    found = _brief(in_order(document))
    frames = found["frames"]
    wanted = document.get(ASKED) if include_frames is None else include_frames
    if not frames or (wanted and fits(len(frames), frames[0])):
        return found
    if wanted is None and _length(frames) <= _SHORT and len(to_ordered_text(found)) <= _SHORT:
        return found
    return _without_frames(found, too_large=bool(wanted))


def in_order(document: Mapping[str, Any]) -> dict[str, Any]:
    """A report with the score first and the frames last; notes with warnings come before the score."""
    known = dict(document)
    notes = known.setdefault("notes", known.get("acuity", {}).get("notes", []))
    placed = {*_FIRST, *_LAST, *_INSIDE}
    warned = ["notes"] if any(note["level"] == "warning" for note in notes) else []
    names = [*warned, *_FIRST, *(name for name in known if name not in placed), *_LAST]
    return {name: known[name] for name in names if name in known}


def is_report(document: Mapping[str, Any]) -> bool:
    """Whether a tool's document is the report of a pair of videos."""
    return "frames" in document and "pooled_metrics" in document


def score_columns(report: Mapping[str, Any]) -> list[str]:
    """The columns with models' scores, or all columns if there are no scores."""
    named = [model["name"] for model in report.get("models", [{"name": "vmaf"}])]
    return [name for name in named if name in report["pooled_metrics"]] or list(report["pooled_metrics"])


def _brief(document: dict[str, Any]) -> dict[str, Any]:
    """The document without unknown facts about the two videos, and with its notes only once."""
    if "acuity" not in document:
        return document
    about = {name: entry for name, entry in document["acuity"].items() if name != "notes"}
    known = {"input": _known(about["input"])} if "input" in about else {}
    return {**document, "acuity": {**about, **known}}


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _known(fact) if isinstance(fact, Mapping) else fact
        for name, fact in facts.items()
        if fact is not None
    }


_PART: Final = 500  # frames of a report that fit into a message, whatever their figures


def _without_frames(document: dict[str, Any], *, too_large: bool) -> dict[str, Any]:
    """The document without the figures of its frames, and a sentence on how to read them."""
    count = len(document["frames"])
    why = "do not fit into one message" if too_large else "are left out"
    ways = ["pass include_frames=true"] if not too_large else []
    if (report := document.get("report")) is not None:
        part = "?frames=0-499 and so on" if too_large or count > _PART else ""
        ways = [f"call get_frames with job_id '{document['job_id']}'", f"read {report}.csv{part}", *ways]
    remedy = f"the figures of {count} frames {why}: {' or '.join(ways) or 'score fewer frames at once'}"
    return in_order({**document, "frames": [], "frames_omitted": {"count": count, "remedy": remedy}})


def _length(frames: list[Any]) -> int:
    """Characters of the frames in a text, judged by the length of the middle one."""
    return len(frames) * (len(json.dumps(frames[len(frames) // 2])) + _LAYOUT)

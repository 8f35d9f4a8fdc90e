"""Answers that clients take: the figures of every frame are left out of one that would be too large.

The official client gives up on a message of more than a mebibyte, and what an agent is told has to fit into
the memory of a model. The whole report stays where it can be read piece by piece.
"""

from __future__ import annotations

import json
from typing import Any, Final

_MOST: Final = 900_000  # bytes of an answer, which has each figure twice: structured, and in a string
_AS_STRING: Final = 1.3  # how much longer JSON gets as a string in JSON, by its quotes
_LAYOUT: Final = 50  # characters of line ends and margins around a frame in a text

OMITTED_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "description": "Only where `frames` is empty because the figures were left out.",
    "properties": {"count": {"type": "integer"}, "remedy": {"type": "string"}},
    "required": ["count", "remedy"],
}


def fit(document: dict[str, Any], include_frames: bool | None) -> dict[str, Any]:
    """The document as asked for; None: with its frames if they fit."""
    frames = document.get("frames")
    if not frames or include_frames or (include_frames is None and fits(len(frames), frames[0])):
        return document
    return without_frames(document, len(frames))


def without_frames(document: dict[str, Any], count: int) -> dict[str, Any]:
    """The document where the figures of so many frames are left out, and how to read them."""
    report = document.get("report")
    where = f"read {report}.csv or {report}?frames=0-499" if report else "ask with include_frames: true"
    remedy = f"the figures of {count} frames are left out: {where}"
    return {**document, "frames": [], "frames_omitted": {"count": count, "remedy": remedy}}


def fits(count: int, first: Any) -> bool:
    """Whether so many frames fit into a message; they are all about as long as the first."""
    return count * (len(json.dumps(first)) * (1 + _AS_STRING) + _LAYOUT) <= _MOST

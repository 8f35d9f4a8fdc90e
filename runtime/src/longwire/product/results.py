"""Results of tools: a document as structured content and as JSON text; errors as text alone.

If the figures of every frame would make a message larger than clients accept (the official client stops at
1 MiB), they are left out and the result says where to read them.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import mcp_types as types
import pydantic_core

from longwire.text import one_line

READABLE: Final = 50_000  # characters
_SHORT: Final = 40_000  # characters of an indented text that is surely READABLE
# Signs of numbers that pydantic and json may write differently.
_EXPONENT: Final = re.compile(r"e(?<=[0-9]e)")
_TINY: Final = "0.0000"
_HOLDERS: Final = frozenset({dict, list, tuple})
_FINITE: Final = frozenset({str, int, bool, type(None)})
# Controls beyond those that JSON escapes anyway, marks of direction, separators, and what has no width.
_UNSEEN: Final = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_LINE: Final = 100  # characters of the longest object or list that is always written on one line


def answer(document: dict[str, Any]) -> types.CallToolResult:
    """A document as a result, with its keys sorted in the text."""
    safe = finite(document)
    return types.CallToolResult(content=[_text(to_text(safe))], structured_content=safe)


def ordered_answer(document: dict[str, Any]) -> types.CallToolResult:
    """A document as a result, with its keys in their own order, the most important first."""
    safe = finite(document)
    return types.CallToolResult(content=[_text(to_ordered_text(safe))], structured_content=safe)


def failure(message: str) -> types.CallToolResult:
    """A failed call: `{"error": …}` as text, marked as an error.

    There is no structured content, because clients check that against the tool's output schema and would
    report the mismatch instead of the sentence.
    """
    return types.CallToolResult(content=[_text(to_text({"error": one_line(message)}))], is_error=True)


def to_text(document: Any) -> str:
    """JSON with sorted keys, indented unless it is too long for people to read."""
    # Takes a quarter of json's time, for the statuses that agents poll.
    text = pydantic_core.to_json(_sorted(document), indent=2, inf_nan_mode="null").decode()
    if len(text) <= _SHORT and _TINY not in text and not _EXPONENT.search(text):
        return visible(text)
    safe = finite(document)
    text = json.dumps(safe, sort_keys=True, allow_nan=False, ensure_ascii=False)
    if len(text) > READABLE:
        return visible(text)
    return visible(json.dumps(safe, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False))


def _sorted(value: Any) -> Any:
    # Only containers are looked into: a call for each number would take longer than all the rest.
    if isinstance(value, dict):
        return {key: _sorted(item) if type(item) in _HOLDERS else item for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_sorted(item) if type(item) in _HOLDERS else item for item in value]
    return value


def to_ordered_text(document: Any) -> str:
    """JSON with keys in their own order; lists and objects that hold no others are on one line."""
    return visible(_written(document, ""))


def finite(value: Any) -> Any:
    """The value with null for numbers that JSON can't hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: item if type(item) in _FINITE else finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) in _FINITE else finite(item) for item in value]
    return value


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def visible(text: str) -> str:
    """JSON in which characters that control terminals or the order of others are escaped."""
    if text.isascii() and "\x7f" not in text:  # as nearly all are: all that JSON leaves is visible
        return text
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f"), text)


def _written(value: Any, margin: str) -> str:
    line = json.dumps(value, allow_nan=False, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(line) <= _LINE:
        return line
    members = value.values() if isinstance(value, dict) else value
    if not any(isinstance(member, dict | list) for member in members):
        return line
    inner = f"{margin}  "
    if isinstance(value, dict):
        entries = [
            f"{json.dumps(key, ensure_ascii=False)}: {_written(item, inner)}" for key, item in value.items()
        ]
    else:
        entries = [_written(item, inner) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    between = f",\n{inner}"
    return f"{opening}\n{inner}{between.join(entries)}\n{margin}{closing}"


_MOST: Final = 900_000  # bytes of an answer, which has each figure twice: structured and in a string
_AS_STRING: Final = 1.3  # how much longer JSON gets as a string in JSON, through its quotes
_LAYOUT: Final = 50  # characters of line ends and margins around a frame in a text


def without_frames(document: dict[str, Any], count: int) -> dict[str, Any]:
    """The document without the figures of its frames, and a sentence on how to read them."""
    report = document.get("report")
    parts = f"read {report}?frames=0-499 or {report}.csv?frames=0-499, and so on"
    where = parts if report else "ask with include_frames: true"
    remedy = f"the figures of {count} frames are left out: {where}"
    return {**document, "frames": [], "frames_omitted": {"count": count, "remedy": remedy}}


def fits(count: int, first: Any) -> bool:
    """Whether that many frames fit into a message, judged by the length of the first."""
    return count * (len(json.dumps(first)) * (1 + _AS_STRING) + _LAYOUT) <= _MOST

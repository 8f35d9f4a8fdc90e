"""Results of tools on the wire: a document as structured content and as JSON text; errors as text alone."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import mcp_types as types

from acuity.text import one_line

READABLE: Final = 50_000  # characters
_LINE: Final = 100  # characters of an object or a list that is written on one line, whatever it holds


def answer(document: dict[str, Any]) -> types.CallToolResult:
    """A document as a result, with its keys sorted in the text."""
    safe = finite(document)
    return types.CallToolResult(content=[_text(to_text(safe))], structured_content=safe)


def ordered_answer(document: dict[str, Any]) -> types.CallToolResult:
    """A document as a result, with its keys in the order they have: what matters most comes first."""
    safe = finite(document)
    return types.CallToolResult(content=[_text(to_ordered_text(safe))], structured_content=safe)


def failure(message: str) -> types.CallToolResult:
    """A failed call: `{"error": …}` as text, marked as an error.

    There is no structured content: it would have to conform to the tool's output schema, and clients that
    check it against that schema would report the mismatch instead of the sentence.
    """
    return types.CallToolResult(content=[_text(to_text({"error": one_line(message)}))], is_error=True)


def to_text(document: Any) -> str:
    """JSON with sorted keys; indented unless it is so long that only programs read it."""
    text = json.dumps(document, sort_keys=True, allow_nan=False, ensure_ascii=False)
    if len(text) > READABLE:
        return text
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False)


def to_ordered_text(document: Any) -> str:
    """JSON with keys as they come; lists and objects that hold no others are on one line."""
    return _written(document, "")


def finite(value: Any) -> Any:
    """The same with null for what JSON can't hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


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

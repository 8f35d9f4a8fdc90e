"""Results of tools on the wire: a document as structured content and as JSON text, errors as both too."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import mcp_types as types

from acuity.text import one_line

READABLE: Final = 50_000  # characters


def answer(document: dict[str, Any]) -> types.CallToolResult:
    """A document as a result."""
    safe = finite(document)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=to_text(safe))], structured_content=safe
    )


def failure(message: str) -> types.CallToolResult:
    """A failed call: `{"error": …}`, marked as an error."""
    document = {"error": one_line(message)}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=to_text(document))],
        structured_content=document,
        is_error=True,
    )


def to_text(document: Any) -> str:
    """JSON with sorted keys; indented unless it is so long that only programs read it."""
    text = json.dumps(document, sort_keys=True, allow_nan=False, ensure_ascii=False)
    if len(text) > READABLE:
        return text
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False)


def finite(value: Any) -> Any:
    """The same with null for what JSON can't hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value

"""Short functions for writing JSON Schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def record(
    properties: Mapping[str, Mapping[str, Any]],
    *,
    optional: Sequence[str] = (),
    description: str | None = None,
) -> dict[str, Any]:
    """An object with these properties and no others; all except the optional ones are required."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in properties.items()},
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
    return schema if description is None else {**schema, "description": description}


def outline(
    required: Mapping[str, str | Sequence[str]],
    optional: Mapping[str, str | Sequence[str]] | None = None,
    **notes: str,
) -> dict[str, Any]:
    """An object with at least these entries, by their types; `notes` describe those that need it.

    Output schemas are this short because clients put the whole list of tools into a model's context.
    """
    entries = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": {name: _typed(kind, notes.get(name), {}) for name, kind in entries.items()},
        "required": list(required),
    }


def array(items: Mapping[str, Any], most: int, description: str | None = None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": dict(items), "maxItems": most}
    return schema if description is None else {**schema, "description": description}


def text(description: str | None = None, **more: Any) -> dict[str, Any]:
    return _typed("string", description, more)


def named(description: str) -> dict[str, Any]:
    """A name, a model or a path."""
    return text(description, minLength=1, maxLength=4096)


def number(description: str | None = None, **more: Any) -> dict[str, Any]:
    return _typed("number", description, more)


def whole(description: str | None = None, **more: Any) -> dict[str, Any]:
    return _typed("integer", description, more)


def flag(description: str | None = None, **more: Any) -> dict[str, Any]:
    return _typed("boolean", description, more)


def _typed(kind: str | Sequence[str], description: str | None, more: Mapping[str, Any]) -> dict[str, Any]:
    said = {} if description is None else {"description": description}
    return {"type": kind, **said, **more}

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
    required: Mapping[str, str | list[str]], optional: Mapping[str, str | list[str]] | None = None
) -> dict[str, Any]:
    """An object with at least these entries, by their types.

    Output schemas are this short because clients put the whole list of tools into a model's context.
    """
    entries = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in entries.items()},
        "required": list(required),
    }


def array(items: Mapping[str, Any], description: str | None = None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": dict(items)}
    return schema if description is None else {**schema, "description": description}


def text(description: str | None = None) -> dict[str, Any]:
    return _typed("string", description)


def number(description: str | None = None) -> dict[str, Any]:
    return _typed("number", description)


def whole(description: str | None = None) -> dict[str, Any]:
    return _typed("integer", description)


def flag(description: str | None = None) -> dict[str, Any]:
    return _typed("boolean", description)


def or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same schema, or null."""
    return {**schema, "type": [schema["type"], "null"]}


def _typed(kind: str, description: str | None) -> dict[str, Any]:
    return {"type": kind} if description is None else {"type": kind, "description": description}

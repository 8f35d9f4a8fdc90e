"""Short functions for writing JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def record(properties: Mapping[str, Mapping[str, Any]], *required: str) -> dict[str, Any]:
    """An object with these properties and no others; the named ones are required."""
    return {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }


def outline(
    required: Mapping[str, str | Sequence[str]],
    optional: Mapping[str, str | Sequence[str]] | None = None,
) -> dict[str, Any]:
    """An object with at least these entries, by their types.

    Output schemas are this short because clients put the whole list of tools into a model's context: what
    needs to be said of an answer is in the tool's description.
    """
    properties = {name: {"type": kind} for name, kind in {**required, **(optional or {})}.items()}
    return {"type": "object", "properties": properties, "required": list(required)}


def array(items: Mapping[str, Any], most: int, description: str, **more: Any) -> dict[str, Any]:
    return _typed("array", description, {"items": dict(items), "maxItems": most, **more})


def choices(values: Iterable[Any], description: str, **more: Any) -> dict[str, Any]:
    """One of some words."""
    return text(description, enum=list(values), **more)


def text(description: str | None = None, **more: Any) -> dict[str, Any]:
    return _typed("string", description, more)


def named(description: str | None, most: int = 4096) -> dict[str, Any]:
    """A name, a model or a path."""
    return text(description, minLength=1, maxLength=most)


def number(description: str | None = None, **more: Any) -> dict[str, Any]:
    return _typed("number", description, more)


def whole(description: str | None = None, **more: Any) -> dict[str, Any]:
    return _typed("integer", description, more)


def flag(description: str | None = None, **more: Any) -> dict[str, Any]:
    return _typed("boolean", description, more)


def _typed(kind: str, description: str | None, more: Mapping[str, Any]) -> dict[str, Any]:
    said = {} if description is None else {"description": description}
    return {"type": kind, **said, **more}

"""Short functions for writing JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any


def record(required: str = "", /, **properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with these properties and no others; the required ones are named with spaces between them."""
    found = {name: dict(schema) for name, schema in properties.items()}
    return {
        "type": "object",
        "properties": found,
        "required": required.split(),
        "additionalProperties": False,
    }


def outline(required: str, optional: str = "") -> dict[str, Any]:
    """An object with at least these entries, each `name:type` or `name,name:type|type`; a `?` allows null.

    Output schemas are this short because clients put the whole list of tools into a model's context: what
    needs to be said of an answer is in the tool's description.
    """
    properties: dict[str, Any] = {}
    for part in f"{required} {optional}".split():
        names, _, kinds = part.partition(":")
        types = [*kinds.removesuffix("?").split("|"), *(["null"] if kinds.endswith("?") else [])]
        properties |= {name: {"type": types if types[1:] else types[0]} for name in names.split(",")}
    least = [name for part in required.split() for name in part.partition(":")[0].split(",")]
    return {"type": "object", "properties": properties, "required": least}


def array(items: Mapping[str, Any], most: int, description: str, **more: Any) -> dict[str, Any]:
    return _typed("array", description, items=dict(items), maxItems=most, **more)


def choices(values: Iterable[Any], description: str, **more: Any) -> dict[str, Any]:
    """One of some words."""
    return text(description, enum=list(values), **more)


def named(description: str | None, most: int = 4096) -> dict[str, Any]:
    """A name, a model or a path."""
    return text(description, minLength=1, maxLength=most)


def _typed(kind: str, description: str | None = None, **more: Any) -> dict[str, Any]:
    said = {} if description is None else {"description": description}
    return {"type": kind, **said, **more}


text, number = partial(_typed, "string"), partial(_typed, "number")
whole, flag = partial(_typed, "integer"), partial(_typed, "boolean")

"""The reference of the contract: tables for its page, and all schemas as one document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from longwire.contract.schemas import DIALECT, SCHEMAS, Schema, Sender

_TITLES: Final[dict[Sender, str]] = {"runtime": "From the runtime", "worker": "From the worker"}
_OWN: Final = frozenset({"mode", "event"})  # fields that every envelope has


def tables() -> str:
    """All envelopes with their fields, as Markdown."""
    return "\n".join(line for sender in SCHEMAS for line in _of_sender(sender))


def _of_sender(sender: Sender) -> Iterator[str]:
    yield f"### {_TITLES[sender]}"
    yield ""
    yield "| event | field | type | |"
    yield "|---|---|---|---|"
    for event, schema in SCHEMAS[sender].items():
        yield f"| **`{event}`** | | | {schema['description']} |"
        for name, field in schema["properties"].items():
            if name not in _OWN:
                yield f"| | `{name}`{_optional(schema, name)} | {_type(field)} | {_meaning(field)} |"
    yield ""


def _optional(schema: Schema, name: str) -> str:
    return "" if name in schema["required"] else " (optional)"


def _type(field: Schema) -> str:
    kind = field["type"]
    return kind if isinstance(kind, str) else " or ".join(kind)


def _meaning(field: Schema) -> str:
    said = [str(field["description"])] if "description" in field else []
    if "const" in field:
        said.append(f"{field['const']}")
    elif "enum" in field:
        said.append("one of " + ", ".join(f"`{value}`" for value in field["enum"] if value is not None))
    return "; ".join(said)


def bundle() -> dict[str, Any]:
    """All schemas as one: an envelope is valid if it fits one of them."""
    parts = {
        f"{sender}-{event}": {name: part for name, part in schema.items() if name != "$schema"}
        for sender, found in SCHEMAS.items()
        for event, schema in found.items()
    }
    return {
        "$schema": DIALECT,
        "title": "Envelopes of Longwire's worker contract, version 1",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in parts],
        "$defs": parts,
    }


def bundle_text() -> str:
    """The same as the text of a file."""
    return json.dumps(bundle(), indent=1, ensure_ascii=False) + "\n"

"""JSON that everybody reads alike: in UTF-8, no name twice, no numbers that JSON doesn't have. No I/O."""

from __future__ import annotations

from typing import Any

from acuity.foreign_json import parse_json


def parse_strictly(text: bytes) -> Any:
    """The document in a text; raises ValueError."""
    return parse_json(text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member comes twice")  # readers could differ on which one counts
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")

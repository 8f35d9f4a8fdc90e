"""Makes tools accept arguments beyond their schemas: other tools' names of the same thing, numbers as text.

Models write the arguments of one tool by the names of another, `"576"` for a number, lists where a tool
takes a text with commas, and such a text for a list. Where that can mean only one thing, it is taken as that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from longwire.product.catalog import Tool

# Names of the same thing, each tool has one of them.
_SAME: Final = (
    ("ref", "reference", "reference_encoded", "reference_path"),
    ("dis", "dist", "distorted", "distorted_encoded", "distorted_path"),
    ("src", "source"),
    ("pixfmt", "pix_fmt", "pixel_format"),
    ("bitdepth", "bit_depth"),
    ("model", "vmaf_model"),
    ("target_vmaf", "target"),
    ("frame_cnt", "frames"),
    ("frame_skip_ref", "skip_ref"),
    ("frame_skip_dist", "skip_dis"),
)
_LONGEST_NUMBER: Final = 100  # characters of one that is written as text
_WITH_COMMAS: Final = frozenset({"encoders", "target_vmafs", "resolutions"})


def accepting(tools: Iterable[Tool]) -> list[Tool]:
    """The tools, made to accept such arguments too."""
    return [replace(tool, accept=partial(_accepted, tool.input_schema["properties"])) for tool in tools]


def _accepted(properties: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    named = {_name(name, properties, given): value for name, value in given.items()}
    return {name: _value(name, value, properties.get(name, {})) for name, value in named.items()}


def _name(name: str, properties: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    if name in properties:
        return name
    same = next((names for names in _SAME if name in names), ())
    own = [other for other in same if other in properties]
    asked = [other for other in same if other in given]
    return own[0] if len(own) == 1 and len(asked) == 1 else name


def _value(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    if name in _WITH_COMMAS and isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, str) and schema.get("type") == "array" and not value.lstrip().startswith("["):
        return [entry for part in value.split(",") if (entry := part.strip())]
    if (
        not isinstance(value, str)
        or len(value) > _LONGEST_NUMBER
        or schema.get("type") not in ("integer", "number")
    ):
        return value
    try:
        number = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if isinstance(number, bool) or not isinstance(number, int | float) else number

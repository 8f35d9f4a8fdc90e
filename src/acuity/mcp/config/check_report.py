"""What `--check` prints: every key with its value and where it comes from, as TOML or JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from acuity.mcp.config.effective import Effective, Value
from acuity.mcp.config.keys import KEYS, SECTIONS, Key
from acuity.text import one_line

SCHEMA: Final = "acuity.serve.check/1"
_HIDDEN: Final = "[hidden]"
_WIDEST: Final = 48  # characters before the remark


def as_toml(values: Effective) -> str:
    """A configuration file with these values; what isn't set is a comment."""
    lines: list[str] = []
    for section in SECTIONS:
        lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
        for key in KEYS:
            if key.section == section:
                found = values.values[key.path]
                lines.append(f"{_assigned(key, found.value):{_WIDEST}}  # {_sources(found)}".rstrip())
    for name, near in values.mistyped:
        lines += ["", f"# the variable {one_line(name)} means nothing: did you mean {near}?"]
    return "\n".join(lines)


def as_json(values: Effective) -> str:
    """One JSON document with the same values."""
    rows = [
        {
            "key": key.path,
            "value": _plain(key, values[key.path]),
            "source": values.source(key.path).kind,
            "from": [source.name for source in values.values[key.path].sources if source.name],
        }
        for key in KEYS
    ]
    config = None if values.config is None else str(values.config)
    mistyped = [{"variable": name, "near": near} for name, near in values.mistyped]
    return json.dumps({"schema": SCHEMA, "config": config, "keys": rows, "mistyped": mistyped}, indent=2)


def _plain(key: Key, value: Any) -> Any:
    if value is None:
        return None
    return _HIDDEN if key.secret else key.kind.plain(value)


def _assigned(key: Key, value: Any) -> str:
    if value is None:
        return f"# {key.name} is not set"
    if key.secret:
        return f"# {key.name} is set, and hidden"
    return f"{key.name} = {toml_value(key.kind.plain(value))}"


def _sources(found: Value) -> str:
    return one_line(", ".join(map(str, found.sources)))


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        inner = ", ".join(f"{toml_value(name)} = {toml_value(entry)}" for name, entry in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{value:.12g}" if isinstance(value, float) else json.dumps(value)

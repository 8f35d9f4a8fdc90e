"""The output of `--check`: every key with its value and where it comes from, as TOML or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from longwire.config.effective import Effective
from longwire.config.key import Key
from longwire.config.keys import keys, sections
from longwire.config.kinds import toml_value, whole_path
from longwire.declared import declared
from longwire.text import one_line

# How sentences about a file begin: FILE, line 3: server.http: …
_PLACE: Final = re.compile(
    r"(?P<file>[^:]+\.[^:,]+?)(?:, line (?P<line>\d+))?: (?:(?P<key>[a-z_]+\.[a-z_]+): )?"
)
_HIDDEN: Final = "[hidden]"
_WIDEST: Final = 48  # characters before the remark
_UNCHECKED: Final = "not checked: whether a port, a socket or the session store is in use already"
_OF_CLUSTER: Final = "whether Redis answers, and whether the label and the secret suit the other nodes"
# Keys that are refused beside another one that is set.
_REPLACED: Final = {"store.sessions": "cluster.redis"}


def as_toml(values: Effective, warnings: Sequence[str] = ()) -> str:
    """A configuration file with these values; what isn't set is a comment, and so are the warnings."""
    lines: list[str] = []
    for section in sections():
        lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
        for key in keys():
            if key.section == section:
                found = values.values[key.path]
                if _is_replaced(values, key):
                    lines.append(f"# {key.name} is not used: see [{_REPLACED[key.path].replace('.', '] ')}")
                else:
                    sources = one_line(", ".join(map(str, found.sources)))
                    lines.append(f"{_assigned(key, found.value):{_WIDEST}}  # {sources}".rstrip())
    lines += ["", *(f"# warning: {one_line(warning)}" for warning in warnings), f"# {_unchecked(values)}"]
    return "\n".join(lines)


def as_json(values: Effective, warnings: Sequence[str] = ()) -> str:
    """One JSON document with the same values."""
    rows = [
        {
            "key": key.path,
            "value": None if _is_replaced(values, key) else _plain(key, values[key.path]),
            "source": values.source(key.path).kind,
            "from": [source.name for source in values.values[key.path].sources if source.name],
        }
        for key in keys()
    ]
    document = {
        "schema": _schema(),
        "ok": True,
        "config": None if values.config is None else whole_path(values.config),
        "keys": rows,
        "mistyped": [{"variable": name, "near": near} for name, near in values.mistyped],
        "warnings": list(warnings),
        "unchecked": _unchecked(values).removeprefix("not checked: "),
    }
    return json.dumps(document, indent=2)


def failure_as_json(error: Exception) -> str:
    """The JSON document of a configuration that can't be used: all that is wrong, and the first of it."""
    problems = getattr(error, "problems", (str(error),))
    errors = [_problem(said) for said in problems]
    return json.dumps({"schema": _schema(), "ok": False, "error": errors[0], "errors": errors}, indent=2)


def _schema() -> str:
    return f"{declared().name}.serve.check/1"


def _problem(said: str) -> dict[str, Any]:
    place = _PLACE.match(said)
    return {
        "sentence": said,
        "file": place["file"] if place else None,
        "line": int(place["line"]) if place and place["line"] else None,
        "key": place["key"] if place and place["key"] in {key.path for key in keys()} else None,
    }


def _unchecked(values: Effective) -> str:
    return _UNCHECKED if values["cluster.redis"] is None else f"{_UNCHECKED}; {_OF_CLUSTER}"


def _is_replaced(values: Effective, key: Key) -> bool:
    other = _REPLACED.get(key.path)
    return other is not None and values[other] is not None


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

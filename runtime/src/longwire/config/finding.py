"""The values that count: of an option, else of a variable, else of the file, else the default.

`--check` shows every key with its value and where it comes from, as TOML or JSON.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from longwire.config.effective import Effective, Source, Value
from longwire.config.key import Key, Problems
from longwire.config.keys import default_of, keys, sections
from longwire.config.kinds import toml_value, whole_path
from longwire.config.toml_file import ConfigFile, read_config
from longwire.declared import declared
from longwire.errors import SettingsError
from longwire.text import one_line

_NEAR: Final = 0.88  # of difflib: a letter or two in a name of this length


def effective(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
    config: Path | None = None,
    problems: Problems | None = None,
) -> Effective:
    """Find the value of every key; raises SettingsError, or notes what is wrong in `problems`.

    `flags` has the parsed values of options, by key with its section. `config` is a file, otherwise the
    variable PREFIX_CONFIG of the product may name one.
    """
    source, variable, known = "--config", declared().config_variable, keys()
    if config is None and (named := environ.get(variable)):
        config, source = Path(os.path.expanduser(named)), variable
    file, flags, noted = ConfigFile(), flags or {}, problems or Problems()
    if config is not None:
        with noted.noted(*(key.path for key in known)):
            file = read_config(config, source, noted)
    values: dict[str, Value] = {}
    for key in known:
        found = []
        if key.path in file.values:
            source_there = Source("file", str(config), file.lines.get(key.path))
            found.append(Value(file.values[key.path], (source_there,)))
        # A variable that is set to nothing is as good as unset, except where it should hold a secret.
        if (text := environ.get(key.environment)) or (key.secret and text is not None):
            with noted.noted(key.path):
                found.append(Value(_of_variable(key, text), (Source("variable", key.environment),)))
        if key.path in flags:
            found.append(Value(flags[key.path], (Source("flag", key.option or ""),)))
        if not found:
            found.append(Value(default_of(key, environ), (Source("default"),)))
        values[key.path] = _together(found) if key.adds else found[-1]
    if problems is None:
        noted.tell()
    mistyped, unread = tuple(_mistyped(environ)), frozenset(noted.unread)
    return Effective(values, known, declared().settings(), config, mistyped, unread)


def _mistyped(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Variables whose names are almost those of keys. Others of that form may be somebody else's."""
    own = declared()
    known = [own.config_variable, *(key.environment for key in keys())]
    for name in sorted(environ):
        if name.startswith((own.prefix, *own.other_prefixes)) and name not in known:
            for near in difflib.get_close_matches(name, known, n=1, cutoff=_NEAR):
                yield name, near


def _of_variable(key: Key, text: str) -> Any:
    if key.secret:
        return text  # checked by its reader, which doesn't repeat it
    try:
        return key.kind.parse(text)
    except SettingsError as error:
        raise SettingsError(f"{key.environment}: {error}: correct or unset it") from None


def _together(found: list[Value]) -> Value:
    entries = dict.fromkeys(entry for each in found for entry in each.value)
    sources = tuple(source for each in found for source in each.sources)
    return Value(tuple(entries), sources, tuple(each.value for each in found))


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

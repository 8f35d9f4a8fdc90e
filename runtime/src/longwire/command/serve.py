"""Serve MCP clients over stdin and stdout, a Unix socket or HTTP; the methods run in workers.

    longwire serve --http 8080 --worker-command "python worker.py"
    longwire serve --http 0.0.0.0:8080 --token-file token.txt --worker-socket /run/worker.sock
    longwire serve --config longwire.toml --check

Streamable HTTP is at /mcp. It listens on this machine only, unless HOST names another address; then every
client has to send the token."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from longwire.config.effective import Effective
from longwire.config.finding import as_json, as_toml, effective, failure_as_json
from longwire.config.key import Key, Problems
from longwire.config.keys import GROUPS as KEY_GROUPS
from longwire.config.keys import default_of, keys
from longwire.errors import LongwireError, SettingsError, UsageError
from longwire.names import own_names

USAGE: Final = "[options]"  # there are dozens


class Once(argparse.Action):
    """Takes the value of an option, and refuses a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest, None) is not None:
            raise argparse.ArgumentError(self, "it is given twice: keep one")
        setattr(namespace, self.dest, values)


def _configuration() -> dict[str, dict[str, Any]]:
    variable = own_names().config_variable
    return {
        "--config": {
            "action": Once,
            "help": f"a TOML file with any of these settings (or set {variable}); options and variables win",
            "metavar": "FILE",
            "type": Path,
        },
        "--check": {"help": "print every setting and where it comes from, and stop", "action": "store_true"},
        "--json": {"help": "with --check: one JSON document", "action": "store_true"},
    }


def _argument(key: Key) -> dict[str, Any]:
    """How argparse takes the option of a key."""
    kind = key.kind
    if kind.switch:
        return {"help": key.help, "dest": key.path, "action": "store_const", "const": True}
    told = f"{key.help}; may be repeated" if kind.many else key.help
    default = default_of(key, {})
    if not kind.many and default is not None and not key.default_text:
        told += f" (default: {default:g})" if isinstance(default, float) else f" (default: {default})"
    taken: dict[str, Any] = {
        "help": told.replace("%", "%%"),
        "dest": key.path,
        "type": _reader(kind.parse_option),
        "metavar": key.metavar or kind.metavar,
    }
    if kind.choices:
        taken |= {"type": str, "choices": kind.choices, "metavar": None}
    return taken | {"action": "append" if kind.many else Once}


def _reader(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return parse(text)
        except SettingsError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def option_groups() -> dict[str, dict[str, dict[str, Any]]]:
    """The options of `serve` by group, each with what argparse takes."""
    known = keys()
    return {
        title: {key.option: _argument(key) for key in known if key.group == title and key.option is not None}
        for title in KEY_GROUPS
    } | {"configuration": _configuration()}


def configure(parser: argparse.ArgumentParser) -> None:
    for title, entries in option_groups().items():
        group = parser.add_argument_group(title)
        for name, settings in entries.items():
            group.add_argument(name, **settings)


def values(arguments: argparse.Namespace, problems: Problems | None = None) -> Effective:
    """The value of every key, as the command line, the variables and the file have it."""
    given = {key.path: value for key in keys() if (value := getattr(arguments, key.path, None)) is not None}
    for key in keys():
        if key.kind.many and key.path in given:
            given[key.path] = _joined(given[key.path])
    return effective(given, config=arguments.config, problems=problems)


def _joined(parts: Sequence[Any]) -> Any:
    if all(isinstance(part, Mapping) for part in parts):
        return {name: value for part in parts for name, value in part.items()}
    return tuple(dict.fromkeys(entry for part in parts for entry in part))


def run(arguments: argparse.Namespace) -> int:
    # Pydantic would search all installed distributions for plugins, which takes longer the more there are.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if arguments.json and not arguments.check:
        raise UsageError("--json is for --check: add it, or leave --json out")
    if arguments.check:
        return _check(arguments)
    problems = Problems()
    found = values(arguments, problems)
    from longwire.server.main import run as serve
    from longwire.server.start_options import options

    return serve(replace(options(found, problems), again=partial(values, arguments)))


def _check(arguments: argparse.Namespace) -> int:
    """Print what a server would start with, or why it would not."""
    problems = Problems()
    try:
        found = values(arguments, problems)
        from longwire.server.main import tool_names
        from longwire.server.start_options import options

        wanted = options(found, problems)
        tools = tool_names(wanted.settings) if wanted.named else None  # which takes a second
        said = [*wanted.warnings, *wanted.named.oversights(tools)]
    except LongwireError as error:
        if not arguments.json:
            raise
        print(failure_as_json(error))
        return 1
    print((as_json if arguments.json else as_toml)(found, said))
    return 0

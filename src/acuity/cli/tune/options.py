"""Options of the tuning commands, made from the fields of their requests."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

from acuity.cli.getopt import UsageError, too_large
from acuity.tune.request import TuneRequest
from acuity.tune.setting import ENCODING, MEASURED, OUTPUT, SOURCE, WANTED, WORK, Setting

_Request = TypeVar("_Request", bound=TuneRequest)
_GROUPS: Final = (WANTED, SOURCE, ENCODING, MEASURED, OUTPUT, WORK)
# The letters of options, as other commands have them.
_LETTERS: Final = {"encoder": "-e", "output": "-o"}


def configure(
    parser: argparse.ArgumentParser, kind: type[TuneRequest], *, formats: Sequence[str] = ()
) -> None:
    """Add the source and the options of a request; `formats` are those of the answer."""
    parser.add_argument("source", nargs="?", metavar="SRC", help="the video to encode")
    parser.add_argument("--src", metavar="SRC", help=argparse.SUPPRESS)  # as the original has it
    table = kind.settings_table()
    defaults = {entry.name: entry.default for entry in fields(kind)}
    for group in _GROUPS:
        mine = [
            name
            for name, about in table.items()
            if about.group == group and not (formats and name == "format")
        ]
        section = parser.add_argument_group(group)
        for name in mine:
            _add(section, name, table[name], defaults[name])
        if group == OUTPUT:
            if formats:
                section.add_argument("--format", choices=formats, default=formats[0], help="of the answer")
            if "output" not in table:
                section.add_argument("-o", "--output", metavar="FILE", help="write the answer to this file")
            section.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _add(section: Any, name: str, about: Setting, default: Any) -> None:
    names = [_LETTERS[name]] if name in _LETTERS else []
    names.append(f"--{name.replace('_', '-')}")
    shown = "" if default in (None, False, (), "") else f" (default: {default})"
    made: dict[str, Any] = {"dest": name, "help": (about.help + shown).replace("%", "%%")}
    if about.kind == "boolean":
        section.add_argument(*names, action="store_true", **made)
        return
    made["default"] = None if about.kind == "array" else default
    if about.choices:
        made["choices"] = about.choices
    else:
        made["metavar"] = about.metavar or {"integer": "N", "number": "X"}.get(about.kind, "WORD")
    if about.kind in _NUMBERS:
        made["type"] = _NUMBERS[about.kind](about)
    if about.kind == "array":
        made["action"] = "append"
    section.add_argument(*names, **made)


def _whole(about: Setting) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.removeprefix("-").isdigit():
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
        if (fault := too_large(text)) is not None:
            raise argparse.ArgumentTypeError(fault)
        return int(_within(int(text), about))

    return parse


def _real(about: Setting) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise argparse.ArgumentTypeError(f"'{text}' is not a number")
        return _within(value, about)

    return parse


_NUMBERS: Final[dict[str, Callable[[Setting], Callable[[str], Any]]]] = {"integer": _whole, "number": _real}


def _within(value: float, about: Setting) -> float:
    if about.minimum is not None and value < about.minimum:
        raise argparse.ArgumentTypeError(f"'{value:g}' should be {about.minimum:g} or more")
    if about.maximum is not None and value > about.maximum:
        raise argparse.ArgumentTypeError(f"'{value:g}' should be {about.maximum:g} or less")
    return value


def request(kind: type[_Request], arguments: argparse.Namespace) -> _Request:
    """The request that the options make."""
    named = [path for path in (arguments.source, arguments.src) if path is not None]
    if not named:
        raise UsageError("the source is missing: name it, as in 'vmaf-tune search film.mkv'")
    if len(named) > 1:
        raise UsageError("the source is given twice: name it once")
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name in kind.settings_table()
        if (value := getattr(arguments, name)) is not None
    }
    return kind(src=named[0], **given)

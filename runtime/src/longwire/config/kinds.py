"""The kinds of values that keys take: how each is read from a file or a text, and how it is shown."""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from longwire.errors import SettingsError
from longwire.journal.stores import file_store
from longwire.principals.rates import Rate, parse_rate
from longwire.text import quoted, shortened
from longwire.wire.listeners import Address


def toml_value(value: Any) -> str:
    match value:
        case dict():
            inner = ", ".join(f"{toml_value(name)} = {toml_value(entry)}" for name, entry in value.items())
            return f"{{{inner}}}"
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case float():
            return f"{value:.12g}"
        case _:
            return json.dumps(value)


_LONGEST_SECONDS: Final = 10.0**9
_LARGEST: Final = 1 << 40
_DIGITS: Final = 20
_Number = TypeVar("_Number", int, float)
_REDIS: Final = ("redis://", "rediss://", "unix://")
_TRUTH: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Kind:
    """The values of a key. Its functions raise SettingsError with a sentence that begins with the value."""

    read: Callable[[Any, Path | None], Any]  # from a value of TOML, and the folder that paths are relative to
    parse: Callable[[str], Any]  # from an environment variable
    metavar: str
    plain: Callable[[Any], Any] = lambda value: value  # as a value of TOML and JSON
    option: Callable[[str], Any] | None = None  # from an option, where that isn't parse
    many: bool = False  # the option may be repeated; values are tuples or mappings that add up
    choices: tuple[str, ...] = ()
    switch: bool = False  # the option takes no value

    def parse_option(self, text: str) -> Any:
        return (self.option or self.parse)(text)


def said(value: object) -> str:
    """A value as sentences repeat it."""
    if isinstance(value, str | float):  # 1.0 is no 1
        return quoted(value)
    return shortened(toml_value(value))


def checked_text(value: Any) -> str:
    """The value if it is a text that can be used as a name or path; raises SettingsError."""
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{said(value)} should be a text")
    if not value.isprintable():
        raise SettingsError(f"{said(value)} has control characters: leave them out")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise SettingsError(f"{said(value)} should be a list of texts, as in ['a', 'b']")
    return tuple(dict.fromkeys(checked_text(entry) for entry in value))


def _split(text: str, separator: str = ",") -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]


def _as_typed(read: Callable[[Any], _Number], number: _Number, text: str) -> _Number:
    """The number in a text, which sentences about it repeat as it was typed."""
    try:
        return read(number)
    except SettingsError as error:
        raise SettingsError(str(error).replace(said(number), said(text), 1)) from None


def whole(least: int = 1, most: int = _LARGEST, metavar: str = "N") -> Kind:
    wanted = f"should be a whole number of {least} or more"
    too_much = f"is too much: it should be {most} at most"

    def read(value: Any, _: Path | None = None) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise SettingsError(f"{said(value)} {wanted}")
        if value > most:
            raise SettingsError(f"{said(value)} {too_much}")
        return value

    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit():
            raise SettingsError(f"{said(text)} {wanted}")
        if len(text) > _DIGITS:  # Python reads no more than some thousands
            raise SettingsError(f"{said(text)} {too_much}")
        return _as_typed(read, int(text), text)

    return Kind(read, parse, metavar)


def seconds(zero: bool = False) -> Kind:
    """Seconds, finite and above 0, or also 0."""

    def read(value: Any, _: Path | None = None) -> float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and (value < 0 or (value == 0 and not zero)):
            raise SettingsError(f"{said(value)} should be {'0 or more' if zero else 'more than 0'} seconds")
        if not number or not value <= _LONGEST_SECONDS:  # also NaN
            raise SettingsError(f"{said(value)} should be a number of seconds")
        return float(value)

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        return _as_typed(read, number, text)

    return Kind(read, parse, "S")


def one_of(*choices: str) -> Kind:

    def read(value: Any, _: Path | None = None) -> str:
        if value not in choices:
            raise SettingsError(f"{said(value)} should be one of {', '.join(choices)}")
        return str(value)

    return Kind(read, read, "NAME", choices=choices)


def text(metavar: str, check: Callable[[str], object] = checked_text) -> Kind:

    def read(value: Any, _: Path | None = None) -> str:
        check(checked_text(value))
        return str(value)

    return Kind(read, read, metavar)


def texts(metavar: str, check: Callable[[str], object] = checked_text) -> Kind:
    """A list of texts that each pass a check; in variables and options they are joined with commas."""

    def read(value: Any, _: Path | None = None) -> tuple[str, ...]:
        found = _texts(value)
        for entry in found:
            check(entry)
        return found

    return Kind(read, lambda joined: read(_split(joined)), metavar, plain=list, many=True)


def _named(
    metavar: str,
    what: str,
    separator: str,
    entry: Callable[[Any], Any],
    parse: Callable[[str], Any],
    plain: Callable[[Any], Any],
    check: Callable[[Any], object],
) -> Kind:
    """A table of names and entries; in variables and options as NAME=ENTRY, joined with the separator."""

    def read(value: Any, _: Path | None = None) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise SettingsError(f"{said(value)} should be a table of names and {what}")
        found = {checked_text(name): entry(given) for name, given in value.items()}
        check(found)
        return found

    def parse_all(joined: str) -> dict[str, Any]:
        return read({name: parse(given) for name, given in map(_pair, _split(joined, separator))})

    shown = lambda value: {name: plain(given) for name, given in value.items()}  # noqa: E731
    return Kind(read, parse_all, metavar, plain=shown, many=True)


def named_rates(metavar: str) -> Kind:
    return _named(metavar, "rates", ",", _rate, str, str, lambda _: None)


def named_lists(metavar: str, check: Callable[[dict[str, tuple[str, ...]]], object]) -> Kind:
    """A table of names and lists of texts; in variables and options as NAME=A,B, joined with semicolons."""
    return _named(metavar, "lists of texts", ";", _texts, _split, list, check)


def _pair(part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if not equals or not name.strip():
        raise SettingsError(f"{said(part)} should have the form NAME=VALUE")
    return name.strip(), value.strip()


def _path(value: Any, base: Path | None = None) -> Path:
    return (base or Path()) / os.path.expanduser(checked_text(value))


def whole_path(path: str | Path) -> str:
    """The path from the root on, without '..' where that doesn't lead elsewhere because of a link."""
    short = os.path.abspath(path)
    return short if os.path.realpath(short) == os.path.realpath(path) else str(Path(path).absolute())


def _place(value: Any, base: Path | None = None) -> Path:
    return Path(whole_path(_path(value, base)))


def _folders(value: Any, base: Path | None = None) -> tuple[str, ...]:
    found = []
    for entry in _texts(value):
        path = _path(entry, base)
        if not path.is_dir():
            place = "" if str(path) == entry else f" ({shortened(whole_path(path))})"
            raise SettingsError(f"'{shortened(entry)}'{place} is no folder: make it, or name another")
        found.append(whole_path(path))
    return tuple(found)


def _address(value: Any, _: Path | None = None) -> Address:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise SettingsError(f"{said(value)} is no address: write a port such as 8080, or '127.0.0.1:8080'")
    return Address.parse(checked_text(value))


def _rate(value: Any, _: Path | None = None) -> Rate:
    if not isinstance(value, str):
        raise SettingsError(
            f"{said(value)} is no rate: write a number and s, min, hour or day in quotes, such as '60/min'"
        )
    return parse_rate(checked_text(value))


def _store(value: Any, base: Path | None = None) -> str:
    text = checked_text(value)
    found = file_store(text)
    return text if found is None else f"{text.partition(':')[0]}:{_place(found[1], base)}"


def _redis(value: Any, _: Path | None = None) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise SettingsError(f"{said(value)} should be an address such as redis://HOST:6379")
    if not value.startswith(_REDIS):
        raise SettingsError(
            f"{quoted(hidden_password(value))} is no address of Redis: write redis://HOST:PORT/NUMBER, "
            "rediss:// for TLS, or unix:///PATH"
        )
    return value


def hidden_password(url: str) -> str:
    """An address without what stands before its host."""
    scheme, separator, rest = url.rpartition("://")
    known, at, host = rest.rpartition("@")
    return f"{scheme}{separator}{'***' if known else ''}{at}{host}"


def _file_or_url(value: Any, base: Path | None = None) -> str:
    text = checked_text(value)
    return text if "://" in text else str(_path(text, base))


def _truth(value: Any, _: Path | None = None) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"{said(value)} should be true or false")
    return value


# Folders in the variable that aren't there are passed over, as the other servers that read it do.
FOLDERS: Final = Kind(
    _folders,
    lambda joined: tuple(part for part in joined.split(":") if part),
    "DIR",
    plain=list,
    option=lambda name: _folders([name]),
    many=True,
)
# The path as it was typed, for sentences about it; shown whole, so that it works from any folder.
FILE: Final = Kind(_path, _path, "FILE", plain=whole_path)
PATH: Final = Kind(
    lambda value, base: str(_path(value, base)), lambda name: str(_path(name)), "PATH", plain=whole_path
)
FILE_OR_URL: Final = Kind(
    _file_or_url, _file_or_url, "FILE|URL", plain=lambda place: place if "://" in place else whole_path(place)
)
# The name of a program on PATH, or a path to it.
PROGRAM: Final = Kind(
    lambda value, _: os.path.expanduser(checked_text(value)),
    lambda name: os.path.expanduser(checked_text(name)),
    "PATH",
    plain=lambda name: whole_path(name) if os.sep in name else name,
)
PLACE: Final = Kind(_place, _place, "PATH", plain=str)  # absolute
ADDRESS: Final = Kind(_address, _address, "[HOST:]PORT", plain=str)
RATE: Final = Kind(_rate, _rate, "RATE", plain=str)
REDIS: Final = Kind(_redis, _redis, "URL", plain=hidden_password)  # which may have a password in it
STORE: Final = Kind(_store, _store, "STORE")
SWITCH: Final = Kind(_truth, lambda word: _truth(_TRUTH.get(word.lower(), word)), "", switch=True)

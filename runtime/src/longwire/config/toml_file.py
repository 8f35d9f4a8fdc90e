"""Reads the configuration file: TOML with one section for each part of the server."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from longwire.config.key import Key, Problems
from longwire.config.keys import keys, sections
from longwire.errors import SettingsError
from longwire.text import one_line, shortened, why_no_toml

_LARGEST: Final = 1 << 20  # bytes of a file that somebody wrote by hand


def _names() -> dict[tuple[str, str], Key]:
    """The keys by section and name, other names included."""
    return {(key.section, name): key for key in keys() for name in (key.name, *key.aliases)}


def read_config(path: Path, source: str = "--config", problems: Problems | None = None) -> ConfigFile:
    """Read a configuration file, which the option or variable `source` names; raises SettingsError.

    If `problems` are given, values that can't be used are noted there and left out.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(
            f"can't read the configuration '{path}' ({source}): {reason}: name a file that can be read"
        ) from None
    if len(data) > _LARGEST:
        raise SettingsError(f"the configuration '{path}' is larger than {_LARGEST} bytes: name another file")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise SettingsError(f"the configuration '{path}' is no UTF-8 text: save it as one") from None
    return parse_config(text, path, problems)


def parse_config(text: str, path: Path, problems: Problems | None = None) -> ConfigFile:
    """The values in the text of a configuration file; raises SettingsError, as read_config() does."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"the configuration '{path}' is no TOML: {why_no_toml(error)}") from None
    file, noted = ConfigFile(text, path), problems or Problems()
    file.take(document, noted)
    if problems is None:
        noted.tell()
    return file


class ConfigFile:
    """The values of a configuration file, by key with its section, and the line of one that can't be used."""

    def __init__(self, text: str = "", path: Path = Path()) -> None:
        self._path = path
        self._names = _names()
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}  # where each is, if that is plain to see
        # Headers and keys can be told by their form, except among the lines of long strings.
        self._lines = [] if '"""' in text or "'''" in text else text.splitlines()

    def take(self, document: Mapping[str, Any], problems: Problems) -> None:
        """Take the values out of the parsed text."""
        for section, entries in document.items():
            with problems.noted():
                self._check_section(section, entries)
                for name, value in entries.items():
                    with problems.noted():
                        self._take(section, name, value, problems)

    def _take(self, section: str, name: str, value: Any, problems: Problems) -> None:
        key = self._names.get((section, name))
        if key is None:
            raise self._error(section, name, _unknown_key(section, name))
        if key.path in self.values:
            raise self._error(section, name, f"[{section}] {key.name} is set twice: keep one")
        for entry in value if isinstance(value, dict) and len(value) > 1 else ():
            with problems.noted(key.path):  # each that can't be used, in its own line
                self._read(key, name, {entry: value[entry]})
        if key.path in problems.unread:
            return
        with problems.noted(key.path):
            self.values[key.path] = self._read(key, name, value)
        if line := self._line(section, name):
            self.lines[key.path] = line

    def _read(self, key: Key, name: str, value: Any) -> Any:
        try:
            return key.kind.read(value, self._path.parent)
        except SettingsError as error:
            (entry,) = value if isinstance(value, dict) and len(value) == 1 else ("",)
            said = "it should be a text" if key.secret else str(error)
            raise self._error(key.section, name, f"{key.path}: {said}", entry) from None

    def _check_section(self, section: str, entries: Any) -> None:
        if section not in sections():
            owner = next((key for key in keys() if section in (key.name, *key.aliases)), None)
            if owner is not None and not isinstance(entries, dict):
                raise self._error(
                    None, section, f"'{section}' is in no section: it belongs into [{owner.section}]"
                )
            remedy = _near(section, sections()) or f"the sections are {', '.join(sections())}"
            raise self._error(section, None, f"there is no section [{shortened(section)}]: {remedy}")
        if not isinstance(entries, dict):
            raise self._error(None, section, f"'{section}' is a section: write [{section}], then its keys")

    def _error(self, section: str | None, name: str | None, sentence: str, entry: str = "") -> SettingsError:
        line = (self._line(f"{section}.{name}", entry) if entry else None) or self._line(section, name)
        return SettingsError(f"{self._path}{f', line {line}' if line else ''}: {one_line(sentence)}")

    def _line(self, section: str | None, name: str | None) -> int | None:
        """The number of the line where a section or a key begins; None where it isn't plain to see."""
        within: str | None = None
        for number, line in enumerate(self._lines, start=1):
            if header := re.match(r"\s*\[+\s*([^\]]*?)\s*\]", line):
                within = header[1]
                if (within == section and name is None) or (section, name) == _split(within):
                    return number
            elif name is not None and (assigned := re.match(r"\s*([\w.\"' -]+?)\s*=", line)):
                written = assigned[1].replace('"', "").replace("'", "").replace(" ", "")
                if (within == section and written.split(".")[0] == name) or (
                    within is None and _split(written) == (section, name)
                ):
                    return number
        return None


def _split(dotted: str) -> tuple[str | None, str]:
    section, dot, name = dotted.partition(".")
    return (section, name.split(".")[0]) if dot else (None, section)


def _unknown_key(section: str, name: str) -> str:
    begin = f"[{section}] has no key '{shortened(name)}'"
    if elsewhere := next((key for key in keys() if name in (key.name, *key.aliases)), None):
        return f"{begin}: it belongs into [{elsewhere.section}]"
    own = [known for place, known in _names() if place == section]
    remedy = _near(name, own) or _near(name, [key.name for key in keys()])
    return f"{begin}: {remedy or 'its keys are ' + ', '.join(own)}"


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(shortened(name), list(known), n=1)
    return f"did you mean '{close[0]}'?" if close else ""

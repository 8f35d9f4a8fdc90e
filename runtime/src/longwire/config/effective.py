"""The values of keys that count, each with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from longwire.config.key import Key, unread
from longwire.settings import Settings


class Source(NamedTuple):
    """The origin of a value: an option, a variable, the file or the default."""

    kind: Literal["flag", "variable", "file", "default"]
    name: str = ""  # of the option, the variable or the file
    line: int | None = None  # in the file, where it is plain to see

    @property
    def place(self) -> str:
        """The option, the variable, or the file with the line."""
        return f"{self.name}, line {self.line}" if self.line else self.name

    def __str__(self) -> str:
        return f"variable {self.name}" if self.kind == "variable" else self.name or self.kind


class Value(NamedTuple):
    """A value and where it comes from: one source, or several that add up."""

    value: Any
    sources: tuple[Source, ...]
    parts: tuple[Any, ...] = ()  # where they add up: the entries that each source has


@dataclass(frozen=True, slots=True)
class Effective:
    """The value of every key, by key with its section."""

    values: Mapping[str, Value]
    keys: tuple[Key, ...]
    settings_type: type[Settings]  # whose fields some of the keys fill
    config: Path | None = None  # the file that was read
    mistyped: tuple[tuple[str, str], ...] = ()  # variables that nothing reads, with the names that are near
    unread: frozenset[str] = frozenset()  # keys whose values can't be used, which was said already

    def __getitem__(self, path: str) -> Any:
        """The value of a key; raises SettingsError without a problem if it can't be used."""
        if path in self.unread:
            raise unread()
        return self.values[path].value

    def source(self, path: str) -> Source:
        """The last source of a value, the one that counts most."""
        return self.values[path].sources[-1]

    def named(self, path: str, source: Source | None = None) -> str:
        """A key as sentences begin with it: its line in the file, its option or its variable."""
        source = source or self.source(path)
        return f"{source.place}: {path}" if source.kind == "file" else source.place or path

    def settings(self) -> Settings:
        given = {key.setting: self[key.path] for key in self.keys if key.setting is not None}
        return self.settings_type(**given)

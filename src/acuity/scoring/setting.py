"""Setting: the description of a request's field, from which options, arguments and checks are made."""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from importlib import import_module
from typing import Any, Final, Literal

from acuity.errors import Remedy, to_set
from acuity.records import NamedTuple, Record, field
from acuity.text import shortened

MAX_COUNT: Final = 2**31 - 1  # frames and pixels: what C's int holds
MAX_TEXT: Final = 4096  # characters of a path, a model or a feature

Kind = Literal["integer", "number", "string", "boolean", "array"]
# The ways in besides Python, by how they spell things: `acuity`, `vmaf`, the scoring tools, compute_vmaf,
# and tuning.
Way = Literal["option", "getopt", "tool", "embedded", "tune"]


class Setting(NamedTuple):
    """The description of a request's field: type, bounds, meaning, the fronts that offer it, its names."""

    kind: Kind  # as JSON Schema has it; the entries of an array are strings
    help: str  # without a capital or a full stop; {models}, {features} and {backends} are where to find them
    default: Any
    group: str
    offered: str  # the ways in that have it, separated by spaces
    names: dict[str, str]  # the way in, and the setting's name there unless it is the field's own
    words: str | tuple[str, ...]  # the choices, or the `module:NAME` that has them
    minimum: float | None
    maximum: float | None
    metavar: str | None

    @property
    def choices(self) -> list[str | int]:
        """The values to choose from; empty where there is no fixed choice."""
        if not isinstance(self.words, str):
            return list(self.words)
        module, _, name = self.words.partition(":")
        return list(getattr(import_module(module), name))

    @property
    def most(self) -> float | None:
        """The greatest value of a number that has a least one."""
        return self.maximum or (None if self.minimum is None else MAX_COUNT)

    def fault(self, name: str, value: Any) -> tuple[str | Remedy, ...]:
        """The sentence about a value that a field of this name can't have, in pieces; empty if it can."""
        if value is None:
            return ()
        if self.kind in ("integer", "number"):
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                return to_set(name, shortened(str(value))), " is no number"
            if self.minimum is not None and value < self.minimum:
                return to_set(name, f"{value:g}"), f" should be {self.minimum:g} or more"
            if self.maximum is not None and value > self.maximum:
                return to_set(name, f"{value:g}"), f" should be {self.maximum:g} or less"
            return ()
        for text in value if self.kind == "array" else [value] if self.kind == "string" else []:
            if len(text) > MAX_TEXT:
                return to_set(name, shortened(text)), f" is longer than {MAX_TEXT} characters"
        if self.choices and value not in self.choices:
            known = ", ".join(map(str, self.choices))
            return to_set(name, shortened(value)), f" is unknown: use one of {known}"
        return ()

    @property
    def asks_for_less(self) -> bool:
        """Whether it is on unless it is switched off: what is asked for is its opposite."""
        return self.default is True


def setting(
    default: Any,
    kind: Kind,
    help: str,
    group: str = "",
    offered: str = "option getopt tool",
    *,
    choices: str | tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    metavar: str | None = None,
    **names: str,
) -> Any:
    """A field of a request with its setting; `names` are by way in."""
    made = None if callable(default) else default
    about = Setting(kind, help, made, group, offered, names, choices, minimum, maximum, metavar)
    if callable(default):
        return field(default_factory=default, metadata={"setting": about})
    return field(default=default, metadata={"setting": about})


class SettingsRecord(Record):
    """A record of which most fields have settings."""

    @classmethod
    def settings_table(cls) -> dict[str, Setting]:
        return {name: entry.metadata["setting"] for name, entry in cls.fields.items() if entry.metadata}

    def to_document(self) -> dict[str, Any]:
        """The fields that aren't at their default, as JSON can hold them.

        TypeError for readers and loaded models, which can't leave their process.
        """
        found: dict[str, Any] = {}
        for name, entry in self.fields.items():
            value = getattr(self, name)
            if value is not None and value != entry.usual:
                found[name] = _plain(name, value)
        return found


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if name == "fps":
        return str(value)
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, Collection) and all(isinstance(entry, str) for entry in value):
        return list(value)
    raise TypeError(f"the {name} of a request can't leave its process: {type(value).__name__}")

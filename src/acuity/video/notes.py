"""Notes about the two videos, for the reader of a score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from acuity.errors import Remedy
from acuity.records import Record, field

Level: TypeAlias = Literal["info", "warning"]


class Note(Record):
    """One sentence about how the videos were read or compared.

    `code` is stable and meant for programs, `text` is meant for people. `pieces` are its text and remedies.
    """

    level: Level
    code: str
    text: str
    pieces: tuple[str | Remedy, ...] = field(default=(), repr=False, compare=False)

    def spelled(self, spell: Callable[[Remedy], str]) -> str:
        """The sentence with its remedies as `spell` writes them."""
        return "".join(spell(p) if isinstance(p, Remedy) else p for p in self.pieces or (self.text,))

    def to_dict(self, spell: Callable[[Remedy], str] = Remedy.plain) -> dict[str, Any]:
        """The note for JSON."""
        return {"level": self.level, "code": self.code, "text": self.spelled(spell)}


def info(code: str, *pieces: str | Remedy) -> Note:
    return Note("info", code, "".join(map(str, pieces)), pieces)


def warning(code: str, *pieces: str | Remedy) -> Note:
    return Note("warning", code, "".join(map(str, pieces)), pieces)

"""Notes about the two videos, for the reader of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence about how the videos were read or compared.

    `code` is stable and meant for programs, `text` is meant for people.
    """

    level: Literal["info", "warning"]
    code: str
    text: str


def info(code: str, text: str) -> Note:
    return Note("info", code, text)


def warning(code: str, text: str) -> Note:
    return Note("warning", code, text)

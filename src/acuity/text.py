"""Helpers for text that people read."""

from __future__ import annotations

from typing import Final

_LONGEST_VALUE: Final = 80  # characters of a value that a sentence repeats
_LONGEST_LINE: Final = 4000


def one_line(text: str) -> str:
    """The text on one line, with line ends and escape sequences made visible.

    A very long line loses its middle: its start names the subject, its end the remedy.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shortened(text, _LONGEST_LINE))


def shortened(text: str, limit: int = _LONGEST_VALUE) -> str:
    """The text, or its start and its end if it is longer than the limit."""
    return text if len(text) <= limit else f"{text[: limit * 3 // 4]}…{text[-limit // 8 :]}"


def quoted(value: object) -> str:
    """A value for a sentence, shortened before anything else is done with it."""
    return repr(shortened(value) if isinstance(value, str) else value)

"""Text for people."""

from __future__ import annotations

from typing import Final

_LONGEST_VALUE: Final = 80  # characters of a value that a sentence repeats
_LONGEST_LINE: Final = 4000


def one_line(text: str) -> str:
    """Names of files may hold line ends and escape sequences: show them, don't obey them.

    Of a line that nobody could read the middle is left out: what it is about stands at its start, what to do
    at its end.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shortened(text, _LONGEST_LINE))


def shortened(text: str, limit: int = _LONGEST_VALUE) -> str:
    """The text, or its start and its end where it is longer than people want to read."""
    return text if len(text) <= limit else f"{text[: limit * 3 // 4]}…{text[-limit // 8 :]}"


def quoted(value: object) -> str:
    """A value as a sentence repeats it; megabytes of it are cut before anything is done with them."""
    return repr(shortened(value) if isinstance(value, str) else value)

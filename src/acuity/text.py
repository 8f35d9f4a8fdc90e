"""Helpers for text that people read."""

from __future__ import annotations

from typing import Any, Final

_LONGEST_VALUE: Final = 80  # characters of a value that a sentence repeats
_LONGEST_LINE: Final = 4000
_LONGEST_NOTE: Final = 300  # characters of a text that a file of somebody else says
_MOST_ITEMS: Final = 64
_DEEPEST: Final = 6


def one_line(text: str) -> str:
    """The text on one line, with line ends and escape sequences made visible.

    A very long line loses its middle: its start names the subject, its end the remedy.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shortened(text, _LONGEST_LINE))


def shortened(text: str, limit: int = _LONGEST_VALUE) -> str:
    """The text, or its start and its end if it is longer than the limit."""
    return text if len(text) <= limit else f"{text[: limit * 3 // 4]}…{text[-limit // 8 :]}"


def clock(seconds: float, decimals: int = 0) -> str:
    """1:02:03 or 2:03, with decimals if asked for."""
    units = round(seconds * 10**decimals)
    whole, fraction = divmod(units, 10**decimals)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    text = f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
    return f"{text}.{fraction:0{decimals}d}" if decimals else text


def quoted(value: object) -> str:
    """A value for a sentence, shortened before anything else is done with it."""
    return repr(shortened(value) if isinstance(value, str) else value)


def told(error: BaseException) -> str:
    """What an exception says, or its type if it says nothing."""
    return str(error) or type(error).__name__


def note(text: str, limit: int = _LONGEST_NOTE) -> str:
    """A text from somebody else's file: on one line, without control characters, shortened."""
    cut = shortened(text, limit)
    return " ".join("".join(c if c.isprintable() else " " for c in cut).split())


def bounded(value: Any, depth: int = _DEEPEST) -> Any:
    """A JSON value from somebody else's file, with notes in the place of texts, and lists and objects cut."""
    if isinstance(value, str):
        return note(value)
    if isinstance(value, dict | list | tuple) and depth == 0:
        return None
    if isinstance(value, dict):
        some = list(value.items())[:_MOST_ITEMS]
        return {note(str(key)): bounded(item, depth - 1) for key, item in some}
    if isinstance(value, list | tuple):
        return [bounded(item, depth - 1) for item in value[:_MOST_ITEMS]]
    return value

"""Text for people: on one line, shortened, without characters that a log or a terminal would obey."""

from __future__ import annotations

import re
from typing import Any, Final

_LONGEST_VALUE: Final = 80  # characters of a value that a sentence repeats
_LONGEST_LINE: Final = 4000
_LONGEST_NOTE: Final = 300  # characters of a text that a file of somebody else says
_MOST_ITEMS: Final = 64
_DEEPEST: Final = 6
_SHOWN_ID: Final = 8  # characters of a session id: too few to impersonate a client
_LABEL: Final = re.compile(r"[a-z0-9]{1,16}-(?=[0-9a-f]{8,32}$)")  # of a node, before what is secret
_REPEATED: Final = re.compile(r"(character|declare|namespace|key) ['\"(].*?(?= twice$|$)")  # of a TOML file


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


def why_no_toml(error: Exception) -> str:
    """The fault and the line of a text that tomllib refuses, without repeating anything of the text."""
    said, found, place = str(error).rpartition(" (at ")
    if found:
        return _REPEATED.sub(r"\1 …", said) + found + place
    return "it nests too deeply" if isinstance(error, RecursionError) else "a number in it is too long"


def note(text: str, limit: int = _LONGEST_NOTE) -> str:
    """A text from somebody else's file: on one line, without control characters, shortened."""
    cut = shortened(text, limit)
    return " ".join("".join(c if c.isprintable() else " " for c in cut).split())


def shown_id(session_id: str) -> str:
    """The beginning of a session id: the label of its node, if it has one, and a few characters.

    Ids are credentials. What is shown tells clients apart, and is enough for an operator to name a session.
    """
    label = _LABEL.match(session_id)
    shown = _SHOWN_ID + (label.end() if label else 0)
    return f"{session_id[:shown]}…" if len(session_id) > shown else session_id


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

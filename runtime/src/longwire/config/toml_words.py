"""TOML in words: values as TOML writes them, and what is wrong with a text that is no TOML."""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Container
from typing import Any, Final

from longwire.text import one_line, shortened

_HEADER: Final = re.compile(r"\[{1,2}[A-Za-z_. ]{1,40}\]{0,2}")
_AT: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")

# Of Python's sentences, by how they begin, those that use Python's words.
_REASONS: Final = {
    "Cannot declare": "the section is there twice: put its keys together",
    "Cannot overwrite": "the key is there twice: keep one",
    "Cannot mutate": "the table is there twice: keep one",
    "Cannot redefine": "the key is there twice: keep one",
    "Duplicate inline": "the key is there twice: keep one",
    "Expected '=' after": "'=' is missing after the key",
    "Expected ']' at": "']' is missing after the section",
    "Invalid value": "there is no value that TOML knows: put texts in quotes",
    "Invalid initial character": "there is no name of a key or a section",
    "Expected newline": "something follows the value: put texts in quotes, and each key on a line of its own",
    "Illegal character '\\n'": "the line ends before the text does: add the quote at its end",
    "Unterminated string": "the text has no end: add the quote there",
    'Expected "\'"': "the text has no end: add the quote there",
    "Unescaped '\\'": "the backslash means nothing to TOML: write two, or put the text in single quotes",
    "Unclosed inline": "the table has no end: add '}', and commas between its entries",
    "Invalid statement": "no key, section or comment begins like this",
    "Unclosed array": "the list has no end: add ']', and commas between its entries",
    "Invalid date": "there is no such date",
}


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
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


def why_no_toml(text: str, error: Exception, keys: Container[str] = ()) -> str:
    """What is wrong with the text, and in which line, of which only sections and `keys` are repeated."""
    if not isinstance(error, tomllib.TOMLDecodeError):
        return "it nests too deeply" if isinstance(error, RecursionError) else one_line(str(error))
    reason = _AT.sub("", str(error))
    reason = next((words for begin, words in _REASONS.items() if reason.startswith(begin)), reason)
    lines = text.replace("\r\n", "\n").split("\n")  # as TOML counts them, unlike splitlines()
    at = _AT.search(str(error))
    if at is None:
        return one_line(reason)
    number = (
        int(at[1]) if at[1] else max([n for n, line in enumerate(lines, start=1) if line.strip()], default=1)
    )
    line = lines[min(number, len(lines)) - 1].strip()
    begin = _begin(line, keys)
    return one_line(f"line {number}{f' ({begin})' if begin else ''}: {reason}")


def _begin(line: str, keys: Container[str]) -> str:
    """The section or the known key that a line begins with. Anything else may be a secret."""
    if _HEADER.fullmatch(line):
        return shortened(line)
    key, equals, _ = line.partition("=")
    name = key.strip().rpartition(".")[2].strip(" \"'")
    return f"{name} = …" if equals and name in keys else ""

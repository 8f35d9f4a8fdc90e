"""Turns a client's text into an absolute path, before any file is touched.

    clips/a.mkv           relative to the folder the server was started in
    /clips/a b:c.mkv      spaces, colons and any other printable character are part of the name
    file:///clips/a.mkv   the same file; no host, no query, no fragment

Any other scheme makes it an address, and addresses are refused. `~` is not expanded. Control characters are
refused, even if a file has them in its name, because logs and terminals would obey them.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Final
from urllib.parse import unquote_to_bytes

from acuity.errors import PathError
from acuity.text import one_line

_MOST_BYTES: Final = 4095  # PATH_MAX less its NUL
_SHOWN: Final = 200  # characters of a text that an error repeats

ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_FILE: Final = "file://"
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def to_absolute(text: str) -> str:
    """The absolute path of a text, with links and '..' still in it; raises PathError."""
    check_text(text)
    if text[: len(_FILE)].lower() == _FILE:
        text = _from_file_address(text)
    elif address := ADDRESS.match(text):
        raise PathError(
            f"path {shown(text)} is read as an address ('{address[1]}:'), and only local files are read;"
            " a file with ':' in its name is given as './NAME' or with its whole path"
        )
    if text.startswith("~"):
        raise PathError(f"path {shown(text)} starts with '~', which is not expanded: give the whole path")
    if text.rsplit("/", 1)[-1] in ("", ".", ".."):
        raise PathError(f"path {shown(text)} names a folder: name a file")
    if text.startswith("/"):
        return f"/{text.lstrip('/')}"  # os.path keeps two slashes at the start, which mean one
    try:
        return os.path.join(os.getcwd(), text)
    except OSError:
        raise PathError(f"path {shown(text)} is relative to a folder that is gone: give it whole") from None


def check_text(text: str, what: str = "path") -> None:
    """Refuse text that can be no path and no model or feature string; raises PathError."""
    if not text:
        raise PathError(f"the {what} is empty: name one")
    if len(text) > _MOST_BYTES:
        raise _too_long(text, what)
    for character in text if not text.isprintable() else "":
        category = unicodedata.category(character)
        if category == "Cs":
            raise PathError(f"{what} {shown(text)} is not valid Unicode: only UTF-8 names are read")
        if category == "Cc":
            raise PathError(
                f"{what} {shown(text)} has the control character U+{ord(character):04X} in it: leave it out"
            )
    if len(text.encode()) > _MOST_BYTES:
        raise _too_long(text, what)


def shown(text: str) -> str:
    """A client's text for an error: on one line, and shortened."""
    return one_line(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _too_long(text: str, what: str) -> PathError:
    return PathError(f"{what} {shown(text)} is longer than {_MOST_BYTES} bytes, so it is none: shorten it")


def _from_file_address(text: str) -> str:
    encoded = text[len(_FILE) :]
    why = next((why for bad, why in _BAD_ADDRESSES if bad.search(encoded)), None)
    path = None
    if why is None:
        try:
            path = unquote_to_bytes(encoded).decode()
        except UnicodeDecodeError:
            why = "is not UTF-8"
    if path is None:
        raise PathError(f"path {shown(text)} {why}: give it as file:///FOLDER/NAME or as a plain path")
    check_text(path)
    return path


_BAD_ADDRESSES: Final = (
    (re.compile(r"^[^/]|^$"), "names a host, and only local files are read"),
    (re.compile(r"\?"), "has a query, which no file has"),
    (re.compile(r"#"), "has a fragment, which no file has"),
    (_BAD_ESCAPE, "has a '%' that is no escape"),
)

"""Turns a client's text into an absolute path, and checks paths inside model and feature strings.

    clips/a.mkv           relative to the folder the server was started in
    /clips/a b:c.mkv      spaces, colons and any other printable character are part of the name
    file:///clips/a.mkv   the same file; no host, no query, no fragment

Any other scheme makes it an address, and addresses are refused. `~` is not expanded. Control characters are
refused, even if a file has them in its name, because logs and terminals would obey them.

The engine's own parsers read model and feature strings, which are then written again from the parsed values,
with resolved paths. So the engine uses exactly what was checked: a key that was given twice, for example,
appears once.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote_to_bytes

from acuity.errors import ModelError, PathError
from acuity.features.options import WRITING, parse_feature
from acuity.models.spec import ModelSpec, parse_spec
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


Check: TypeAlias = Callable[[str], Path]
FindModel: TypeAlias = Callable[[str], ModelSpec | None]

# Formats of models that are no VMAF models, with what to do about them.
_OTHER_FORMATS: Final = {
    ".onnx": "a tiny model (ONNX), not a VMAF model: pass it as tiny_model",
    ".pkl": "a pickled model, which only the old Python tools of VMAF read: score with a .json model that "
    "list_models has as usable",
}

# An address as a value: parsers would split it at ':', which separates options.
_ADDRESS_INSIDE: Final = re.compile(r"(?:^|[=:])[A-Za-z][A-Za-z0-9+.-]*:/")
# The value of such an option is always a path.
_NAMES_A_PATH: Final = re.compile(
    r"(?:^|_)(?:path|file|filename|folder|dir|directory)s?(?:_|$)", re.IGNORECASE
)


def check_model(spec: str, check: Check, find: FindModel | None = None) -> str:
    """The model string with its paths checked and resolved by `check`.

    `find` finds models by name and file name; it raises ModelError if the name is ambiguous.
    """
    check_text(spec, "model")
    if "=" not in spec and ":" in spec and spec.endswith(".json"):
        return ModelSpec(path=str(check(spec))).to_text()  # the ':' can only be part of a path
    _refuse_addresses(spec, "model")
    parsed = parse_spec(spec)
    if find is not None and "/" not in parsed.label and (found := find(parsed.label)) is not None:
        parsed = replace(parsed, version=found.version, path=found.path)
    if parsed.path is not None:
        parsed = replace(parsed, path=str(check(parsed.path)))
    elif _looks_like_a_path(str(parsed.version).removesuffix(".json")):  # a name with .json gets a hint
        raise PathError(f"model {shown(spec)} names a path as its version: write path=FILE")
    for suffix, what in _OTHER_FORMATS.items():
        if parsed.label.endswith(suffix):
            raise ModelError(f"'{shown(parsed.label)}' is {what}")
    overrides = {
        extractor: {option: _checked(spec, option, value, check) for option, value in options.items()}
        for extractor, options in parsed.overrides.items()
    }
    for extractor in overrides:
        _refuse_path_as_name(spec, extractor)
    return replace(parsed, overrides=overrides).to_text()


def check_feature(spec: str, check: Check) -> str:
    """The feature string with the paths in its options checked and resolved by `check`."""
    check_text(spec, "feature")
    _refuse_addresses(spec, "feature")
    name, options = parse_feature(spec)
    _refuse_path_as_name(spec, name)
    written = [f"{option}={_checked(spec, option, value, check)}" for option, value in options.items()]
    return f"{name}={':'.join(written)}" if written else name


def _checked(spec: str, option: str, value: str, check: Check) -> str:
    _refuse_path_as_name(spec, option)
    if option.lower() in WRITING:
        raise PathError(
            f"option {shown(option)} in {shown(spec)} writes files, which is not done here: leave it out"
        )
    if not _NAMES_A_PATH.search(option) and not _looks_like_a_path(value):
        return value
    path = str(check(value))
    if ":" in path:
        raise PathError(f"path {shown(path)} has a ':', which separates options: copy it to another name")
    return path


def _refuse_addresses(spec: str, what: str) -> None:
    if _ADDRESS_INSIDE.search(spec):
        raise PathError(f"{what} {shown(spec)} has an address in it, and only local files are read")


def _refuse_path_as_name(spec: str, name: str) -> None:
    if _looks_like_a_path(name):
        raise PathError(f"{shown(name)} in {shown(spec)} is a path where a name is expected: use a name")


def _looks_like_a_path(value: str) -> bool:
    marked = "/" in value or "\\" in value or ".." in value or value.startswith("~")
    return marked or value.endswith(".json") or ADDRESS.match(value) is not None

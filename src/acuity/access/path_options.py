"""Checks paths inside model and feature strings, and writes the strings with resolved paths.

The engine's own parsers read the strings, which are then written again from the parsed values. So the engine
uses exactly what was checked: a key that was given twice, for example, appears once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from acuity.access.path_text import ADDRESS, check_text, shown
from acuity.errors import ModelError, PathError
from acuity.features.options import WRITING, parse_feature
from acuity.models.spec import ModelSpec, parse_spec

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
    _refuse_other_formats(parsed.label)
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


def _refuse_other_formats(label: str) -> None:
    what = next((what for suffix, what in _OTHER_FORMATS.items() if label.endswith(suffix)), None)
    if what is not None:
        raise ModelError(f"'{shown(label)}' is {what}")


def _refuse_addresses(spec: str, what: str) -> None:
    if _ADDRESS_INSIDE.search(spec):
        raise PathError(f"{what} {shown(spec)} has an address in it, and only local files are read")


def _refuse_path_as_name(spec: str, name: str) -> None:
    if _looks_like_a_path(name):
        raise PathError(f"{shown(name)} in {shown(spec)} is a path where a name is expected: use a name")


def _looks_like_a_path(value: str) -> bool:
    marked = "/" in value or "\\" in value or ".." in value or value.startswith("~")
    return marked or value.endswith(".json") or ADDRESS.match(value) is not None

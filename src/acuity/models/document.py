"""Reads model files as JSON documents, with bounds, and errors that name the file and the key."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from acuity.errors import ModelError, PathError
from acuity.foreign_json import NestedTooDeeply, parse_json
from acuity.records import NamedTuple
from acuity.text import quoted, shortened
from acuity.video.local_file import local_opener, regular_opener

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 64 * 1024 * 1024
# Integers of more digits are read as floats, which are exact enough and free of Python's limit on digits.
_LONG_INTEGER = 18

Kind = TypeVar("Kind")


class Section(NamedTuple):
    """One JSON object of a model file, with its path in the document."""

    file: str
    where: str
    values: Mapping[str, object]
    data: bytes = b""  # of the whole file, in the section that is the document

    @property
    def sha256(self) -> str:
        """Of the whole file."""
        import hashlib

        return hashlib.sha256(self.data).hexdigest()

    def fail(self, key: str, problem: str) -> ModelError:
        """The error to raise: one sentence that names the file, the key and the problem."""
        return ModelError(f"the model file {self.file!r} has a bad key {self._path(key)!r}: {problem}")

    def has(self, key: str) -> bool:
        """Whether an optional key is present; null counts as absent."""
        return self.values.get(key) is not None

    def section(self, key: str) -> Section:
        value = self._of(dict, key, self._require(key), "be an object")
        return Section(self.file, self._path(key), value)

    def sections(self, key: str) -> list[Section]:
        entries = [self._of(dict, key, entry, "hold objects") for entry in self._list(key)]
        return [Section(self.file, f"{self._path(key)}[{i}]", entry) for i, entry in enumerate(entries)]

    def text(self, key: str) -> str:
        return self._of(str, key, self._require(key), "be a string")

    def texts(self, key: str) -> list[str]:
        return [self._of(str, key, entry, "hold strings") for entry in self._list(key)]

    def number(self, key: str) -> float:
        return self._number(key, self._require(key))

    def numbers(self, key: str) -> list[float]:
        return [self._number(key, entry) for entry in self._list(key)]

    def pairs(self, key: str, most: int) -> list[tuple[float, float]]:
        pairs = []
        entries = self._list(key)
        if len(entries) > most:
            raise self.fail(key, f"it holds {len(entries)} pairs, and {most} are the most that make sense")
        for entry in entries:
            if not isinstance(entry, list) or len(entry) != 2:
                raise self.fail(key, "it must hold pairs of numbers")
            pairs.append((self._number(key, entry[0]), self._number(key, entry[1])))
        return pairs

    def switch(self, key: str) -> bool:
        """A flag, absent meaning false; libvmaf's files spell some of them as strings."""
        if not self.has(key):
            return False
        value = self.values[key]
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        raise self.fail(key, f"it must be true or false, not {_kind(value)}")

    def _path(self, key: str) -> str:
        return shortened(f"{self.where}.{key}" if self.where else key)

    def _require(self, key: str) -> object:
        if key not in self.values:
            raise ModelError(f"the model file {self.file!r} lacks the key {self._path(key)!r}")
        return self.values[key]

    def _list(self, key: str) -> list[object]:
        return self._of(list, key, self._require(key), "be a list")

    def _of(self, kind: type[Kind], key: str, value: object, must: str) -> Kind:
        """The value if it is of a kind; `must` says for people what it must be."""
        if not isinstance(value, kind):
            raise self.fail(key, f"it must {must}, not {_kind(value)}")
        return value

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(key, f"it must be a number, not {_kind(value)}")
        return float(value)


def read_document(path: str | Path, most: int = MAX_BYTES, *, regular: bool = False) -> Section:
    """Read a model file; refuses more than `most` bytes, bad or ambiguous JSON, and numbers not finite.

    `regular` refuses pipes and devices, too.
    """
    file = str(path)
    text, data = _read_text(file, most, regular)
    try:
        document = parse_json(
            text,
            object_pairs_hook=lambda pairs: _checked_object(file, pairs),
            parse_int=lambda digits: int(digits) if len(digits) <= _LONG_INTEGER else float(digits),
        )
    except json.JSONDecodeError as error:
        raise ModelError(
            f"the model file {file!r} is not valid JSON: {error.msg} "
            f"in line {error.lineno}, column {error.colno}"
        ) from None
    except NestedTooDeeply:
        raise ModelError(f"the model file {file!r} is nested too deeply to be a model") from None
    if not isinstance(document, dict):
        raise ModelError(f"the model file {file!r} must hold a JSON object, not {_kind(document)}")
    return Section(file, "", document, data)


def _read_text(file: str, most: int, regular: bool) -> tuple[str, bytes]:
    """The text and the bytes of a file."""
    if file.endswith(".pkl"):
        raise ModelError(f"the model file {file!r} is a pickle, which is not supported; use a JSON model")
    try:
        with open(file, "rb", opener=regular_opener if regular else local_opener) as stream:
            data = stream.read(most + 1)
    except PathError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"the model file {file!r} could not be read: {reason}") from None
    if len(data) > most:
        raise ModelError(f"the model file {file!r} is larger than {most >> 20} MiB, more than it needs")
    try:
        return data.decode("utf-8-sig"), data
    except UnicodeDecodeError:
        raise ModelError(f"the model file {file!r} is not text, so it is not a JSON model") from None


def _checked_object(file: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build one JSON object; the only place that still has the key of a bad number."""
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise ModelError(
                f"the model file {file!r} has the key {quoted(key)} twice in one object; keep one"
            )
        if not _is_finite(value):
            raise ModelError(f"the model file {file!r} has a number that is not finite in key {quoted(key)}")
        values[key] = value
    return values


def _is_finite(value: object) -> bool:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, float) and not math.isfinite(item):
            return False
    return True


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _kind(value: object) -> str:
    return _KINDS[type(value)]

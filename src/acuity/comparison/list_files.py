"""Reads a list of encodes from a CSV or YAML file.

A list has an entry for each encode: `distorted`, and, where wanted, `reference`, `name`, `encoder` and
`bitrate` (kbit/s, or as 2500k or 2.5M). Paths are relative to the list's folder.

YAML is read by PyYAML, which is an extra: a reader of our own for part of the language would understand some
files otherwise than everybody else's does. Its scalars are read as text, so that a name such as `no` or `1e3`
stays what it is.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from acuity.errors import InputError, MissingExtra
from acuity.text import quoted, shortened
from acuity.video.local_file import regular_opener

MOST_ENTRIES: Final = 1000  # encodes in one comparison
_LARGEST: Final = 4 << 20  # bytes of a list
# What a list may say of an encode, and what else others call it.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "reference": ("ref", "original", "source"),
    "distorted": ("dis", "encode", "file", "path"),
    "name": ("label",),
    "encoder": ("codec",),
    "bitrate": ("kbps", "bitrate_kbps"),
}
_COLUMN_OF: Final = {word: column for column, words in COLUMNS.items() for word in (column, *words)}
_SEPARATORS: Final = ",;\t"
_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(k|m|kbps|mbps|kbit/s|mbit/s)?", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


class ListEntry(NamedTuple):
    """One encode of a list, and where it stands there."""

    where: str  # as in "line 3 of 'encodes.csv'"
    distorted: str
    reference: str | None = None
    name: str | None = None
    encoder: str | None = None
    kbps: float | None = None


def is_list(path: str) -> bool:
    """Whether a file is a list of encodes, by its name."""
    return os.path.splitext(path)[1].lower() in _READERS


def read_list(path: str) -> list[ListEntry]:
    """The entries of a list; raises InputError with the line that can't be used, or MissingExtra."""
    rows = _READERS[os.path.splitext(path)[1].lower()](path, _text(path))
    entries = [_entry(path, where, row) for where, row in rows]
    if not entries:
        raise InputError(f"'{path}' names no encode: add an entry for each")
    return entries


def _text(path: str) -> str:
    try:
        with open(path, "rb", opener=regular_opener) as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(f"the list '{path}' can't be opened: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise InputError(f"the list '{path}' has more than {_LARGEST >> 20} MiB: divide it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"the list '{path}' is no text in UTF-8: save it in that encoding") from None


def _csv_rows(path: str, text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV, separated by commas, semicolons or tabs, whichever its first line has."""
    head = text.lstrip().partition("\n")[0]
    separator = max(_SEPARATORS, key=head.count)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=separator, strict=True)
    try:
        titles: list[str] | None = None
        for cells in reader:
            where = f"line {reader.line_num} of '{path}'"
            if not any(cell.strip() for cell in cells):
                continue
            if titles is None:
                titles = _titles(path, cells)
                continue
            if len(cells) > len(titles):
                raise InputError(
                    f"{where} has {len(cells)} cells and the first line {len(titles)}: put a path with "
                    f"{quoted(separator)} in it into double quotes"
                )
            yield where, {title: cell for title, cell in zip(titles, cells, strict=False) if title}
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} of '{path}' is no CSV: {error}") from None


def _titles(path: str, cells: list[str]) -> list[str]:
    """The column that each cell of the first line names; empty for one that isn't read."""
    titles = [_column(path, cell) for cell in cells]
    if "distorted" not in titles:
        raise InputError(
            f"the list '{path}' has no column 'distorted': name the columns in its first line, "
            f"{', '.join(COLUMNS)}"
        )
    if twice := next((title for title in titles if title and titles.count(title) > 1), None):
        raise InputError(f"the list '{path}' has two columns for the {twice}: leave one out")
    return titles


def _column(path: str, word: str) -> str:
    """The column that a title means; empty where it is none of ours, which a list may have for others."""
    title = word.strip().lower().replace(" ", "_")
    if title in _COLUMN_OF:
        return _COLUMN_OF[title]
    if meant := get_close_matches(title, _COLUMN_OF, n=1, cutoff=0.8):
        raise InputError(f"the list '{path}' has {quoted(word)}, which is probably '{meant[0]}': correct it")
    return ""


def _yaml_rows(path: str, text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The entries of a YAML list of mappings, or of plain paths; the list may stand under `encodes`."""
    try:
        import yaml
    except ImportError:
        raise MissingExtra(
            f"reading '{path}' needs PyYAML: pip install 'acuity[yaml]', or write the list as CSV"
        ) from None
    try:
        found: Any = yaml.load(text, Loader=yaml.BaseLoader)  # makes texts, lists and dicts only
    except yaml.YAMLError as error:
        why = " ".join(str(error).split())
        raise InputError(f"the list '{path}' is no YAML: {shortened(why, 200)}") from None
    except RecursionError:
        raise InputError(f"the list '{path}' is nested too deeply: write a plain list of encodes") from None
    common: dict[str, str] = {}
    if isinstance(found, dict) and "encodes" in found:
        common = {"reference": found["reference"]} if "reference" in found else {}
        found = found["encodes"]
    if not isinstance(found, list):
        raise InputError(
            f"the list '{path}' is no list: begin each encode with '- distorted: FILE', or put such a list "
            "under 'encodes:'"
        )
    for number, entry in enumerate(found, 1):
        where = f"entry {number} of '{path}'"
        if isinstance(entry, str):
            entry = {"distorted": entry}
        if not isinstance(entry, dict):
            raise InputError(f"{where} is neither a path nor a mapping: write '- distorted: FILE'")
        row = {title: value for key, value in entry.items() if (title := _column(path, str(key)))}
        if wrong := next((title for title, value in row.items() if not isinstance(value, str)), None):
            raise InputError(f"{where} has several values as its {wrong}: write one text")
        yield where, {**common, **row}


_READERS: Final = {".csv": _csv_rows, ".tsv": _csv_rows, ".yaml": _yaml_rows, ".yml": _yaml_rows}


def _entry(path: str, where: str, row: Mapping[str, str]) -> ListEntry:
    given = {title: text for title, value in row.items() if (text := value.strip())}
    if "distorted" not in given:
        raise InputError(f"{where} names no distorted video: add its path")
    paths = {title: _beside(path, given[title]) for title in ("distorted", "reference") if title in given}
    kbps = _kbps(where, given["bitrate"]) if "bitrate" in given else None
    return ListEntry(where, **paths, name=given.get("name"), encoder=given.get("encoder"), kbps=kbps)


def _beside(path: str, text: str) -> str:
    """The path of a video that a list names; addresses stay as they are."""
    if "\0" in text:
        raise InputError(f"the list '{path}' has a path with a NUL in it: {quoted(text)}")
    return text if _ADDRESS.match(text) else os.path.join(os.path.dirname(path), text)


def _kbps(where: str, text: str) -> float:
    found = _RATE.fullmatch(text)
    rate = float(found[1]) if found else math.nan
    if found and (found[2] or "k").lower().startswith("m"):
        rate *= 1000
    if not 0 < rate < math.inf:
        raise InputError(f"{where} has the bitrate {quoted(text)}: write kbit/s, as 2500, 2500k or 2.5M")
    return rate

"""Finds the encodes of a comparison: files, globs, folders, and lists in CSV or YAML."""

from __future__ import annotations

import csv
import glob
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from acuity.comparison.request import ComparePair
from acuity.errors import InputError, MissingExtra
from acuity.text import quoted, shortened
from acuity.video.local_file import regular_opener
from acuity.video.readers.guess import CONTAINER_SUFFIXES, IMAGE_SUFFIXES, RAW_SUFFIXES
from acuity.video.source import is_web_address

MOST_ENTRIES: Final = 1000  # encodes in one comparison
_LARGEST_LIST: Final = 4 << 20  # bytes of a list
# The columns that a list may have, each with the other names that are understood.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "reference": ("ref", "original", "source"),
    "distorted": ("dis", "encode", "file", "path"),
    "name": ("label",),
    "encoder": ("codec",),
    "bitrate": ("kbps", "bitrate_kbps"),
}
_COLUMN_OF: Final = {word: column for column, words in COLUMNS.items() for word in (column, *words)}
_SEPARATORS: Final = ",;\t"
_BITRATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(k|m|kbps|mbps|kbit/s|mbit/s)?", re.IGNORECASE)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_list(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in _READERS


def read_list(path: str) -> list[tuple[str, ComparePair]]:
    """The entries of a list and where each stands, as in "line 3 of 'encodes.csv'".

    Raises InputError with the line that can't be used, or MissingExtra.

    An entry has `distorted`, and may have `reference`, `name`, `encoder` and `bitrate` (kbit/s, or as 2500k
    or 2.5M). Paths are relative to the list's folder.
    """
    rows = _READERS[os.path.splitext(path)[1].lower()](path, _list_text(path))
    entries = [(where, _entry(path, where, row)) for where, row in rows]
    if not entries:
        raise InputError(f"'{path}' names no encode: add an entry for each")
    return entries


def _list_text(path: str) -> str:
    try:
        with open(path, "rb", opener=regular_opener) as file:
            data = file.read(_LARGEST_LIST + 1)
    except OSError as error:
        raise InputError(f"the list '{path}' can't be opened: {error.strerror}") from error
    if len(data) > _LARGEST_LIST:
        raise InputError(f"the list '{path}' has more than {_LARGEST_LIST >> 20} MiB: divide it")
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
    """The column that a title means; empty for an unknown one, which a list may have for other programs."""
    title = word.strip().lower().replace(" ", "_")
    if title in _COLUMN_OF:
        return _COLUMN_OF[title]
    if meant := get_close_matches(title, _COLUMN_OF, n=1, cutoff=0.8):
        raise InputError(f"the list '{path}' has {quoted(word)}, which is probably '{meant[0]}': correct it")
    return ""


def _yaml_rows(path: str, text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The entries of a YAML list of mappings, or of plain paths; the list may stand under `encodes`.

    Scalars are read as text, so that a name such as `no` or `1e3` stays what it is.
    """
    try:
        import yaml
    except ImportError:
        raise MissingExtra(
            f"reading '{path}' needs PyYAML: pip install 'acuity-vmaf[yaml]', or write the list as CSV"
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


def _entry(path: str, where: str, row: Mapping[str, str]) -> ComparePair:
    given = {title: text for title, value in row.items() if (text := value.strip())}
    if "distorted" not in given:
        raise InputError(f"{where} names no distorted video: add its path")
    reference, distorted = (
        _beside(path, given[title]) if title in given else "" for title in ("reference", "distorted")
    )
    kbps = _kbps(where, given["bitrate"]) if "bitrate" in given else None
    return ComparePair(reference, distorted, given.get("name", ""), given.get("encoder"), kbps)


def _beside(path: str, text: str) -> str:
    """The path of a video that a list names; addresses stay as they are."""
    if "\0" in text:
        raise InputError(f"the list '{path}' has a path with a NUL in it: {quoted(text)}")
    return text if _URL.match(text) else os.path.join(os.path.dirname(path), text)


def _kbps(where: str, text: str) -> float:
    found = _BITRATE.fullmatch(text)
    rate = float(found[1]) if found else math.nan
    if found and (found[2] or "k").lower().startswith("m"):
        rate *= 1000
    if not 0 < rate < math.inf:
        raise InputError(f"{where} has the bitrate {quoted(text)}: write kbit/s, as 2500, 2500k or 2.5M")
    return rate


_VIDEOS: Final = CONTAINER_SUFFIXES | RAW_SUFFIXES
_GLOB: Final = re.compile(r"[*?\[]")


class Encodes(NamedTuple):
    pairs: list[ComparePair]
    notes: list[str]


def find_encodes(words: Sequence[str]) -> Encodes:
    """The encodes that a command line names; raises InputError or MissingExtra.

    Words that end in .csv, .tsv, .yaml or .yml are lists. The first other word is the reference, also of the
    entries of lists that name none; those after it are encodes.
    """
    lists, others = ([word for word in words if is_list(word) == wanted] for wanted in (True, False))
    reference = others.pop(0) if others else None
    if not lists and not others:
        raise InputError("there is nothing to compare: name a reference and at least one encode, or a list")
    notes: list[str] = []
    pairs, more = distinct([ComparePair(reference or "", path) for path in _files(others, notes)])
    for path in lists:
        for where, pair in read_list(path):
            if (original := pair.reference or reference) is None:
                raise InputError(f"{where} names no reference: add the column, or name one before the list")
            pairs.append(pair._replace(reference=original))
    if len(pairs) > MOST_ENTRIES:
        raise InputError(f"{len(pairs)} encodes are too many for one comparison: name {MOST_ENTRIES} at most")
    return Encodes(pairs, [*notes, *more, *_shared_names(pairs)])


def distinct(pairs: Sequence[ComparePair]) -> Encodes:
    """Encodes of one reference: each once, and not the reference, which may stand alone.

    Entries that give a file another name or encoder are kept, as those of lists are.
    """
    notes: list[str] = []
    found: dict[tuple[str, str, str | None], ComparePair] = {}
    for pair in pairs:
        if found.setdefault((os.path.realpath(pair.distorted), pair.name, pair.encoder), pair) is not pair:
            notes.append(f"'{pair.distorted}' is named more than once, and compared once")
    original = {(os.path.realpath(pair.reference), "", None) for pair in pairs}
    others = [pair for key, pair in found.items() if key not in original]
    if others and len(others) < len(found):
        notes.append(f"'{pairs[0].reference}' is the reference, and is not compared with itself")
    return Encodes(others or list(found.values()), list(dict.fromkeys(notes)))


def _shared_names(pairs: Iterable[ComparePair]) -> Iterator[str]:
    """A note for each name that lists give to several encodes; the request numbers them."""
    names = [pair.name for pair in pairs if pair.name]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield f"{names.count(name)} encodes have the name {quoted(name)}: all but the first have a number"


def _files(words: Iterable[str], notes: list[str]) -> Iterator[str]:
    for word in words:
        if os.path.isdir(word):
            yield from _in_folder(word, notes)
        elif _GLOB.search(word) and not os.path.exists(word) and not is_web_address(word):
            yield from _matches(word, notes)
        else:
            yield word


def _in_folder(folder: str, notes: list[str]) -> list[str]:
    """The videos in a folder, or the folder itself if it holds the images of one."""
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        raise InputError(f"the folder '{folder}' can't be read: {error.strerror}") from error
    files = [name for name in names if os.path.isfile(os.path.join(folder, name))]
    videos = [name for name in files if _suffix(name) in _VIDEOS]
    if not videos and any(_suffix(name) in IMAGE_SUFFIXES for name in files):
        return [folder]
    if not videos:
        raise InputError(f"the folder '{folder}' has no videos: name files, or a folder that has some")
    if len(videos) < len(files):
        notes.append(_without(folder, len(files) - len(videos)))
    notes += _others(folder, [name for name in names if name not in files])
    return [os.path.join(folder, name) for name in videos]


def _others(folder: str, names: Sequence[str]) -> Iterator[str]:
    folders = [name for name in names if os.path.isdir(os.path.join(folder, name))]
    if folders:
        yield f"'{folder}': folders in it are not searched: {', '.join(map(quoted, folders))}"
    if links := [name for name in names if name not in folders]:
        yield f"'{folder}': links that lead to no file are left out: {', '.join(map(quoted, links))}"


def _matches(pattern: str, notes: list[str]) -> list[str]:
    """The files that a pattern matches; one of images is a video, and stays a pattern."""
    ending = _suffix(pattern)
    plain = bool(ending) and not _GLOB.search(ending)
    if plain and ending in IMAGE_SUFFIXES:
        return [pattern]
    files = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
    # A pattern with an ending of its own means these files, whatever they are called.
    videos = files if plain else [path for path in files if _suffix(path) in _VIDEOS]
    if not videos:
        what = "no video" if files else "nothing"
        raise InputError(f"the pattern '{pattern}' matches {what}: check its folder and its ending")
    if len(videos) < len(files):
        notes.append(_without(pattern, len(files) - len(videos)))
    return videos


def _without(place: str, files: int) -> str:
    which = "1 file is" if files == 1 else f"{files} files are"
    return f"'{place}': {which} no video by name, and left out"


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()

"""Finds the encodes of a comparison: files, globs, folders, and lists in CSV or YAML."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from acuity.comparison.list_files import MOST_ENTRIES, ListEntry, is_list, read_list
from acuity.comparison.request import ComparePair
from acuity.errors import InputError
from acuity.text import quoted
from acuity.video.readers.guess import CONTAINER_SUFFIXES, IMAGE_SUFFIXES, RAW_SUFFIXES

_VIDEOS: Final = CONTAINER_SUFFIXES | RAW_SUFFIXES
_GLOB: Final = re.compile(r"[*?\[]")
_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)


_TWICE: Final = "'{}' is named more than once, and compared once"
_REFERENCE: Final = "'{}' is the reference, and is not compared with itself"


class Encodes(NamedTuple):
    """The pairs to compare, the bitrates that lists give for them, and what was left out."""

    pairs: list[ComparePair]
    kbps: list[float | None]
    notes: list[str]


def find_encodes(words: Sequence[str]) -> Encodes:
    """The encodes that a command line names; raises InputError or MissingExtra.

    Words that end in .csv, .tsv, .yaml or .yml are lists. The first other word is the reference, also of the
    entries of lists that name none; those after it are encodes.
    """
    lists = [word for word in words if is_list(word)]
    others = [word for word in words if not is_list(word)]
    reference = others.pop(0) if others else None
    if not lists and not others:
        raise InputError("there is nothing to compare: name a reference and at least one encode, or a list")
    notes: list[str] = []
    found = _without_reference(reference, _once(_files(others, notes), notes), notes)
    pairs = [ComparePair(reference or "", path) for path in found]
    kbps: list[float | None] = [None] * len(pairs)
    for path in lists:
        for entry in read_list(path):
            pairs.append(_pair(entry, reference))
            kbps.append(entry.kbps)
    if len(pairs) > MOST_ENTRIES:
        raise InputError(f"{len(pairs)} encodes are too many for one comparison: name {MOST_ENTRIES} at most")
    notes += _shared_names(pairs)
    return Encodes(pairs, kbps, notes)


def distinct(pairs: Sequence[ComparePair]) -> Encodes:
    """Encodes of one reference that somebody named one by one: each once, and not the reference.

    Entries that give a file another name or encoder are kept, as those of lists are.
    """
    notes: list[str] = []
    found: dict[tuple[str, str, str | None], ComparePair] = {}
    for pair in pairs:
        if found.setdefault((os.path.realpath(pair.distorted), pair.name, pair.encoder), pair) is not pair:
            notes.append(_TWICE.format(pair.distorted))
    original = {(os.path.realpath(pair.reference), "", None) for pair in pairs}
    others = [pair for key, pair in found.items() if key not in original]
    if others and len(others) < len(found):
        notes.append(_REFERENCE.format(pairs[0].reference))
    kept = others or list(found.values())
    return Encodes(kept, [None] * len(kept), list(dict.fromkeys(notes)))


def _pair(entry: ListEntry, reference: str | None) -> ComparePair:
    if (original := entry.reference or reference) is None:
        raise InputError(f"{entry.where} names no reference: add the column, or name one before the list")
    return ComparePair(original, entry.distorted, entry.name or "", entry.encoder)


def _shared_names(pairs: Iterable[ComparePair]) -> Iterator[str]:
    """A note for each name that lists give to several encodes; the request numbers them."""
    names = [pair.name for pair in pairs if pair.name]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield f"{names.count(name)} encodes have the name {quoted(name)}: all but the first have a number"


def _files(words: Iterable[str], notes: list[str]) -> Iterator[str]:
    for word in words:
        if os.path.isdir(word):
            yield from _in_folder(word, notes)
        elif _GLOB.search(word) and not os.path.exists(word) and not _ADDRESS.match(word):
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
        notes.append(f"'{folder}': {_count(len(files) - len(videos))} no video by name, and left out")
    notes += _others(folder, [name for name in names if name not in files])
    return [os.path.join(folder, name) for name in videos]


def _others(folder: str, names: Sequence[str]) -> Iterator[str]:
    """Notes on what a folder holds besides files."""
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
        notes.append(f"'{pattern}': {_count(len(files) - len(videos))} no video by name, and left out")
    return videos


def _once(paths: Iterable[str], notes: list[str]) -> list[str]:
    """The paths without those that were named before: patterns may overlap."""
    found: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real not in found:
            found[real] = path
        else:
            notes.append(_TWICE.format(path))
    return list(found.values())


def _without_reference(reference: str | None, paths: list[str], notes: list[str]) -> list[str]:
    """The encodes without the reference, which patterns often match too; it may stand alone."""
    if reference is None:
        return paths
    original = os.path.realpath(reference)
    others = [path for path in paths if os.path.realpath(path) != original]
    if len(others) == len(paths) or not others:
        return paths
    notes.append(_REFERENCE.format(reference))
    return others


def _count(files: int) -> str:
    return "1 file is" if files == 1 else f"{files} files are"


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()

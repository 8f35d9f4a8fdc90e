"""Finds the images of a sequence by a pattern (`shot.%04d.png`, `shots/*.png`) or in a folder.

A name that exists is never a pattern. Only the last part of a path may be one, so one folder is listed.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from acuity.errors import InputError
from acuity.video.local_file import list_local
from acuity.video.readers.guess import IMAGE_SUFFIXES

# Images of film work, which are refused with advice of their own: see av_open.py.
FILM_SUFFIXES: Final = {".dpx": "dpx_pipe", ".exr": "exr_pipe"}
_SUFFIXES: Final = IMAGE_SUFFIXES | FILM_SUFFIXES.keys()
_KINDS: Final = "PNG, JPEG, TIFF, BMP or WebP"

_NUMBER: Final = re.compile(r"%%|%(?:0([1-9][0-9]?))?d")
_DIGITS: Final = re.compile(r"([0-9]+)")
_MAX_DIGITS: Final = 18
_GLOB: Final = re.compile(r"[*?\[]")
_MOST_NAMED: Final = 4  # patterns in a sentence


class Pattern(NamedTuple):
    """A file name with a number in it, as C's printf writes it."""

    before: str
    digits: int  # at least so many, with zeros in front
    after: str

    @classmethod
    def parse(cls, text: str) -> Pattern | None:
        """The pattern in a file name; None if it has no number to fill in, or more than one."""
        found = [match for match in _NUMBER.finditer(text) if match[0] != "%%"]
        if len(found) != 1:
            return None
        before, after = text[: found[0].start()], text[found[0].end() :]
        return cls(before.replace("%%", "%"), int(found[0][1] or 1), after.replace("%%", "%"))

    def __str__(self) -> str:
        number = f"%0{self.digits}d" if self.digits > 1 else "%d"
        return f"{self.before.replace('%', '%%')}{number}{self.after.replace('%', '%%')}"

    def name(self, number: int) -> str:
        return f"{self.before}{number:0{self.digits}d}{self.after}"

    def number(self, name: str) -> int | None:
        """The number of a file name that the pattern would write."""
        if not name.startswith(self.before) or not name.endswith(self.after):
            return None
        digits = name[len(self.before) : len(name) - len(self.after)]
        if not _DIGITS.fullmatch(digits) or len(digits) > _MAX_DIGITS:
            return None
        return int(digits) if self.name(int(digits)) == name else None


class Images(NamedTuple):
    """The files of a sequence in order."""

    text: str  # what the caller passed
    paths: list[str]
    pattern: str  # a name for all images that FFmpeg understands; if there is none, the first image's


def is_pattern(path: str) -> bool:
    """Whether a path that leads to no file may stand for several."""
    name = os.path.basename(path)
    numbered = suffix_of(name) in _SUFFIXES and _NUMBER.search(name) is not None
    return numbered or _GLOB.search(name) is not None


def find_images(path: str) -> Images:
    """The images that a pattern or a folder stands for; raises InputError, or PathError under a guard."""
    if os.path.isdir(path):
        return _in_folder(path.rstrip("/") or path)
    folder, name = os.path.split(path)
    try:
        names = list_local(folder)
    except OSError as error:
        raise InputError(f"the folder of '{path}' cannot be read: {error.strerror}") from error
    pattern = Pattern.parse(name)
    if pattern is not None:
        return _numbered(path, folder, pattern, names)
    if not _GLOB.search(name):
        raise InputError(
            f"'{path}' has more than one number to fill in: write it with one, as in shot.%04d.png"
        )
    found = sorted((entry for entry in names if fnmatchcase(entry, name)), key=natural)
    if not found:
        raise InputError(f"'{path}' does not exist, and no file matches it as a pattern: check the path")
    if other := next((entry for entry in found if suffix_of(entry) not in _SUFFIXES), None):
        raise InputError(f"'{path}' matches '{other}', which is no image: end the pattern as in '*.png'")
    return _named(path, folder, found)


def _named(text: str, folder: str, names: list[str]) -> Images:
    paths = [os.path.join(folder, name) for name in names]
    return Images(text, paths, paths[0])


def natural(name: str) -> tuple[tuple[str | int, ...], str]:
    """The key that sorts 'shot2' before 'shot10'."""
    parts = _DIGITS.split(name)
    return tuple(int(part) if at % 2 else part.lower() for at, part in enumerate(parts)), name


def suffix_of(name: str) -> str:
    """The extension of a file, in small letters."""
    return os.path.splitext(name)[1].lower()


def _numbered(text: str, folder: str, pattern: Pattern, names: Iterable[str]) -> Images:
    numbers = {number for name in names if (number := pattern.number(name)) is not None}
    if not numbers:
        raise InputError(f"no file matches '{text}': check the path, and how many digits the numbers have")
    first, last = min(numbers), max(numbers)
    if len(numbers) <= last - first:
        missing = next(number for number in range(first, last) if number not in numbers)
        rest = os.path.join(folder, f"{pattern.before}*{pattern.after}")
        raise InputError(
            f"image {missing} of '{text}' is missing ('{pattern.name(missing)}', between {first} and {last}):"
            f" make it, or pass '{rest}' to score the others"
        )
    paths = [os.path.join(folder, pattern.name(number)) for number in range(first, last + 1)]
    return Images(text, paths, os.path.join(folder, str(pattern)))


def _in_folder(folder: str) -> Images:
    names = [name for name in list_local(folder) if suffix_of(name) in _SUFFIXES]
    if not names:
        raise InputError(f"'{folder}' is a directory without {_KINDS} images: pass a video file")
    found = sorted(sequences(names), key=lambda sequence: natural(str(sequence)))
    if len(found) > 1:
        shown = ", ".join(f"'{os.path.join(folder, str(sequence))}'" for sequence in found[:_MOST_NAMED])
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        suffixes = {suffix_of(name) for name in names}
        every = f", or '{os.path.join(folder, f'*{suffixes.pop()}')}' for all" if len(suffixes) == 1 else ""
        raise InputError(f"the images in '{folder}' are not one sequence: pass one of {shown}{more}{every}")
    if isinstance(found[0], Pattern):
        return _numbered(folder, folder, found[0], names)
    return _named(folder, folder, names)


def sequences(names: Iterable[str]) -> list[Pattern | str]:
    """The patterns, and the names without company, that these names are made of."""
    shapes: defaultdict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for name in names:
        stem, suffix = os.path.splitext(name)
        parts = _DIGITS.split(stem)
        shapes[(*parts[::2], suffix)].append(tuple(parts[1::2]))
    return [found for texts, numbers in shapes.items() for found in _runs(texts, numbers)]


def _runs(texts: tuple[str, ...], numbers: list[tuple[str, ...]]) -> Iterator[Pattern | str]:
    """The sequences of names that differ in numbers only: the last number that differs counts the images."""
    differs = [at for at in range(len(texts) - 2) if len({digits[at] for digits in numbers}) > 1]
    runs: defaultdict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for digits in numbers:
        runs[digits[: differs[-1]] + digits[differs[-1] + 1 :] if differs else ()].append(digits)
    for run in runs.values():
        names = [_joined(texts, digits) for digits in run]
        if len(run) == 1:
            yield names[0]
            continue
        counts = [digits[differs[-1]] for digits in run]
        padded = any(count.startswith("0") and len(count) > 1 for count in counts)
        digits, at = run[0], differs[-1]
        pattern = Pattern(
            _joined(texts[: at + 1], digits[:at]),
            min(map(len, counts)) if padded else 1,
            _joined(texts[at + 1 :], digits[at + 1 :]),
        )
        yield pattern
        yield from (name for name in names if pattern.number(name) is None)


def _joined(texts: Sequence[str], digits: Sequence[str]) -> str:
    """The texts with the numbers between them; what is left of the texts follows."""
    filled = [*digits, *[""] * (len(texts) - len(digits))]
    return "".join(text + number for text, number in zip(texts, filled, strict=True))

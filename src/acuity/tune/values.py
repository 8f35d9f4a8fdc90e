"""Values of tuning requests from text: lists with commas, sizes, bytes, options of encoders, new files."""

from __future__ import annotations

import math
import os
import re
from typing import Final

from acuity.errors import OutputError, TuneError, to_give, to_set
from acuity.text import shortened

MOST_ENTRIES: Final = 32  # of a list with commas: each costs encodes
_SIZE: Final = re.compile(r"(\d+)x(\d+)", re.ASCII)
_BYTES: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(i?)b?", re.ASCII | re.IGNORECASE)


def entries(text: str, what: str) -> list[str]:
    """The entries of a list with commas, without repetition; raises TuneError if there are too many."""
    found = list(dict.fromkeys(part.strip() for part in text.split(",")))
    if len(found) > MOST_ENTRIES:
        raise TuneError(
            f"{len(found)} entries are too many: ", to_give(what, verb=f"give at most {MOST_ENTRIES} with")
        )
    return found


def numbers(text: str, what: str) -> list[float]:
    found: list[float] = []
    for part in entries(text, what):
        try:
            found.append(float(part))
            if not math.isfinite(found[-1]):
                raise ValueError
        except ValueError:
            remedy = to_give(what, verb="give numbers with"), ", as 95,90,85"
            raise TuneError(f"'{shortened(part)}' is no number: ", *remedy) from None
    return list(dict.fromkeys(found))


def as_whole(value: float) -> float:
    """The value, as an int where it is whole: so encoders and documents write it without a point."""
    return int(value) if value == int(value) else value


def qualities(text: str) -> list[float]:
    return [as_whole(value) for value in numbers(text, "crf_sweep")]


def scores(text: str) -> list[float]:
    found = numbers(text, "target_vmafs")
    for value in found:
        if not 0 < value <= 100:
            raise TuneError(
                f"{value:g} is no VMAF score: ", to_give("target_vmafs", verb="give numbers up to 100 with")
            )
    return found


def sizes(text: str) -> list[tuple[int, int]]:
    return list(dict.fromkeys(size(part) for part in entries(text, "resolutions")))


def size(text: str) -> tuple[int, int]:
    match = _SIZE.fullmatch(text.lower())
    if match is None or not int(match[1]) or not int(match[2]):
        raise TuneError(f"'{shortened(text)}' is no size: write it as 1280x720")
    return int(match[1]), int(match[2])


def byte_count(text: str) -> int:
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        raise TuneError(f"'{shortened(text)}' is no size in bytes: write it as 40M, 1.5G or 40000000")
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** " kmg".index(match[2].lower() or " "))


def option_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise TuneError(f"'{shortened(text)}' is no option of an encoder: write it as name=value")
    return name, value


def check_new(path: str, overwrite: bool) -> None:
    """Refuse a file to write that exists, unless it may be replaced; raises OutputError."""
    if os.path.isfile(path) and not overwrite:
        raise OutputError(
            f"'{path}' exists already: name another file, or replace it with ", to_set("overwrite", True)
        )

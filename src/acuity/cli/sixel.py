"""Encodes pictures as sixels, for terminals that show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

_BAND: Final = 6  # rows of a character
_MOST_COLOURS: Final = 250
_FIRST: Final = 63  # the code of a character without dots


def sixel(image: NDArray[np.uint8]) -> str:
    """A picture of (height, width, 3) as an escape sequence; colours that are much alike become one."""
    height, width, _ = image.shape
    palette, places = _reduced(image)
    colours = "".join(
        f"#{number};2;{';'.join(str(round(int(part) * 100 / 255)) for part in colour)}"
        for number, colour in enumerate(palette)
    )
    bands = "-".join(_band(places[start : start + _BAND]) for start in range(0, height, _BAND))
    return f'\033Pq"1;1;{width};{height}{colours}{bands}\033\\'


def _reduced(image: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Few colours, and which of them each pixel has."""
    pixels = image.reshape(-1, 3).astype(np.int64)
    for bits in range(8, 0, -1):
        keys = (pixels >> (8 - bits)) @ np.array([1 << 16, 1 << 8, 1])
        found, places = np.unique(keys, return_inverse=True)
        if len(found) <= _MOST_COLOURS:
            break
    sums = [np.bincount(places, pixels[:, part]) / np.bincount(places) for part in range(3)]
    means = np.rint(np.column_stack(sums)).astype(np.uint8)
    return means, places.reshape(image.shape[:2])


def _band(rows: NDArray[np.int64]) -> str:
    """Six rows: for each colour the dots that have it, then back to the start for the next colour."""
    weights = (1 << np.arange(len(rows)))[:, None]
    lines = []
    for colour in np.unique(rows).tolist():
        codes = ((rows == colour) * weights).sum(0) + _FIRST
        lines.append(f"#{colour}{''.join(_runs(codes))}")
    return "$".join(lines)


def _runs(codes: NDArray[np.int64]) -> Iterator[str]:
    """The characters, with a number before one that is repeated; empty ones at the end are left out."""
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    lengths = np.diff(starts, append=len(codes)).tolist()
    runs = list(zip(codes[starts].tolist(), lengths, strict=True))
    if runs and runs[-1][0] == _FIRST:
        runs.pop()
    for code, length in runs:
        yield f"!{length}{chr(code)}" if length > 3 else chr(code) * length

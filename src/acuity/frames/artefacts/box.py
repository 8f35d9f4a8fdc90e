"""Boxes in a picture, and where in the picture a map of cells has most of its sum."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

WHOLE: Final = "whole picture"
_EVEN: Final = 0.6  # share of cells with half of the peak from which damage counts as everywhere
_KEPT: Final = 0.8  # share of the damage that a box keeps
_LONG: Final = 0.75  # of a side of the picture: a box as long isn't in a corner


class Box(NamedTuple):
    """A rectangle of luma samples."""

    x: int
    y: int
    width: int
    height: int

    def to_document(self) -> dict[str, int]:
        return self._asdict()

    def meets(self, other: Box) -> bool:
        """Whether they share half of the smaller one, or more."""
        wide = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        high = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        smaller = min(self.width * self.height, other.width * other.height)
        return 2 * max(wide, 0) * max(high, 0) >= smaller

    def words(self, width: int, height: int) -> str:
        """Where it is in a picture of that size."""
        right, bottom = self.x + self.width, self.y + self.height
        return _words(self.x / width, right / width, self.y / height, bottom / height)


class Place(NamedTuple):
    """A box of cells, and where it is in words."""

    left: int
    top: int
    right: int
    bottom: int
    words: str


def place_of(cells: NDArray[np.float32]) -> Place:
    """Where most of a map is: the whole picture if it is even."""
    rows, columns = cells.shape
    whole = Place(0, 0, columns, rows, WHOLE)
    total = float(cells.sum())
    peak = float(np.sort(cells, axis=None)[-max(1, cells.size // 20) :].mean())
    if total <= 0 or (cells >= 0.5 * peak).mean() >= _EVEN:
        return whole
    left, top, right, bottom = _shrunk(cells, _KEPT * total)
    words = _words(left / columns, right / columns, top / rows, bottom / rows)
    return Place(left, top, right, bottom, words) if words != WHOLE else whole


def _shrunk(cells: NDArray[np.float32], kept: float) -> tuple[int, int, int, int]:
    """The box left when the side with the smallest mean is cut off again and again."""
    left, top, right, bottom = 0, 0, cells.shape[1], cells.shape[0]
    while True:
        inner = cells[top:bottom, left:right]
        sides = {
            "left": inner[:, 0],
            "right": inner[:, -1],
            "top": inner[0],
            "bottom": inner[-1],
        }
        wide, high = right - left > 1, bottom - top > 1
        allowed = [name for name in sides if (wide if name in ("left", "right") else high)]
        if not allowed:
            break
        name = min(allowed, key=lambda side: float(sides[side].mean()))
        if float(inner.sum() - sides[name].sum()) < kept:
            break
        left, top = left + (name == "left"), top + (name == "top")
        right, bottom = right - (name == "right"), bottom - (name == "bottom")
    return left, top, right, bottom


def _words(left: float, right: float, top: float, bottom: float) -> str:
    """Words for a box whose sides are shares of the picture's."""
    wide, high = right - left >= _LONG, bottom - top >= _LONG
    if wide and high:
        return WHOLE
    across = _third((left + right) / 2, ("left", "", "right")) if not wide else ""
    down = _third((top + bottom) / 2, ("upper", "", "lower")) if not high else ""
    if across and down:
        return f"{down} {across}"
    if across:
        return f"{across} edge" if right - left < 0.2 else f"{across} side"
    if down:
        return {"upper": "top", "lower": "bottom"}[down]
    return "down the middle" if high else "across the middle" if wide else "centre"


def _third(middle: float, names: tuple[str, str, str]) -> str:
    return names[0] if middle < 0.4 else names[2] if middle > 0.6 else names[1]

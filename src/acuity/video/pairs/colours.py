"""Colours: whether two videos have the same ones, from means of their chroma; VMAF sees luma alone."""

from __future__ import annotations

import cmath
import math
from typing import Final

import numpy as np

from acuity.video.picture import Picture

_CELLS: Final = (9, 16)
# 8-bit steps by which chroma differs, as the root of a mean square, and the share of the chroma that it is.
_STEPS: Final = 3.0
_SHARE: Final = 0.35
_LIMITED: Final = 224 / 255  # chroma of full range in limited range
_FITS: Final = 0.4  # of the difference, that what explains it may leave
_TURN: Final = 8.0  # degrees of hue that are worth a word
_GREY: Final = 0.15  # of the saturation, below which there is no hue


class Colours:
    """Sums of the chroma of pictures in a grid of cells."""

    def __init__(self, *, full_range: bool) -> None:
        self._scale = _LIMITED if full_range else 1.0
        self._sums = np.zeros(_CELLS, np.complex128)  # Cb and Cr
        self._pictures = 0

    def see(self, picture: Picture) -> None:
        """Take in a picture, if its chroma is at hand."""
        from acuity import _native

        planes = picture.planes[1:] or picture.chroma
        if len(planes) < 2 or any(np.less(plane.shape, _CELLS).any() for plane in planes):
            return
        cells = np.empty((2, *_CELLS), np.float32)
        for plane, means in zip(planes, cells, strict=True):
            _native.signature(plane, picture.format.depth, means)
        self._sums += self._scale * (cells[0] + 1j * cells[1])
        self._pictures += 1

    def difference(self, other: Colours) -> str | None:
        """In words how the other's colours differ from these; None where they don't or aren't known."""
        if not self._pictures or not other._pictures:
            return None
        mine, its = self._sums / self._pictures, other._sums / other._pictures
        off, most = _size(its - mine), max(_size(mine), _size(its))
        if off < max(_STEPS, _SHARE * most):
            return None
        steps = f"by {off:.0f} of 255 steps"
        swapped = mine.imag + 1j * mine.real
        if _size(its - swapped) < _FITS * off:
            return f"{steps}: Cb and Cr are swapped"
        factor = complex((np.conj(mine) * its).sum() / max(float(np.square(np.abs(mine)).sum()), 1e-9))
        if _size(its - factor * mine) > _FITS * off:
            return steps
        degrees = math.degrees(cmath.phase(factor))
        words = [f"saturation {abs(factor):.0%}"]
        if abs(degrees) >= _TURN and abs(factor) > _GREY:
            words.append(f"hue turned by {abs(degrees):.0f} degrees")
        return f"{steps}: {', '.join(words)}"


def _size(chroma: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]) -> float:
    return float(np.square(np.abs(chroma)).mean() ** 0.5)

"""Colours: compares those of two videos by means of their chroma, because VMAF sees luma alone."""

from __future__ import annotations

import cmath
import math
import threading
from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.video.picture import Picture

_CELLS: Final = (9, 16)
_MOST_STRETCHES: Final = 64  # of a video, each with means of its own: over a whole film colours average out
# 8-bit steps by which chroma differs, as the root of a mean square, and the share of the chroma that it is.
_STEPS: Final = 4.0
_SHARE: Final = 0.35
# The same where one turn of the hue and one saturation explain the difference of all stretches, and the
# chroma that they need: encoders may lose what is fainter.
_FEW_STEPS: Final = 2.0
_LITTLE: Final = 0.12
_FAINT: Final = 6.0
_LIMITED: Final = 224 / 255  # chroma of full range in limited range
_FITS: Final = 0.4  # share of the difference that its explanation may leave
_TURN: Final = 5.0  # degrees of hue that are worth a word
_GREY: Final = 0.15  # of the saturation, below which there is no hue

Chroma = NDArray[np.complex128]  # Cb and Cr


class Colours:
    """Means of the chroma of pictures in a grid of cells, of each stretch of a video."""

    def __init__(self, *, full_range: bool) -> None:
        self._scale = _LIMITED if full_range else 1.0
        self._stretch = 1  # pictures of one; doubled where there would be too many
        self._sums: dict[int, Chroma] = {}  # of stretches, by their number
        self._counts: Counter[int] = Counter()  # pictures of each
        self._joining = threading.Lock()  # because pictures may come from several threads

    def see(self, picture: Picture, number: int) -> None:
        """Take in the picture of this number, if its chroma is at hand."""
        from acuity import _native

        planes = picture.planes[1:] or picture.chroma
        if len(planes) < 2 or any(np.less(plane.shape, _CELLS).any() for plane in planes):
            return
        cells = np.empty((2, *_CELLS), np.float32)
        for plane, means in zip(planes, cells, strict=True):
            _native.signature(plane, picture.format.depth, means)
        with self._joining:
            self._add(number // self._stretch, self._scale * (cells[0] + 1j * cells[1]), 1)
            while len(self._sums) > _MOST_STRETCHES:
                self._join(2 * self._stretch)

    def difference(self, other: Colours) -> str | None:
        """In words how the other's colours differ from these; None where they don't or aren't known."""
        stretch = max(self._stretch, other._stretch)
        self._join(stretch)
        other._join(stretch)
        both = sorted(self._sums.keys() & other._sums.keys())
        if not both:
            return None
        mine, its = (np.stack([one._sums[n] / one._counts[n] for n in both]) for one in (self, other))
        off, most = _size(its - mine), max(_size(mine), _size(its))
        steps = f"by {off:.0f} of 255 steps"
        swapped = mine.imag + 1j * mine.real
        if off >= max(_STEPS, _SHARE * most) and _size(its - swapped) < _FITS * off:
            return f"{steps}: Cb and Cr are swapped"
        factor = complex((np.conj(mine) * its).sum() / max(float(np.square(np.abs(mine)).sum()), 1e-9))
        explained = most >= _FAINT and _size(its - factor * mine) < _FITS * off
        if explained and off >= max(_FEW_STEPS, _LITTLE * most):
            degrees = math.degrees(cmath.phase(factor))
            words = [f"saturation {abs(factor):.0%}"]
            if abs(degrees) >= _TURN and abs(factor) > _GREY:
                words.append(f"hue turned by {abs(degrees):.0f} degrees")
            return f"{steps}: {', '.join(words)}"
        # An unexplained difference may come from frames of other moments: means over all hardly show it.
        mine, its = mine.mean(axis=0), its.mean(axis=0)
        off, most = _size(its - mine), max(_size(mine), _size(its))
        return f"by {off:.0f} of 255 steps" if off >= max(_STEPS, _SHARE * most) else None

    def _add(self, stretch: int, sums: Chroma, count: int) -> None:
        self._sums[stretch] = self._sums.get(stretch, 0) + sums
        self._counts[stretch] += count

    def _join(self, pictures: int) -> None:
        """Make stretches of so many pictures, a multiple of what they have."""
        times, sums, counts = pictures // self._stretch, self._sums, self._counts
        self._stretch, self._sums, self._counts = pictures, {}, Counter()
        for stretch, one in sums.items():
            self._add(stretch // times, one, counts[stretch])


def _size(chroma: Chroma) -> float:
    return float(np.square(np.abs(chroma)).mean() ** 0.5)

"""The curve from tones of the reference to those of the distorted picture.

A change of brightness or contrast is one artefact. The other measures compare with the reference after that
change, so that a picture of lower contrast isn't called blurred, too.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.grid import Plane

_LEAST_SPREAD: Final = 6.0  # levels between cells, as a standard deviation, below which no slope is fitted
_LEAST_CHANGE: Final = 1.0  # levels; smaller changes are left alone
_SLOPES: Final = (0.2, 5.0)
_CURVED: Final = 24  # cells needed for a curve
_ROUNDS: Final = 4


class Tone:
    """A polynomial of the luma in levels, or no change."""

    def __init__(self, coefficients: NDArray[np.float64] | None = None) -> None:
        self._coefficients = coefficients

    def __call__(self, luma: Plane) -> Plane:
        if self._coefficients is None:
            return luma
        first, *rest = (np.float32(value) for value in self._coefficients)
        out = luma * first
        for value in rest[:-1]:
            out += value
            out *= luma
        out += rest[-1]
        return out

    @classmethod
    def between(cls, ref: Plane, dis: Plane) -> Tone:
        """The curve between the means of cells; robust against cells that are damaged otherwise."""
        x, y = ref.ravel().astype(np.float64), dis.ravel().astype(np.float64)
        spread = float(x.std())
        if spread < _LEAST_SPREAD or x.size < 6:
            shift = float(np.median(y - x))
            return cls(np.array([1.0, shift])) if abs(shift) >= _LEAST_CHANGE else cls()
        for degree in (2, 1) if x.size >= _CURVED else (1,):
            coefficients = _robust_fit(x, y, degree)
            ends = np.percentile(x, (2, 50, 98))
            slopes = np.polyval(np.polyder(coefficients), ends)
            if slopes.min() < _SLOPES[0] or slopes.max() > _SLOPES[1]:
                continue
            change = np.abs(np.polyval(coefficients, ends) - ends)
            return cls(coefficients) if change.max() >= _LEAST_CHANGE else cls()
        return cls()


def _robust_fit(x: NDArray[np.float64], y: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Least squares, again with less weight on cells that are far off."""
    weights = np.ones_like(x)
    middle, scale = x.mean(), x.std()
    coefficients = np.zeros(degree + 1)
    for _ in range(_ROUNDS):
        powers = ((x - middle) / scale)[:, None] ** np.arange(degree, -1, -1)
        coefficients = np.linalg.lstsq(powers * weights[:, None], y * weights, rcond=None)[0]
        off = np.abs(powers @ coefficients - y)
        weights = 1 / np.maximum(1.0, off / max(0.5, 1.5 * float(np.median(off))))
    # Back to powers of x itself.
    shifted = np.poly1d(coefficients)(np.poly1d([1 / scale, -middle / scale]))
    return np.asarray(np.pad(shifted.coeffs, (degree + 1 - len(shifted.coeffs), 0)), np.float64)

"""Correlations and errors of predictions against opinions: PLCC, SROCC, KROCC and RMSE.

A figure that has no value is None: the correlation of predictions that are all the same, for example.

Predictions are also judged after a mapping onto the scale of the ratings, as ITU-T P.1401 has it. It is the
polynomial of third order with the least square error among those that rise over all of the predictions; of a
figure that is lower where quality is higher, among those that fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

FEWEST: Final = 10  # samples; draws of fewer are mostly the same few clips, and give no interval
NAMES: Final = ("plcc", "srocc", "krocc", "rmse")
# Values that differ by less than this, relative to the greatest, are the same but for rounding.
_SAME: Final = 1e-12
_DIGITS: Final = 15  # of correlations: equal values have 1, not 0.9999999999999999


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """The figures of one model on one set of samples."""

    n: int
    plcc: float | None
    srocc: float | None
    krocc: float | None
    rmse: float


def figures_of(predicted: Vector, target: Vector) -> ModelFigures:
    """The figures of predictions against their targets, two of each at least; KROCC is tau-b, for ties."""
    from scipy.stats import kendalltau, pearsonr, spearmanr

    rmse = float(np.sqrt(np.mean((predicted - target) ** 2)))
    if is_constant(predicted) or is_constant(target):
        return ModelFigures(len(target), None, None, None, rmse)
    plcc, srocc, krocc = (float(of(predicted, target).statistic) for of in (pearsonr, spearmanr, kendalltau))
    return ModelFigures(len(target), round(plcc, _DIGITS), round(srocc, _DIGITS), krocc, rmse)


def is_constant(values: Vector) -> bool:
    """Whether all values are the same, but for rounding."""
    spread = float(values.max()) - float(values.min())
    return spread <= _SAME * float(np.abs(values).max())


FUNCTION: Final = "monotonic third-order polynomial"
_MOST: Final = 5_000_000  # samples that a curve is fitted to: bounds the memory
_FREEDOM: Final = 4  # coefficients of the polynomial
_PLACES: Final = np.linspace(0, 1, 257)  # where the slope of a polynomial may be zero


@dataclass(frozen=True, slots=True)
class Mapped:
    """The figures of one model after the mapping."""

    function: str
    plcc: float | None
    rmse: float  # over the samples less the polynomial's four degrees of freedom
    outlier_ratio: float | None  # of errors beyond the ratings' 95 % intervals; None where these aren't known


def mapped_figures(predicted: Vector, target: Vector, margins: Vector | None) -> Mapped | None:
    """The figures after the mapping; `margins` are halves of the ratings' intervals.

    None where samples are too few for a curve or far too many, or all predictions the same.
    """
    if not FEWEST <= len(target) <= _MOST or is_constant(predicted):
        return None
    from scipy.stats import pearsonr

    fitted = monotonic_cubic(predicted, target)
    errors = np.abs(fitted - target)
    varied = not is_constant(fitted) and not is_constant(target)
    return Mapped(
        FUNCTION,
        round(float(pearsonr(fitted, target).statistic), _DIGITS) if varied else None,
        float(np.sqrt((errors**2).sum() / (len(target) - _FREEDOM))),
        None if margins is None else float(np.mean(errors > margins)),
    )


def monotonic_cubic(predicted: Vector, target: Vector) -> Vector:
    """The predictions, mapped."""
    from scipy.optimize import nnls

    low, high = float(predicted.min()), float(predicted.max())
    x = (predicted - low) / (high - low)
    powers = np.column_stack([x, x**2, x**3])
    centre, middle = powers.mean(axis=0), float(target.mean())
    basis, triangle = np.linalg.qr(powers - centre)
    wanted = basis.T @ (target - middle)  # all that the fit needs of the target
    # A slope of second order is nowhere negative if it is a sum of squares (x - r)^2 with r from 0 to 1, and
    # of x (1 - x), none with a negative factor: these are the factors of x, x^2 and x^3 in their integrals.
    rising = np.column_stack(
        [np.stack([_PLACES**2, -_PLACES, np.full_like(_PLACES, 1 / 3)]), np.array([0, 1 / 2, -1 / 3])]
    )
    free = np.linalg.lstsq(triangle, wanted, rcond=None)[0]
    slopes = free @ np.stack([np.ones_like(_PLACES), 2 * _PLACES, 3 * _PLACES**2])
    found = [(0.0, free)] if (slopes >= 0).all() or (slopes <= 0).all() else []
    for sign in () if found else (1.0, -1.0):
        factors, error = nnls(triangle @ rising, sign * wanted)
        found.append((float(error), sign * (rising @ factors)))
    best = min(found, key=lambda one: one[0])[1]
    return np.asarray(middle + (powers - centre) @ best)

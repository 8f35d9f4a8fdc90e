"""Correlations and errors of predictions against opinions: PLCC, SROCC, KROCC and RMSE.

A figure that has no value is None: the correlation of predictions that are all the same, for example.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

NAMES: Final = ("plcc", "srocc", "krocc", "rmse")
# Values that differ by less than this, relative to the greatest, are the same but for rounding.
_SAME: Final = 1e-12
_DIGITS: Final = 15  # of correlations: equal values have 1, not 0.9999999999999999


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one model on one set of samples."""

    n: int
    plcc: float | None
    srocc: float | None
    krocc: float | None
    rmse: float

    def to_document(self) -> dict[str, float | None]:
        return asdict(self)


def figures_of(predicted: Vector, target: Vector) -> Figures:
    """The figures of predictions against their targets, two of each at least."""
    varied = not is_constant(predicted) and not is_constant(target)
    return Figures(
        len(target),
        pearson(predicted, target) if varied else None,
        spearman(predicted, target) if varied else None,
        kendall(predicted, target) if varied else None,
        rmse(predicted, target),
    )


def is_constant(values: Vector) -> bool:
    """Whether all values are the same, but for rounding."""
    spread = float(values.max()) - float(values.min())
    return spread <= _SAME * float(np.abs(values).max())


def pearson(x: Vector, y: Vector) -> float:
    """Pearson's correlation of values that vary."""
    x, y = _unit(x), _unit(y)
    return float(np.clip(np.dot(x, y), -1.0, 1.0).round(_DIGITS))


def kendall(x: Vector, y: Vector) -> float:
    """Kendall's tau-b, which allows for ties."""
    from scipy.stats import kendalltau

    return float(kendalltau(x, y).statistic)


def spearman(x: Vector, y: Vector) -> float:
    """Pearson's correlation of the ranks, of which equal values share the mean."""
    from scipy.stats import rankdata

    return pearson(rankdata(x), rankdata(y))


def rmse(x: Vector, y: Vector) -> float:
    return float(np.sqrt(np.mean((x - y) ** 2)))


def _unit(values: Vector) -> Vector:
    """The values about their mean, at length one. Scaled first, so that no square overflows or vanishes."""
    centred = values - values.mean()
    centred = centred / np.abs(centred).max()
    unit: Vector = centred / np.sqrt(np.dot(centred, centred))
    return unit

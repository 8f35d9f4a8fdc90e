"""Agreement: how well predicted scores follow the true ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Agreement(NamedTuple):
    """Correlation of the values (PLCC) and of their ranks (SROCC), and the root of the mean squared error."""

    n: int
    plcc: float
    srocc: float
    rmse: float

    @classmethod
    def of(cls, predicted: Floats, true: Floats) -> Agreement:
        error = float(np.sqrt(np.mean((predicted - true) ** 2)))
        return cls(
            len(true), _correlation(predicted, true), _correlation(_ranks(predicted), _ranks(true)), error
        )

    def document(self) -> dict[str, float | int | None]:
        """Rounded, with null where there is no correlation because one of the two is constant."""
        rounded = {
            name: round(value, 4) if np.isfinite(value) else None for name, value in self._asdict().items()
        }
        return {**rounded, "n": self.n}


def _correlation(a: Floats, b: Floats) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def _ranks(values: Floats) -> Floats:
    """Ranks from 0, equal values sharing the mean of theirs."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts) - 1
    return (last - (counts - 1) / 2)[where]

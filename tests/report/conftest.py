"""A measurement to report on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray


@dataclass
class Figures:
    """The least a report is written from."""

    frames: Sequence[int]
    columns: Mapping[str, NDArray[np.float64]]
    pools: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    aggregate: Mapping[str, float] = field(default_factory=dict)
    width: int = 576
    height: int = 324
    fps: float = 123.456

    def pooled(self) -> Mapping[str, Mapping[str, float]]:
        return self.pools


@pytest.fixture
def figures() -> Figures:
    """Two frames, one figure small enough for sixteen decimals."""
    return Figures(
        frames=[0, 1],
        columns={
            "integer_adm2": np.array([0.9620842, 1.0000004]),
            "integer_motion2": np.array([0.0, 3.5]),
            "vmaf": np.array([76.6683052, 100.0]),
        },
        pools={
            "integer_adm2": {"min": 0.9620842, "max": 1.0000004, "mean": 0.98, "harmonic_mean": 0.97},
            "vmaf": {"min": 76.6683052, "max": 100.0, "mean": 88.0, "harmonic_mean": 87.0},
        },
        aggregate={"apsnr_y": 34.5, "apsnr_cb": 0.0000005},
    )


@pytest.fixture
def ragged() -> Figures:
    """A frame without one of its figures, one without any, and infinities."""
    nan, inf = float("nan"), float("inf")
    return Figures(
        frames=[3, 4, 5],
        columns={"a": np.array([nan, nan, 1.0]), "b": np.array([2.0, nan, inf])},
        pools={"a": {}, "b": {"min": 2.0, "max": inf}},
        aggregate={"c": -inf},
        fps=inf,
    )

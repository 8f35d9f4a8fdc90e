"""A measurement to report on."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.report.stored_report import StoredReport


@pytest.fixture
def figures() -> StoredReport:
    """Two frames, one figure small enough for sixteen decimals."""
    return StoredReport(
        frames=[0, 1],
        columns={
            "integer_adm2": np.array([0.9620842, 1.0000004]),
            "integer_motion2": np.array([0.0, 3.5]),
            "vmaf": np.array([76.6683052, 100.0]),
        },
        aggregate={"apsnr_y": 34.5, "apsnr_cb": 0.0000005},
        width=576,
        height=324,
        fps=123.456,
        said={
            "integer_adm2": {"min": 0.9620842, "max": 1.0000004, "mean": 0.98, "harmonic_mean": 0.97},
            "vmaf": {"min": 76.6683052, "max": 100.0, "mean": 88.0, "harmonic_mean": 87.0},
        },
    )


@pytest.fixture
def ragged() -> StoredReport:
    """A frame without one of its figures, one without any, and infinities."""
    nan, inf = float("nan"), float("inf")
    columns = {"a": np.array([nan, nan, 1.0]), "b": np.array([2.0, nan, inf])}
    said = {"a": {}, "b": {"min": 2.0, "max": inf}}
    return StoredReport([3, 4, 5], columns, {"c": -inf}, fps=inf, said=said)

"""Predictions that are mapped onto the ratings' scale before they are judged."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.tiny.evaluate.statistics import FEWEST, mapped_figures, monotonic_cubic


def test_a_rising_polynomial_is_found_exactly() -> None:
    x = np.linspace(20, 98, 40)
    y = 1 + 0.01 * (x - 20) + 8e-6 * (x - 20) ** 3
    assert monotonic_cubic(x, y) == pytest.approx(y, abs=1e-9)
    assert monotonic_cubic(x, 6 - y) == pytest.approx(6 - y, abs=1e-9)  # lower is better
    found = mapped_figures(x, y, None)
    assert found is not None
    assert (found.plcc, found.rmse) == (pytest.approx(1), pytest.approx(0, abs=1e-9))
    assert found.outlier_ratio is None


@pytest.mark.parametrize("seed", range(8))
def test_it_never_falls_where_the_best_polynomial_would(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.uniform(0, 100, 50)
    y = 1 + 4 / (1 + np.exp((40 - x) / 5)) + random.normal(0, 0.2, 50)
    fitted = monotonic_cubic(x, y)
    rises = np.diff(fitted[np.argsort(x)])
    assert (rises >= -1e-9).all()
    free = np.square(np.polyval(np.polyfit(x, y, 3), x) - y).sum()
    line = np.square(np.polyval(np.polyfit(x, y, 1), x) - y).sum()
    # Worse than one that may fall, better than a line, which is one that rises.
    assert free <= np.square(fitted - y).sum() + 1e-9 <= line
    # Nothing near it that rises is better: a step towards the free one, or to the line, isn't.
    step = 0.02 * (np.polyval(np.polyfit(x, y, 1), x) - fitted)
    assert np.square(fitted + step - y).sum() >= np.square(fitted - y).sum() - 1e-9


def test_the_figures_are_those_of_the_recommendation() -> None:
    random = np.random.default_rng(5)
    x = random.uniform(0, 100, 30)
    y = x / 25 + 1 + random.normal(0, 0.2, 30)
    fitted, margins = monotonic_cubic(x, y), np.full(30, 0.15)
    found = mapped_figures(x, y, margins)
    assert found is not None
    assert found.rmse == pytest.approx(np.sqrt(np.square(fitted - y).sum() / 26))
    assert found.plcc == pytest.approx(np.corrcoef(fitted, y)[0, 1])
    assert found.outlier_ratio == np.mean(np.abs(fitted - y) > 0.15)
    assert mapped_figures(x[: FEWEST - 1], y[: FEWEST - 1], None) is None
    assert mapped_figures(np.ones(30), y, None) is None

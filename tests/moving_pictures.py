"""Generates and measures small moving pictures and their degraded copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from acuity.measure import Measurement, Results
from acuity.models import Model, ModelCollection
from acuity.video.picture import Picture, PixelFormat

WIDTH, HEIGHT = 70, 52


def luma(
    index: int, *, worse: bool = False, depth: int = 8
) -> np.ndarray[tuple[int, int], np.dtype[np.uint16]]:
    rng = np.random.default_rng(2 * index + worse)
    peak = (1 << depth) - 1
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    wave = 0.5 + 0.3 * np.sin(x * 0.35 + index * index * 0.05) * np.cos(y * 0.21 - index * 0.1)
    noise = rng.normal(0, 0.03 if worse else 0.01, x.shape)
    values = np.clip((wave * (0.9 if worse else 1.0) + noise) * peak, 0, peak)
    return values.astype(np.uint8 if depth == 8 else np.uint16)  # type: ignore[return-value]


def pair(index: int, depth: int = 8) -> tuple[Picture, Picture]:
    form = PixelFormat("400", depth)
    return (
        Picture((luma(index, depth=depth),), form),
        Picture((luma(index, worse=True, depth=depth),), form),
    )


def measuring(
    *models: str | Model | ModelCollection, features: Iterable[str] = (), frames: int = 0, **options: Any
) -> Measurement:
    """A measurement of these that was fed so many frames."""
    measurement = Measurement(**options)
    for model in models:
        measurement.add_model(model)
    for feature in features:
        measurement.add_feature(feature)
    for index in range(frames):
        assert measurement.add(*pair(index)) == index
    return measurement


def measure(frames: int, *models: str, features: Iterable[str] = (), **options: Any) -> Results:
    with measuring(*models, features=features, frames=frames, **options) as measurement:
        measurement.flush()
        return measurement.results()


def equal(a: Results, b: Results) -> bool:
    same = list(a.columns) == list(b.columns) and a.frames == b.frames
    return same and all(np.array_equal(a.columns[key], b.columns[key], equal_nan=True) for key in a.columns)

"""Finds out which backend computed the report of another vmaf binary.

A binary may name it in the report. Otherwise its features may show it: their names end in a backend's name,
or there are fewer of them than libvmaf's CPU path prints for the same models, as with its GPU extractors.
That is no proof, so the label is then 'cpu' or 'gpu' and never the name of one GPU backend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from acuity.devices import BACKENDS
from acuity.errors import AcuityError

UNKNOWN: Final = "unknown"
_ON_A_GPU: Final = tuple(f"_{name}" for name in BACKENDS[1:])


def label_backend(
    document: Mapping[str, Any], models: Sequence[str], features: Sequence[str], *, predict: bool = True
) -> str:
    """The backend that the report names, else 'cpu' or 'gpu', else 'unknown'."""
    if isinstance(said := document.get("backend_used"), str):
        return said
    if receipts := _receipts(document.get("feature_backends")):
        others = receipts - {"cpu"}
        return "cpu" if not others else others.pop() if len(others) == 1 else "gpu"
    frames = document.get("frames")
    metrics = frames[0].get("metrics") if frames and isinstance(frames[0], dict) else None
    if not isinstance(metrics, dict) or not metrics:
        return UNKNOWN
    if any(name.endswith(_ON_A_GPU) for name in metrics):
        return "gpu"
    try:
        expected = _figures_of_the_cpu(models, features, predict=predict)
    except AcuityError:
        return UNKNOWN
    return "cpu" if len(metrics) >= len(expected) else "gpu"


def _receipts(found: Any) -> set[str]:
    """The backends in a table of feature and backend."""
    if not isinstance(found, dict):
        return set()
    return {backend for backend in found.values() if isinstance(backend, str)}


def _figures_of_the_cpu(models: Sequence[str], features: Sequence[str], *, predict: bool) -> list[str]:
    """The names of the features and scores in a report of the CPU path."""
    from acuity.measure import Measurement
    from acuity.models import load_model

    with Measurement(1) as measurement:
        for model in map(load_model, models):
            if predict:
                measurement.add_model(model)
            for name, options in () if predict else model.extractors():
                measurement.add_feature(name, options)
        for feature in features:
            measurement.add_feature(feature)
        scores = [name for model in measurement.models for name in model.output_names()]
        return [*measurement.features, *scores]

"""Tiny models in files: one that reads features, one that reads one picture; and a measurement of some."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from acuity.measure import Measurement, Results
from tiny_graphs import ConvNet, Regressor, save

FEATURES = ["adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2"]


def full_reference(path: Path, **sidecar: Any) -> Path:
    """A model of VMAF's six features."""
    return save(Regressor().model(), path, {"id": path.stem, "kind": "fr", "features": FEATURES, **sidecar})


def no_reference(path: Path, seed: int = 2, **sidecar: Any) -> Path:
    """A model of the distorted picture's luma."""
    return save(ConvNet(seed=seed).model(), path, {"id": path.stem, "kind": "nr", **sidecar})


def measured(models: Iterable[Any], pairs: Iterable[tuple[Any, Any]], **how: Any) -> Results:
    """The results of models, for pairs of pictures."""
    with Measurement(**how) as measurement:
        for model in models:
            measurement.add_model(model)
        for ref, dis in pairs:
            measurement.add(ref, dis)
        measurement.flush()
        return measurement.results()

"""Model files: finding, loading and describing them, and predicting scores from features."""

from acuity.models.inputs import ModelFeature
from acuity.models.load import load_model
from acuity.models.model import Model, ModelCollection
from acuity.models.sources import find_model
from acuity.models.spec import ModelSpec, parse_spec

__all__ = [
    "Model", "ModelCollection", "ModelFeature", "ModelSpec", "find_model", "load_model", "parse_spec",
]  # fmt: skip

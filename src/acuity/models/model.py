"""One model: predicts scores from feature values, in libvmaf's order of arithmetic."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from acuity.models.inputs import ModelFeature, ReadsFeatures
from acuity.models.scaling import ChromaCorrection, Scaling
from acuity.models.svm import SupportVectorRegression
from acuity.models.transform import ScoreClip, ScoreTransform

Array = NDArray[np.float64]
Columns = Mapping[int, Array] | Array


@dataclass(frozen=True, eq=False)
class Model(ReadsFeatures):
    """A loaded model; transform and clip are None if the file or the caller leaves them out."""

    name: str  # the column of its scores in reports
    label: str  # the version or path, for people
    path: Path
    kind: str  # the file's model_type
    features: tuple[ModelFeature, ...]
    svm: SupportVectorRegression
    scaling: Scaling
    transform: ScoreTransform | None = None
    clip: ScoreClip | None = None
    chroma: ChromaCorrection | None = None
    options: str = ""  # the changed options, in the notation of --model

    def __repr__(self) -> str:
        return f"<Model {self.label}: {self.name!r} from {len(self.features)} features>"

    def predict(self, columns: Columns) -> Array:
        """Scores from feature values: an array (frames x features), or one column per feature index."""
        return self.finish(self.predict_raw(columns))

    def predict_raw(self, columns: Columns) -> Array:
        """Scores before transform and clip."""
        values = as_matrix(columns, len(self.features))
        with np.errstate(all="ignore"):
            nodes = self.scaling.normalise(values)
            if self.chroma is not None:
                self.chroma.apply(nodes, self.scaling)
            return self.scaling.restore_score(self.svm.predict(nodes))

    def finish(self, scores: Array) -> Array:
        """Apply this model's transform and clip."""
        with np.errstate(all="ignore"):
            if self.transform is not None:
                scores = self.transform.apply(scores)
            return scores if self.clip is None else self.clip.apply(scores)

    def outputs(self, columns: Columns) -> dict[str, Array]:
        """The score columns by name."""
        return {self.name: self.predict(columns)}

    def output_names(self) -> list[str]:
        return [self.name]

    def renamed(self, name: str) -> Self:
        """The model under another name."""
        return replace(self, name=name)


def as_matrix(columns: Columns, features: int) -> Array:
    """The given columns as one contiguous array (frames x features) of doubles."""
    if isinstance(columns, Mapping):
        missing = [index for index in range(features) if index not in columns]
        if missing or len(columns) != features:
            raise ValueError(f"the model takes columns 0 to {features - 1}, but got {sorted(columns)}")
        matrix = np.column_stack([np.asarray(columns[index], np.float64) for index in range(features)])
        return np.ascontiguousarray(matrix)
    matrix = np.ascontiguousarray(columns, np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != features:
        raise ValueError(f"the model takes an array of shape (frames, {features}), but got {matrix.shape}")
    return matrix

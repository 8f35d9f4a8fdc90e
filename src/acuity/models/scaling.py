"""Scales feature values to the SVM's range and its output to a score; and the chroma correction."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Scaling(Protocol):
    def normalise(self, features: Array) -> Array:
        """From feature values (frames x features) to the SVM's inputs."""
        ...

    def normalise_feature(self, index: int, values: Array) -> Array: ...

    def restore_feature(self, index: int, nodes: Array) -> Array: ...

    def restore_score(self, decisions: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class LinearRescale:
    """norm_type linear_rescale: value * slope + intercept on the way in, the inverse on the way out."""

    score_slope: float
    score_intercept: float
    slopes: Array
    intercepts: Array

    def normalise(self, features: Array) -> Array:
        return self.slopes * features + self.intercepts

    def normalise_feature(self, index: int, values: Array) -> Array:
        result: Array = self.slopes[index] * values + self.intercepts[index]
        return result

    def restore_feature(self, index: int, nodes: Array) -> Array:
        result: Array = (nodes - self.intercepts[index]) / self.slopes[index]
        return result

    def restore_score(self, decisions: Array) -> Array:
        return (decisions - self.score_intercept) / self.score_slope


class Unscaled:
    """norm_type none."""

    def normalise(self, features: Array) -> Array:
        return features.copy()

    def normalise_feature(self, index: int, values: Array) -> Array:
        return values

    def restore_feature(self, index: int, nodes: Array) -> Array:
        return nodes

    def restore_score(self, decisions: Array) -> Array:
        return decisions


class ChromaCorrection(NamedTuple):
    """VMAF v1: replaces a chroma feature of exactly 0 by an estimate from a luma feature.

    Both values are restored from the normalised inputs, as in libvmaf, and not taken from the features: the
    rounding of the round trip is visible in the score.
    """

    parameter: float
    luma: int
    chroma: int

    def apply(self, nodes: Array, scaling: Scaling) -> None:
        """Correct the normalised inputs in place."""
        missing = scaling.restore_feature(self.chroma, nodes[:, self.chroma]) == 0.0
        luma = scaling.restore_feature(self.luma, nodes[:, self.luma])
        guess = (-self.parameter * luma) + self.parameter
        nodes[:, self.chroma] = np.where(
            missing, scaling.normalise_feature(self.chroma, guess), nodes[:, self.chroma]
        )

"""The full-reference model: a network from VMAF's six features to VMAF."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import onnx

from acuity.models import Model, load_model
from graph import Graph
from measured import FEATURES, MODEL, Clip
from network import Floats, Network, Training, train

NAME: Final = "acuity_fr_v1"
INPUT: Final = "features"
OUTPUT: Final = "vmaf"
SEED: Final = 14
HOW: Final = Training(hidden=(24, 12), rounds=60, batch=256, rate=5e-3, decay=0.0)
_MIXED: Final = 24_000  # further feature vectors
_SPREAD: Final = 12_000  # and such that no clip need have
_MOST_MOTION: Final = 30.0
# The order of columns that VMAF's own model takes.
_ORDER: Final = ("adm2", "motion2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3")


class FeatureModel(NamedTuple):
    """A trained network and the normalisation of its inputs."""

    network: Network
    mean: Floats
    std: Floats

    def graph(self) -> onnx.ModelProto:
        """The ONNX model; its inputs are normalised by the reader, as the sidecar says."""
        graph = Graph(INPUT, ["frames", len(FEATURES)])
        values = INPUT
        *layers, last = zip(self.network.weights, self.network.biases, strict=True)
        for weights, bias in layers:
            values = graph.node("Tanh", graph.dense(values, weights, bias))
        values = graph.dense(values, 100 * last[0], 100 * last[1])
        graph.clip(values, 0, 100, name=OUTPUT)
        return graph.model(NAME, OUTPUT, ["frames", 1], "VMAF v0.6.1 from its six features")


def train_feature_model(clips: list[Clip], validation: list[Clip]) -> FeatureModel:
    """Train it on the frames of clips, and on mixtures of their features that VMAF's own model scores."""
    random = np.random.default_rng(SEED)
    seen, scores = _rows(clips)
    mixed = np.vstack([_mixtures(seen, random), _anywhere(random)])
    inputs, scores = np.vstack([seen, mixed]), np.concatenate([scores, vmaf_of(mixed)])
    mean, std = inputs.mean(0), inputs.std(0)
    held, held_scores = _rows(validation)
    network = train((inputs - mean) / std, scores, HOW, SEED, validation=((held - mean) / std, held_scores))
    return FeatureModel(network, mean, std)


def vmaf_of(features: Floats) -> Floats:
    """The score that VMAF's own model gives to features, which need not be those of a picture."""
    model = load_model(MODEL)
    assert isinstance(model, Model)
    return model.predict(features[:, [FEATURES.index(name) for name in _ORDER]])


def _rows(clips: list[Clip]) -> tuple[Floats, Floats]:
    return np.vstack([clip.features for clip in clips]), np.concatenate([clip.vmaf for clip in clips])


def _anywhere(random: np.random.Generator) -> Floats:
    """Points all over the range of the features; coarse scales of VIF lose less than fine ones."""
    adm = random.uniform(0.1, 1, (_SPREAD, 1))
    vif = np.sort(random.uniform(0, 1, (_SPREAD, 4)), axis=1)
    return np.hstack([adm, vif, random.uniform(0, _MOST_MOTION, (_SPREAD, 1))])


def _mixtures(seen: Floats, random: np.random.Generator) -> Floats:
    """Points between two frames' features and a little beyond, with a motion of their own.

    Clips of few contents leave gaps between them, and real ones move more than made ones do.
    """
    one, other = (seen[random.integers(0, len(seen), _MIXED)] for _ in range(2))
    share = random.uniform(-0.1, 1.1, (_MIXED, 1))
    mixed = one * share + other * (1 - share) + random.normal(0, 0.02, one.shape)
    moved = random.random(_MIXED) < 0.7
    mixed[moved, FEATURES.index("motion2")] = _MOST_MOTION * random.random(int(moved.sum())) ** 2
    mixed[:, :-1] = np.clip(mixed[:, :-1], 0, 1.05)
    mixed[:, -1] = np.maximum(mixed[:, -1], 0)
    return mixed

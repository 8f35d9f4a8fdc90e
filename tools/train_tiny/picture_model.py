"""The no-reference model: statistics of a picture, and the mean of some networks over them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray

from acuity.tiny.session import import_runtime
from graph import Graph
from measured import Bytes, Clip
from network import Floats, Network, Training, train
from picture_statistics import add_statistics

NAME: Final = "acuity_nr_v1"
INPUT: Final = "luma"
OUTPUT: Final = "vmaf"
SEED: Final = 41
NETWORKS: Final = 4
HOW: Final = Training(hidden=(12,), rounds=40, batch=128, rate=3e-3, decay=1.0, noise=0.3)
_FARTHEST: Final = 3.0  # deviations from the mean, to which statistics are cut: pictures unlike any seen


class PictureModel(NamedTuple):
    """Trained networks and the normalisation of the statistics."""

    networks: list[Network]
    mean: Floats
    std: Floats

    def graph(self) -> onnx.ModelProto:
        """The ONNX model, from the picture on; all networks are side by side in one layer."""
        graph = Graph(INPUT, [1, 1, "height", "width"])
        values = graph.node("Sub", add_statistics(graph), graph.constant(self.mean[None]))
        values = graph.node("Mul", values, graph.constant(1 / self.std[None]))
        values = graph.clip(values, -_FARTHEST, _FARTHEST)
        first = np.hstack([network.weights[0] for network in self.networks])
        bias = np.concatenate([network.biases[0] for network in self.networks])
        last = np.vstack([network.weights[1] for network in self.networks])
        ends = np.mean([network.biases[1] for network in self.networks], 0)
        values = graph.node("Tanh", graph.dense(values, first, bias))
        values = graph.dense(values, 100 * last / len(self.networks), 100 * ends)
        graph.clip(values, 0, 100, name=OUTPUT)
        return graph.model(NAME, OUTPUT, [1, 1], "VMAF v0.6.1 of a frame from its luma alone")


class Statistics:
    """Computes the statistics with the nodes that the model has."""

    def __init__(self) -> None:
        graph = Graph(INPUT, [1, 1, "height", "width"])
        found = add_statistics(graph)
        self._session = open_session(graph.model("statistics", found, [1, "count"], ""))

    def __call__(self, clips: list[Clip]) -> Floats:
        """One row for each frame seen of each clip."""
        return np.array([self._of(picture) for clip in clips for picture in clip.seen], np.float64)

    def _of(self, picture: Bytes) -> Floats:
        return self._session.run(None, {INPUT: as_input(picture)})[0][0]


def open_session(model: onnx.ModelProto) -> Any:
    options = import_runtime().SessionOptions()
    options.intra_op_num_threads = 1
    return import_runtime().InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def as_input(picture: Bytes) -> NDArray[np.float32]:
    """8-bit luma as the model takes it: (1, 1, H, W), 0 to 1."""
    return (picture[None, None] / np.float32(255)).astype(np.float32)


def train_picture_model(rows: Floats, scores: Floats, held: Floats, held_scores: Floats) -> PictureModel:
    """Train the networks on statistics; `held` are those of the validation contents."""
    mean, std = rows.mean(0), rows.std(0) + 1e-3
    inputs, validation = (np.clip((part - mean) / std, -_FARTHEST, _FARTHEST) for part in (rows, held))
    networks = [
        train(inputs, scores, HOW, SEED + n, validation=(validation, held_scores)) for n in range(NETWORKS)
    ]
    return PictureModel(networks, mean, std)

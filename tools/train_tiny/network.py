"""Network: layers of tanh units, and their training by Adam in double precision."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """How a network is trained."""

    hidden: tuple[int, ...]
    rounds: int
    batch: int
    rate: float  # of learning, at the start; it falls to nothing along a cosine
    decay: float  # of weights
    noise: float = 0.0  # deviation of noise added to the inputs, which are standardised


class Network:
    """A function from standardised inputs to a score; scores are trained as shares of 100."""

    def __init__(self, inputs: int, hidden: tuple[int, ...], random: np.random.Generator) -> None:
        sides = (inputs, *hidden, 1)
        pairs = list(itertools.pairwise(sides))
        self.weights = [random.normal(0, (1 / a) ** 0.5, (a, b)) for a, b in pairs]
        self.biases = [np.zeros(b) for b in sides[1:]]
        self.biases[-1] += 0.7

    def layers(self, inputs: Floats) -> list[Floats]:
        """The values of every layer, the inputs first."""
        values = [inputs]
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values.append(np.tanh(values[-1] @ weights + bias))
        return [*values, values[-1] @ self.weights[-1] + self.biases[-1]]

    def __call__(self, inputs: Floats) -> Floats:
        """Scores, 0 to 100."""
        return np.clip(100 * self.layers(inputs)[-1][:, 0], 0, 100)

    def gradients(self, inputs: Floats, targets: Floats, importance: Floats) -> list[Floats]:
        """Of the mean squared error. Beyond the ends of the scale there is none: the graph clips there."""
        values = self.layers(inputs)
        found = values[-1][:, 0]
        error = found - targets
        error[((targets >= 1) & (found > 1)) | ((targets <= 0) & (found < 0))] = 0
        back = (2 * importance * error / len(error))[:, None]
        gradients: list[Floats] = []
        for index in reversed(range(len(self.weights))):
            gradients = [values[index].T @ back, back.sum(0), *gradients]
            if index:
                back = (back @ self.weights[index].T) * (1 - values[index] ** 2)
        return gradients

    @property
    def parameters(self) -> list[Floats]:
        return [array for pair in zip(self.weights, self.biases, strict=True) for array in pair]


def train(
    inputs: Floats,
    scores: Floats,
    how: Training,
    seed: int,
    *,
    importance: Floats | None = None,
    validation: tuple[Floats, Floats] | None = None,
) -> Network:
    """A network trained on scores of 0 to 100; with validation data, its best state on those."""
    random = np.random.default_rng(seed)
    network = Network(inputs.shape[1], how.hidden, random)
    targets = scores / 100
    importance = np.ones(len(scores)) if importance is None else importance / importance.mean()
    means = [np.zeros_like(p) for p in network.parameters]
    squares = [np.zeros_like(p) for p in network.parameters]
    best, kept = np.inf, [p.copy() for p in network.parameters]
    step = 0
    for round_ in range(how.rounds):
        rate = how.rate * 0.5 * (1 + np.cos(np.pi * round_ / how.rounds))
        order = random.permutation(len(targets))
        for start in range(0, len(order), how.batch):
            rows = order[start : start + how.batch]
            batch = inputs[rows]
            if how.noise:
                batch = batch + random.normal(0, how.noise, batch.shape)
            step += 1
            gradients = network.gradients(batch, targets[rows], importance[rows])
            for p, g, m, s in zip(network.parameters, gradients, means, squares, strict=True):
                m += 0.1 * (g - m)
                s += 0.001 * (g * g - s)
                p -= rate * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
                if p.ndim == 2:
                    p -= rate * how.decay * p
        if validation is not None:
            error = float(np.mean((network(validation[0]) - validation[1]) ** 2))
            if error < best:
                best, kept = error, [p.copy() for p in network.parameters]
    if validation is not None:
        for p, value in zip(network.parameters, kept, strict=True):
            p[...] = value
    return network

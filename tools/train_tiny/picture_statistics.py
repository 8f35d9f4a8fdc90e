"""The statistics of a picture that the no-reference model is computed from, as nodes of an ONNX graph.

Coding removes the small coefficients of a block transform, and leaves steps between blocks. So the picture
is divided into blocks of 8x8 on the grid of the encoders, at two scales, and each block is transformed (DCT).
The statistics are how much is left in bands of coefficients where there is detail at all, and how often
nothing is. Differences of neighbouring samples, by their place in a block of eight, show the steps. How
unequal the parts of a picture are says more about the content than about its coding, so nothing tells that:
models that were given it did worse on real pictures.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph import Graph

Floats = NDArray[np.float64]

SCALES: Final = 2
BLOCK: Final = 8
LEAST_SIDE: Final = BLOCK << (SCALES - 1)  # of a picture, in samples
_LEVELS: Final = 255.0  # so that figures are in levels of 8 bit
_ROUNDING: Final = 0.1  # energy that rounding to 8 bit leaves in a coefficient, a little more than 1/12
# Bands of coefficients by the sum of their two indices, and the pure rows and columns of fine detail.
_RINGS: Final = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 7), (8, 9), (10, 14))
_BANDS: Final = len(_RINGS) + 2
_EMPTY: Final = -1.0  # log energy below which little but rounding is left in a band
_BUSY: Final = (1.5, 4.0)  # log energies of the third ring, from which a block counts as busy
_SATURATIONS: Final = (1.0, 4.0, 255.0)  # levels at which a difference counts no further


def add_statistics(graph: Graph) -> str:
    """Add the nodes that turn the input picture (1, 1, H, W) of 0 to 1 into statistics (1, K)."""
    parts = _steps(graph, graph.input)
    scaled = graph.input
    for scale in range(SCALES):
        if scale:
            scaled = graph.node("AveragePool", scaled, kernel_shape=[2, 2], strides=[2, 2])
        parts += _block_statistics(graph, scaled)
    return graph.node("Concat", *parts, axis=1)


def _steps(graph: Graph, picture: str) -> list[str]:
    """Logs of the mean differences of neighbours: between blocks of 8, in their middle, and elsewhere."""
    kernel = np.zeros((BLOCK, 1, 1, BLOCK + 1))
    for phase in range(BLOCK):
        kernel[phase, 0, 0, phase : phase + 2] = -_LEVELS, _LEVELS
    groups = np.zeros((BLOCK, 3))
    groups[7, 0] = groups[3, 1] = 1
    groups[[0, 1, 2, 4, 5, 6], 2] = 1 / 6
    parts = []
    # Every second row of the one and column of the other is enough.
    for weights, strides in ((kernel, [2, BLOCK]), (kernel.swapaxes(2, 3), [BLOCK, 2])):
        steps = graph.node("Abs", graph.conv(picture, weights, strides=strides))
        for most in _SATURATIONS:
            counted = graph.node("Min", steps, graph.constant(most)) if most < _LEVELS else steps
            mean = graph.node("MatMul", graph.average(counted), graph.constant(groups))
            parts.append(graph.log(mean, 0.05))
    return parts


def _block_statistics(graph: Graph, picture: str) -> list[str]:
    coefficients = graph.conv(picture, _cosines() * _LEVELS, strides=[BLOCK, BLOCK])
    squares = graph.node("Mul", coefficients, coefficients)
    energies = graph.log(graph.conv(squares, _bands()[:, :, None, None]), _ROUNDING)
    return [_shares(graph, energies), *_busy_means(graph, energies)]


def _shares(graph: Graph, energies: str) -> str:
    """The share of blocks in which a band isn't empty, for each band; the threshold is soft."""
    scaled = graph.node("Mul", energies, graph.constant(2.0))
    return graph.average(graph.node("Sigmoid", graph.node("Sub", scaled, graph.constant(2 * _EMPTY))))


def _busy_means(graph: Graph, energies: str) -> list[str]:
    """The mean log energies of the busy blocks alone: flat ones say little about coding."""
    parts = []
    for level in _BUSY:
        pick = np.zeros((1, _BANDS, 1, 1))
        pick[0, 2] = 2.0
        weight = graph.node("Sigmoid", graph.conv(energies, pick, [-2.0 * level]))
        total = graph.average(graph.node("Mul", energies, weight))
        share = graph.node("Add", graph.average(weight), graph.constant(1e-3))
        parts += [graph.node("Div", total, share)]
    return parts


def _cosines() -> Floats:
    """The basis of the 8x8 DCT as convolution weights (64, 1, 8, 8); the first is the mean."""
    at = np.arange(BLOCK)
    rows = np.sqrt(2 / BLOCK) * np.cos(np.pi * (2 * at + 1) * at[:, None] / (2 * BLOCK))
    rows[0] /= np.sqrt(2)
    return np.einsum("ux,vy->uvxy", rows, rows).reshape(64, 1, BLOCK, BLOCK)


def _bands() -> Floats:
    """(bands, 64): the mean over the coefficients of each band."""
    row, column = (index.ravel() for index in np.indices((BLOCK, BLOCK)))
    chosen = [(row + column >= low) & (row + column <= high) for low, high in _RINGS]
    chosen += [(row == 0) & (column >= 3), (column == 0) & (row >= 3)]
    return np.array([band / band.sum() for band in chosen])

"""Signatures: a thumbnail of each picture's luma, which tells frames apart and costs next to nothing."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.video.card_picture import CardPicture
from acuity.video.picture import Picture, Signature

# Cells along the longer and the shorter side. Finer ones see more of the encoder's errors, coarser ones less
# motion.
_LONG: Final = 32
_SHORT: Final = 18


# About so many rows of a picture are read, and fewer than twice as many: as native/signature/table.h has it.
_MOST_ROWS: Final = 64
_MID_GREY: Final = 128.0


def cells_of(width: int, height: int) -> tuple[int, int]:
    """Rows and columns of the grid of a picture."""
    rows, columns = (_SHORT, _LONG) if width >= height else (_LONG, _SHORT)
    return min(rows, height), min(columns, width)


def grid(picture: Picture) -> Signature:
    """The mean of each cell of the luma, as rows and columns, in steps of an 8-bit sample around mid-grey."""
    from acuity import _native

    cells = np.empty(cells_of(picture.width, picture.height), np.float32)
    _native.signature(picture.luma, picture.format.depth, cells)
    return cells


def sign(picture: Picture) -> Signature:
    """The cells of the grid, one after the other; a card's decoder has signed its pictures already."""
    if isinstance(picture, CardPicture) and picture.signature is not None:
        return picture.signature
    return grid(picture).ravel()


def row_step(height: int) -> int:
    """Of how many rows one is read."""
    return max(1, height // _MOST_ROWS)


class CellMeans:
    """Turns the sums of cells that a card computed into signatures, with the native code's digits."""

    def __init__(self, width: int, height: int, depth: int) -> None:
        rows, columns = cells_of(width, height)
        step = row_step(height)
        edges = np.arange(rows + 1) * height // rows
        first = -(-edges[:-1] // step) * step
        read = np.maximum(-(-(edges[1:] - first) // step), 1)
        across = np.diff(np.arange(columns + 1) * width // columns)
        self._samples = (read[:, None] * across[None] * (1 << (depth - 8))).astype(np.float64).ravel()

    def __call__(self, sums: NDArray[np.uint64]) -> Signature:
        means: Signature = (sums.astype(np.float64) / self._samples - _MID_GREY).astype(np.float32)
        return means

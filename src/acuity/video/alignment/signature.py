"""Signatures: a thumbnail of each picture's luma, which tells frames apart and costs next to nothing."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.video.card_picture import CardPicture
from acuity.video.picture import Picture, Signature

# Cells along the longer and the shorter side. Finer ones see more of the encoder's errors, coarser ones less
# motion.
_LONG: Final = 32
_SHORT: Final = 18


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
    from acuity import _native

    return _native.signature_row_step(height)

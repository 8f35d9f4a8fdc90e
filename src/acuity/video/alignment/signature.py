"""Signatures: a thumbnail of each picture's luma, which tells frames apart and costs next to nothing."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.video.picture import Picture, Signature

# Cells along the longer and the shorter side. Finer ones see more of the encoder's errors, coarser ones less
# motion.
_LONG: Final = 32
_SHORT: Final = 18


def grid(picture: Picture) -> Signature:
    """The mean of each cell of the luma, as rows and columns, in steps of an 8-bit sample around mid-grey."""
    from acuity import _native

    height, width = picture.height, picture.width
    rows, columns = (_SHORT, _LONG) if width >= height else (_LONG, _SHORT)
    cells = np.empty((min(rows, height), min(columns, width)), np.float32)
    _native.signature(picture.luma, picture.format.depth, cells)
    return cells


def sign(picture: Picture) -> Signature:
    """The cells of the grid, one after the other."""
    return grid(picture).ravel()

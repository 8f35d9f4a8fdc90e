"""Signatures: a thumbnail of each picture's luma, which tells frames apart and costs next to nothing."""

from __future__ import annotations

from typing import Any, Final

from acuity.arrays import np
from acuity.video.card_picture import CardPicture
from acuity.video.picture import AnySignature, Picture, Signature

# Cells along the longer and the shorter side. Fine ones show slow motion; coarse ones, of as many fine ones
# each, less of the encoder's errors.
FINE: Final = (96, 54)
COARSE: Final = (32, 18)


def cells_of(width: int, height: int, most: tuple[int, int] = FINE) -> tuple[int, int]:
    """Rows and columns of the grid of a picture."""
    rows, columns = most[::-1] if width >= height else most
    return min(rows, height), min(columns, width)


def grid(picture: Picture, most: tuple[int, int] = FINE) -> Signature:
    """The mean of each cell of the luma, as rows and columns, in steps of an 8-bit sample around mid-grey."""
    return np.asarray(_means(picture, most))


def _means(picture: Picture, most: tuple[int, int]) -> AnySignature:
    from acuity import _native

    rows, columns = cells_of(picture.width, picture.height, most)
    cells: Any = memoryview(bytearray(4 * rows * columns)).cast("f", (rows, columns))
    _native.signature(picture.samples[0], picture.format.depth, cells)
    return cells


def sign(picture: Picture) -> None:
    """Give the picture its signature; a card's decoder has signed its pictures already."""
    if not isinstance(picture, CardPicture) or picture.signed is None:
        picture.signed = _means(picture, FINE)


def flat(signature: AnySignature) -> AnySignature:
    """The cells of a signature, one after the other."""
    return signature.cast("B").cast("f") if isinstance(signature, memoryview) else np.ravel(signature)


def coarse(signature: AnySignature) -> AnySignature:
    """The means of a signature's cells in the coarse grid, one after the other."""
    from acuity import _native

    rows, columns = cells_of(signature.shape[1], signature.shape[0], COARSE)
    if signature.shape == (3 * rows, 3 * columns):
        return memoryview(_native.coarse_cells(signature)).cast("f")
    signature = np.asarray(signature)
    parts = [
        np.arange(count) * size // count for count, size in zip((rows, columns), signature.shape, strict=True)
    ]
    sums = np.add.reduceat(np.add.reduceat(signature, parts[0], axis=0), parts[1], axis=1)
    counts = [np.diff(np.r_[part, size]) for part, size in zip(parts, signature.shape, strict=True)]
    return np.asarray((sums / np.outer(*counts)).ravel(), np.float32)


def row_step(height: int) -> int:
    """The number of rows of which one is read."""
    from acuity import _native

    return _native.signature_row_step(height)

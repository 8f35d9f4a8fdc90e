"""Likeness: whether the pictures of a pair show the same part, the same way up, in the same light.

`Likeness` looks at a few pairs as they are scored. `moved()` tells whether a lag is really a picture that was
cropped, zoomed or shifted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from acuity.video.alignment.geometry import Transformation, squared_error, transformation
from acuity.video.card_picture import CardPicture
from acuity.video.picture import Picture, Signature

_LOOKS: Final = (8, 40)  # pairs whose samples are compared
_PART: Final = (288, 512)  # rows and columns from the middle of the picture that are compared
_VISIBLE: Final = 20.0  # squared 8-bit steps of error that may come from more than coding
_FRAMES: Final = 5  # that say whether a lag is a matter of geometry
_BETTER: Final = 0.5  # of the error at the lag, that geometry may leave
_AS_WELL: Final = 10.0  # because thumbnails are scaled roughly
_ZOOM: Final = 0.01
_ALIKE: Final = 1.0  # cells, or hundredths of a zoom, by which what was done to frames may differ
_EVERY: Final = 8  # pairs, of which one tells the brightness
_LEVELS: Final = 8  # of luma, of which each has its own difference
_FEWEST: Final = 200  # cells of a level that tell something
_LIGHTER: Final = 4.0  # 8-bit steps of brightness that encoders keep


def zoomed(ref: Sequence[Signature], dis: Sequence[Signature], lag: int) -> Transformation | None:
    """The zoom that explains the pictures about as well as a lag, as where the camera moves forward."""
    found = moved(ref, dis, lag, better=_AS_WELL)
    return found if found and max(abs(found.zoom_x - 1), abs(found.zoom_y - 1)) > _ZOOM else None


def moved(
    ref: Sequence[Signature], dis: Sequence[Signature], lag: int, better: float = _BETTER
) -> Transformation | None:
    """What was done to the pictures if that explains them much better than a lag; None if it doesn't.

    `ref` and `dis` are signatures of the same places in both videos. `better` is the part of the lag's error
    that may be left.
    """
    places = [n for n in range(len(dis)) if n < len(ref) and 0 <= n + lag < len(ref)]
    found = []
    for n in places[:: max(1, len(places) // _FRAMES)][:_FRAMES]:
        what = transformation(ref[n], dis[n])
        if what is None:
            return None
        left = squared_error(ref[n], dis[n]) / what.gain
        if left > better * squared_error(ref[n + lag], dis[n]):
            return None
        found.append(what)
    if not found or len(found) < min(3, len(places)):
        return None
    # What is done to one picture is done to all; where the videos go different ways, each moves otherwise.
    figures = np.array([(one.dx, one.dy, 100 * one.zoom_x, 100 * one.zoom_y) for one in found])
    return found[len(found) // 2] if float(np.ptp(figures, axis=0).max()) <= _ALIKE else None


class Likeness:
    """Looks at pairs; several calls of look() may return what was done to the picture."""

    def __init__(self) -> None:
        self._pairs = 0
        self._differences = np.zeros(_LEVELS)
        self._cells = np.zeros(_LEVELS)

    def look(self, ref: Picture, dis: Picture) -> Transformation | None:
        """Take in the next pair; what was done to its picture, if it is one whose samples are compared."""
        number, self._pairs = self._pairs, self._pairs + 1
        if number % _EVERY == 0 and ref.signature is not None and dis.signature is not None:
            level = np.clip((ref.signature.ravel() + 128) * (_LEVELS / 256), 0, _LEVELS - 1).astype(np.intp)
            off = (dis.signature - ref.signature).ravel()
            self._differences += np.bincount(level, off, _LEVELS)
            self._cells += np.bincount(level, minlength=_LEVELS)
        if number not in _LOOKS:
            return None
        return _transformed(ref, dis)

    @property
    def brightness(self) -> str | None:
        """In words how much brighter or darker the distorted video is; None if it isn't clearly.

        Blur makes dark parts brighter and bright parts darker, so the mean tells.
        """
        mean = float(self._differences.sum() / max(self._cells.sum(), 1))
        if abs(mean) < _LIGHTER or self._pairs <= 2 * _EVERY:  # a few pictures may be anything
            return None
        levels = self._differences[self._cells >= _FEWEST] / self._cells[self._cells >= _FEWEST]
        most = float(np.abs(levels).max(initial=abs(mean)))
        how = "brighter" if mean > 0 else "darker"
        return f"{how} by {abs(mean):.0f} of 255 steps, up to {most:.0f} at a level"


def _transformed(ref: Picture, dis: Picture) -> Transformation | None:
    """What was done to the middle of the picture, looked for only where the samples differ visibly.

    Pictures on a card stay there: their signatures tell less.
    """
    whole = None if ref.signature is None or dis.signature is None else (ref.signature, dis.signature)
    if isinstance(ref, CardPicture) or isinstance(dis, CardPicture):
        return None if whole is None else transformation(*whole)
    rows, columns = (max(0, (size - part) // 2) for size, part in zip(ref.luma.shape, _PART, strict=True))
    parts = [
        plane[rows : plane.shape[0] - rows, columns : plane.shape[1] - columns]
        for plane in (ref.luma, dis.luma)
    ]
    unit = float(1 << (ref.format.depth - 8))
    if float(np.square((parts[0].astype(np.float32) - parts[1]) / unit).mean()) < _VISIBLE:
        return None
    if (found := transformation(*parts)) is None or not found.flip:
        return found
    # The middle of a symmetric picture may seem to be flipped: ask the whole.
    return found if whole is None or transformation(*whole) is not None else None

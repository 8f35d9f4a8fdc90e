"""Pictures on their way in: all alike, and the last pairs kept for those who look back."""

from __future__ import annotations

from collections import deque
from itertools import islice

from acuity.errors import InputError, PairingError
from acuity.features.extractor import REACH, Frame, Geometry, Pair
from acuity.measure.pictures import PictureLike, as_picture, geometry_of


class Intake:
    """Makes frames of pairs of pictures."""

    def __init__(self) -> None:
        self.geometry: Geometry | None = None  # of the first pair, and so of all
        self.planes = 0  # of the pair taken last
        # The nearest first. As many as anybody looks back, whoever is measured now: those who start later
        # then compute their first frame as if they had been there before.
        self._before: deque[Pair] = deque(maxlen=REACH)

    def take(self, index: int, ref: PictureLike, dis: PictureLike, bitdepth: int | None) -> Pair:
        """The next pair as pictures; refuses those that differ from each other or from the ones before."""
        pictures = Pair(as_picture(ref, bitdepth), as_picture(dis, bitdepth))
        ours, theirs = map(geometry_of, pictures)
        if ours != theirs:
            raise PairingError(
                f"the reference is {_describe(ours)} and the distorted picture {_describe(theirs)}"
            )
        if self.geometry is None:
            self.geometry = ours
        elif ours != self.geometry:
            raise InputError(
                f"frame {index} is {_describe(ours)}, but the video was {_describe(self.geometry)}"
            )
        self.planes = min(len(picture.planes) for picture in pictures)
        return pictures

    def frame(self, index: int, pictures: Pair, lookback: int) -> Frame:
        """The pair as a frame, with so many of the pairs before it."""
        return Frame(index, *pictures, tuple(islice(self._before, lookback)))

    def keep(self, pictures: Pair) -> None:
        """The frame is on its way: its pair is the nearest one before the next."""
        self._before.appendleft(pictures)

    def clear(self) -> None:
        self._before.clear()


def _describe(geometry: Geometry) -> str:
    return f"{geometry.width}x{geometry.height} at {geometry.depth} bits"

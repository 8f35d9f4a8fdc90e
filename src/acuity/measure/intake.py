"""Checks that all pictures are alike, and keeps the last pairs for extractors that look back."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from acuity.errors import InputError, PairingError
from acuity.features.extractor import REACH, Frame, Geometry, Pair
from acuity.measure.pictures import PictureLike, Terms, as_pair, geometry_of
from acuity.video.card_picture import CardPicture
from acuity.video.picture import ColourTags, Picture

if TYPE_CHECKING:
    from acuity.devices.device import Device, Port

_Form = list[object]


class Intake:
    """Turns pairs of pictures into frames."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = devices
        self._port: Port | None = None  # of the first device that has one, when it is needed
        self.colour = ColourTags()  # of all pairs, told before the first one
        self.geometry: Geometry | None = None  # of all pairs
        self.planes = 0  # of the last pair
        self._form: _Form | None = None  # of both pictures of the last pair, which were checked
        # The nearest first, as many as any extractor looks back: one that starts later then computes its
        # first frame as if it had run before.
        self._before: deque[Pair] = deque(maxlen=REACH)

    def take(self, index: int, ref: PictureLike, dis: PictureLike, terms: Terms) -> Pair:
        """The next pair as pictures; refuses pictures that differ from each other or from earlier ones."""
        if (
            isinstance(ref, Picture)
            and isinstance(dis, Picture)
            and self._form is not None
            and terms.loan is None
            and _form(ref) == self._form == _form(dis)
        ):
            return Pair(ref, dis)
        pictures = as_pair(ref, dis, terms, self._find_port)
        form = _form(pictures.ref)
        if form == self._form == _form(pictures.dis):
            return pictures
        ours, theirs = map(geometry_of, pictures)
        if ours != theirs:
            raise PairingError(
                f"the reference is {_describe(ours)} and the distorted picture {_describe(theirs)}"
            )
        if self.geometry is None:
            finer = all(picture.finer is not None for picture in pictures)
            self.geometry = replace(ours, colour=self.colour, finer=finer)
        elif ours != self.geometry:
            raise InputError(
                f"frame {index} is {_describe(ours)}, but the video was {_describe(self.geometry)}"
            )
        self.planes = min(len(picture.shapes) for picture in pictures)
        self._form = form if form == _form(pictures.dis) else None
        return pictures

    def _find_port(self) -> Port | None:
        if self._port is None:
            self._port = next((port for d in self._devices if (port := d.port()) is not None), None)
        return self._port

    def frame(self, index: int, pictures: Pair, lookback: int) -> Frame:
        """The pair as a frame, with `lookback` of the pairs before it."""
        return Frame(index, *pictures, tuple(islice(self._before, lookback)))

    def keep(self, pictures: Pair) -> None:
        """Keep the pair of a frame that was scheduled, for the next frames."""
        self._before.appendleft(pictures)

    def clear(self) -> None:
        self._before.clear()


def _form(picture: Picture) -> _Form:
    """All that is checked of a picture: others that have the same are good too."""
    if isinstance(picture, CardPicture):
        return [picture.format, CardPicture, *picture.shapes]
    return [picture.format, *[(type(p), p.shape, p.strides, p.dtype) for p in picture.planes]]


def _describe(geometry: Geometry) -> str:
    return f"{geometry.width}x{geometry.height} at {geometry.depth} bits"

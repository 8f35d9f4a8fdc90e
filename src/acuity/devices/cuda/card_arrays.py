"""Arrays that lie on the card as pictures: where they lie, or as copies on the card."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from acuity.devices.cuda.hardware.card import Card, CardEvent, CardMemory
from acuity.devices.cuda.pictures import ALIGNMENT, Downloads
from acuity.devices.cuda.port import View, view_of
from acuity.video.card_picture import CardPicture, CardPlane

if TYPE_CHECKING:
    import numpy as np

    from acuity.video.picture import PixelFormat

# Finds the format of a picture from the shapes and types of its planes; raises InputError.
FormatOf = Callable[["tuple[tuple[int, ...], ...]", "tuple[np.dtype[Any], ...]"], "PixelFormat"]


class CardArrays:
    """Takes the arrays of one measurement as pictures, on the thread that feeds it."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._stream = card.stream()  # waits for arrays, and copies them
        self._downloads = Downloads(card)
        self._slots = _Slots(card)
        self._copying: deque[tuple[CardEvent, list[object]]] = (
            deque()
        )  # owners of arrays, until they are copied

    def take(
        self, pictures: Sequence[Sequence[Any]], format_of: FormatOf, *, copy: bool
    ) -> list[CardPicture]:
        """The planes of each picture as a picture; raises InputError.

        With `copy` they are copied on the card, and what the program does next with its arrays waits for the
        copies. Without, the arrays have to stay as they are while the picture is needed.
        Nothing waits for the card, except for copies of arrays whose next stream is unknown.
        """
        with self._card.in_place():
            found = [[view_of(array, self._card, self._stream) for array in arrays] for arrays in pictures]
            forms = [
                format_of(
                    tuple(view.plane.shape for view in views), tuple(view.plane.dtype for view in views)
                )
                for views in found
            ]
            everything = [view for views in found for view in views]
            if copy:
                self._wait_for(everything)
                held: list[tuple[tuple[CardPlane, ...], object]] = [self._copy(views) for views in found]
                written = self._copied(everything)
            else:
                held = [
                    (tuple(view.plane for view in views), [view.owner for view in views]) for views in found
                ]
                written = self._written(everything)
        number, fetch = self._card.properties.number, partial(self._downloads.fetch, ready=written)
        return [
            CardPicture(planes, form, card=number, fetch=fetch, owner=memory, written=written)
            for form, (planes, memory) in zip(forms, held, strict=True)
        ]

    def _written(self, views: Sequence[View]) -> CardEvent:
        """The moment when all of these are written."""
        streams = {view.written_in for view in views}
        if len(streams) == 1 and (only := streams.pop()) is not None:
            return self._card.stream_of_others(only).mark()
        self._wait_for(views)
        return self._stream.mark()

    def _wait_for(self, views: Sequence[View]) -> None:
        for handle in {view.written_in for view in views}:
            if handle is not None:
                self._stream.after(self._card.stream_of_others(handle).mark())

    def _copy(self, views: Sequence[View]) -> tuple[tuple[CardPlane, ...], _Slot]:
        """Copy the planes of a picture."""
        slot = self._slots.take(sum(_pitch(view.plane) * view.plane.shape[0] for view in views))
        planes, address = [], slot.memory.address
        for source in (view.plane for view in views):
            plane = CardPlane(address, _pitch(source), source.shape, source.dtype)
            self._stream.copy(plane.address, plane.pitch, source)
            planes.append(plane)
            address += plane.pitch * plane.shape[0]
        return tuple(planes), slot

    def _copied(self, views: Sequence[View]) -> CardEvent:
        """The moment when all of these are copied; what their libraries do next with them waits for it."""
        copied = self._stream.mark()
        while self._copying and self._copying[0][0].reached():
            self._copying.popleft()
        self._copying.append((copied, [view.owner for view in views]))
        for handle in {view.used_in for view in views}:
            if handle is None:
                copied.wait()
            else:
                self._card.stream_of_others(handle).after(copied)
        return copied


def _pitch(plane: CardPlane) -> int:
    """The bytes from row to row of a copy."""
    return -(-plane.shape[1] * plane.dtype.itemsize // ALIGNMENT) * ALIGNMENT


class _Slots:
    """Memory for copies of one size, which is used again when no picture lies in it any more."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._size = 0
        self._idle: list[CardMemory] = []

    def take(self, size: int) -> _Slot:
        if size != self._size:
            self._size, self._idle = size, []
        return _Slot(self._idle.pop() if self._idle else self._card.allocate(size), self._idle)


class _Slot:
    """The memory of one picture; it goes back when the picture is gone, because no batch reads it then."""

    __slots__ = ("_idle", "memory")

    def __init__(self, memory: CardMemory, idle: list[CardMemory]) -> None:
        self.memory = memory
        self._idle = idle

    def __del__(self) -> None:
        self._idle.append(self.memory)

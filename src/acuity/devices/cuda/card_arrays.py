"""Arrays that lie on the card as pictures: where they lie, or as copies on the card."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acuity.devices.cuda.card import Card, Event, Memory
from acuity.devices.cuda.downloads import Downloads
from acuity.devices.cuda.pictures import ALIGNMENT
from acuity.devices.cuda.port import View, view_of
from acuity.video.card_picture import CardPicture, CardPlane

if TYPE_CHECKING:
    from acuity.devices.device import FormatOf
    from acuity.video.picture import Samples


class CardArrays:
    """Takes the arrays of one measurement, on the thread that feeds it; an implementation of Port."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._stream = card.stream()  # waits for arrays, and copies them
        self._downloads = Downloads(card)
        self._slots = _Slots(card)
        self._copying: deque[tuple[Event, list[object]]] = deque()  # owners of arrays, until they are copied

    def take(self, arrays: Sequence[Any], format_of: FormatOf, *, copy: bool) -> CardPicture:
        """The planes as a picture; raises InputError.

        Nothing waits for the card, but for a copy if nobody knows in which stream the array is used next.
        """
        views = [view_of(array, self._card, self._stream) for array in arrays]
        form = format_of([view.plane.shape for view in views], [view.plane.dtype for view in views])
        number = self._card.properties.number
        if copy:
            planes, written, slot = self._copied(views)
            owner = _Held(self._downloads, written, slot)
            return CardPicture(planes, form, card=number, owner=owner, written=written)
        written = self._written(views)
        owner = _Held(self._downloads, written, [view.owner for view in views])
        planes = tuple(view.plane for view in views)
        return CardPicture(planes, form, card=number, owner=owner, written=written)

    def _written(self, views: Sequence[View]) -> Event:
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

    def _copied(self, views: Sequence[View]) -> tuple[tuple[CardPlane, ...], Event, _Slot]:
        """Copy the planes; what their libraries do next with them waits for that."""
        self._wait_for(views)
        slot = self._slots.take(sum(_pitch(view.plane) * view.plane.shape[0] for view in views))
        planes, address = [], slot.memory.address
        for source in (view.plane for view in views):
            plane = replace(source, address=address, pitch=_pitch(source))
            self._stream.copy(plane.address, plane.pitch, source)
            planes.append(plane)
            address += plane.pitch * plane.shape[0]
        copied = self._stream.mark()
        while self._copying and self._copying[0][0].reached():
            self._copying.popleft()
        self._copying.append((copied, [view.owner for view in views]))
        for handle in {view.used_in for view in views}:
            if handle is None:
                copied.wait()
            else:
                self._card.stream_of_others(handle).after(copied)
        return tuple(planes), copied, slot


def _pitch(plane: CardPlane) -> int:
    """Of a copy."""
    return -(-plane.shape[1] * plane.dtype.itemsize // ALIGNMENT) * ALIGNMENT


class _Held:
    """Keeps the memory of a picture; an implementation of CardOwner."""

    __slots__ = ("_downloads", "_memory", "_written")

    def __init__(self, downloads: Downloads, written: Event, memory: object) -> None:
        self._downloads = downloads
        self._written = written
        self._memory = memory

    def to_host(self, planes: tuple[CardPlane, ...]) -> tuple[Samples, ...]:
        return self._downloads.fetch(planes, self._written)


class _Slots:
    """Memory for copies of one size, which is used again when no picture lies in it any more."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._size = 0
        self._idle: list[Memory] = []

    def take(self, size: int) -> _Slot:
        if size != self._size:
            self._size, self._idle = size, []
        return _Slot(self._idle.pop() if self._idle else self._card.allocate(size), self._idle)


class _Slot:
    """The memory of one picture; it goes back when the picture is gone, which no batch reads then."""

    __slots__ = ("_idle", "memory")

    def __init__(self, memory: Memory, idle: list[Memory]) -> None:
        self.memory = memory
        self._idle = idle

    def __del__(self) -> None:
        self._idle.append(self.memory)

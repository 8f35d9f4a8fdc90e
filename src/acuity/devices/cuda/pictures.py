"""Pictures on the card: uploaded once, kept while a batch or a later frame needs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.batch import PICTURE
from acuity.devices.cuda.card import Bytes, Card, Event, Memory, Stream

if TYPE_CHECKING:
    from acuity.features.extractor import Geometry
    from acuity.video.picture import Picture

Key = tuple[int, str]  # the number of a frame, and "ref" or "dis"

ALIGNMENT: Final = 256  # bytes, of planes and rows


@dataclass(frozen=True, slots=True)
class PlaneLayout:
    """Where one plane of a picture lies in its slot."""

    offset: int
    pitch: int
    rows: int
    row_bytes: int


def plane_layouts(geometry: Geometry, planes: int | None) -> list[PlaneLayout]:
    """The planes of a picture one after the other, with aligned rows."""
    sample = 1 if geometry.depth == 8 else 2
    shapes = [(geometry.width, geometry.height)]
    if geometry.chroma is not None:
        shapes += [geometry.chroma] * 2
    found, offset = [], 0
    for columns, rows in shapes[:planes]:
        pitch = -(-columns * sample // ALIGNMENT) * ALIGNMENT
        found.append(PlaneLayout(offset, pitch, rows, columns * sample))
        offset += pitch * rows
    return found


def slot_bytes(geometry: Geometry, planes: int | None) -> int:
    return sum(plane.pitch * plane.rows for plane in plane_layouts(geometry, planes))


@dataclass(slots=True, eq=False)
class Resident:
    """A picture on the card."""

    slot: int
    record: NDArray[Any]  # PICTURE: where its planes are
    users: int = 0  # batches under way that read it
    stream: Stream | None = None  # the one it is uploaded in
    uploaded: Event | None = field(default=None)  # set when its batch was started


class Pictures:
    """The slots of one conveyor."""

    def __init__(self, card: Card, geometry: Geometry, slots: int) -> None:
        self._card = card
        self._geometry = geometry
        self._layouts: list[PlaneLayout] = []
        self._slots = slots
        self._memory: Memory | None = None
        self._free: list[int] = []
        self._residents: dict[Key, Resident] = {}  # the oldest first
        self._locked: dict[int, bool] = {}  # whether memory is page-locked, by address

    def reserve(self, planes: int | None) -> None:
        """Have slots with this many planes; when there are more than before, all pictures are uploaded anew.

        No batch may be under way then.
        """
        layouts = plane_layouts(self._geometry, planes)
        if len(layouts) <= len(self._layouts):
            return
        self._layouts = layouts
        self._residents.clear()
        self._memory = None  # freed before more is allocated
        self._memory = self._card.allocate(self._slots * self._slot_bytes)
        self._free = list(range(self._slots))

    def fits(self, planes: int | None) -> bool:
        return len(plane_layouts(self._geometry, planes)) <= len(self._layouts)

    @property
    def _slot_bytes(self) -> int:
        return sum(layout.pitch * layout.rows for layout in self._layouts)

    def take(self, key: Key, picture: Picture, stream: Stream, staging: Staging) -> Resident:
        """A picture of an earlier frame, uploaded in this stream unless it is on the card already."""
        resident = self._residents.get(key)
        if resident is None:
            resident = self.upload(key, picture, stream, staging)
        elif resident.stream is not stream and resident.uploaded is not None:
            stream.after(resident.uploaded)
        return resident

    def upload(self, key: Key, picture: Picture, stream: Stream, staging: Staging) -> Resident:
        """Upload the picture of a new frame."""
        assert self._memory is not None
        slot = self._free.pop() if self._free else self._evict()
        base = self._memory.address + slot * self._slot_bytes
        record = np.zeros((), PICTURE)
        for number, (plane, layout) in enumerate(zip(picture.planes, self._layouts, strict=False)):
            address = base + layout.offset
            source = plane if self._is_locked(plane) else staging.copy(plane)
            stream.upload(address, layout.pitch, source)
            record["plane"][number], record["pitch"][number] = address, layout.pitch
        resident = self._residents[key] = Resident(slot, record, stream=stream)
        return resident

    def _evict(self) -> int:
        """The slot of the oldest picture that no batch reads."""
        for key, resident in self._residents.items():
            if not resident.users:
                del self._residents[key]
                return resident.slot
        raise AssertionError("there are slots for all batches under way, and for the pictures before them")

    def _is_locked(self, plane: NDArray[Any]) -> bool:
        # A wrong guess costs time, not digits: copies from other memory are complete when they return.
        address = plane.ctypes.data
        if (locked := self._locked.get(address)) is None:
            if len(self._locked) > 4096:
                self._locked.clear()
            locked = self._locked[address] = self._card.is_pinned(plane)
        return locked

    def release(self, residents: Iterable[Resident]) -> None:
        """A batch that read these is finished."""
        for resident in residents:
            resident.users -= 1


class Staging:
    """Page-locked memory of one stream, through which planes in other memory are uploaded."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._buffers: list[Bytes] = []
        self._used = 0

    def clear(self) -> None:
        """Use the memory anew: all copies from it are done."""
        self._used = 0

    def copy(self, plane: NDArray[Any]) -> NDArray[Any]:
        """The plane in page-locked memory."""
        if self._used == len(self._buffers) or self._buffers[self._used].nbytes < plane.nbytes:
            self._buffers[self._used :] = [self._card.pinned(plane.nbytes)]
        buffer = self._buffers[self._used]
        self._used += 1
        copy = buffer[: plane.nbytes].view(plane.dtype).reshape(plane.shape)
        np.copyto(copy, plane)
        return copy

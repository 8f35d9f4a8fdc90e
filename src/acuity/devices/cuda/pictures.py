"""Pictures on the card: uploaded once, kept while a batch or a later frame needs them; and downloaded."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.batch import PICTURE, PLANES
from acuity.devices.cuda.hardware.card import Bytes, Card, CardEvent, CardMemory, CardStream
from acuity.features.extractor import REACH
from acuity.video.buffers import BufferPool
from acuity.video.card_picture import CardPicture, CardPlane

if TYPE_CHECKING:
    from acuity.features.extractor import Frame, Geometry
    from acuity.video.picture import Picture, Samples

ALIGNMENT: Final = 256  # bytes, of planes
# Of rows. Rows of usual widths then follow each other without gaps, and are uploaded in one piece.
_ROW_ALIGNMENT: Final = 128
_WORD: Final = np.dtype(np.uint64)
_WORDS: Final = PICTURE.itemsize // _WORD.itemsize  # of a record
_NOTHING: Final = 0  # the record of a picture that isn't there
_MOST_KNOWN: Final = 4096  # addresses that are remembered


@dataclass(frozen=True, slots=True)
class PlaneLayout:
    """Where one plane of a picture lies in its slot."""

    offset: int
    pitch: int
    rows: int


def plane_layouts(geometry: Geometry, planes: int | None) -> list[PlaneLayout]:
    """The planes of a picture one after the other, with aligned rows."""
    sample = 1 if geometry.depth == 8 else 2
    shapes = [(geometry.width, geometry.height)]
    if geometry.chroma is not None:
        shapes += [geometry.chroma] * 2
    found, offset = [], 0
    for columns, rows in shapes[:planes]:
        pitch = _rounded(columns * sample, _ROW_ALIGNMENT)
        found.append(PlaneLayout(offset, pitch, rows))
        offset += _rounded(pitch * rows, ALIGNMENT)
    return found


def slot_bytes(geometry: Geometry, planes: int | None) -> int:
    return sum(_rounded(plane.pitch * plane.rows, ALIGNMENT) for plane in plane_layouts(geometry, planes))


def _rounded(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


@dataclass(slots=True, eq=False)
class Upload:
    """The pictures that one batch uploads."""

    number: int  # of the batch
    stream: CardStream
    staging: Staging
    settle: Callable[[], bool]
    done: CardEvent | None = None  # set when all of them are on their way


@dataclass(slots=True, eq=False)
class Resident:
    """A pair of pictures on the card."""

    ref: int  # the rows of their records
    dis: int
    upload: Upload
    reader: int  # the number of the last batch that reads them
    # The events after which pictures in their owner's memory on the card are written.
    written: list[CardEvent] = field(default_factory=list)


class Pictures:
    """The slots of one conveyor."""

    def __init__(self, card: Card, geometry: Geometry, slots: int) -> None:
        self._card = card
        self._geometry = geometry
        self._layouts: list[PlaneLayout] = []
        self._slots = slots
        self._slot_bytes = 0
        self._memory: CardMemory | None = None
        self._records = np.zeros(1, PICTURE)  # of each slot, for each number of planes
        self._free: list[int] = []
        self._residents: dict[int, Resident] = {}  # by frame, the oldest first
        self._locked: dict[int, bool] = {}  # whether memory is page-locked, by address
        self._begun = self._finished = 0  # batches

    def reserve(self, planes: int | None) -> None:
        """Make slots with this many planes; when there are more than before, all pictures are uploaded anew.

        No batch may be under way then.
        """
        layouts = plane_layouts(self._geometry, planes)
        if len(layouts) <= len(self._layouts):
            return
        self._layouts = []
        self._residents.clear()
        self._memory = None  # until allocate()
        self._slot_bytes = slot_bytes(self._geometry, planes)
        self._layouts = layouts
        # First those without planes, then those with one, and so on; at the end those of pictures that lie
        # on the card where their owner has them, which occupy a slot in this table alone.
        self._records = np.zeros((len(layouts) + 2) * self._slots, PICTURE)
        self._free = list(range(self._slots))

    def allocate(self) -> CardMemory:
        """Allocate the memory of all slots; pictures that lie on the card need none."""
        if self._memory is not None:
            return self._memory
        memory = self._memory = self._card.allocate(self._slots * self._slot_bytes)
        records = self._records.reshape(-1, self._slots)[:-1]
        starts = memory.address + np.arange(self._slots, dtype=np.uint64) * np.uint64(self._slot_bytes)
        for number, layout in enumerate(self._layouts):
            records["plane"][number + 1 :, :, number] = starts + np.uint64(layout.offset)
            records["pitch"][number + 1 :, :, number] = layout.pitch
        return memory

    def fits(self, planes: int | None) -> bool:
        return len(plane_layouts(self._geometry, planes)) <= len(self._layouts)

    def upload(
        self, frames: Sequence[Frame], stream: CardStream, staging: Staging, settle: Callable[[], bool]
    ) -> NDArray[np.uint64]:
        """Put all pictures of a batch on the card before the stream goes on; returns a FRAME record for each.

        Where slots are short, `settle` lets the oldest batch reach its end, which releases its pictures. It
        returns whether there was one.
        """
        self._begun += 1
        upload = Upload(self._begun, stream, staging, settle)
        awaited: set[CardEvent] = set()
        rows: list[int] = []
        for frame in frames:
            refs, dises = [_NOTHING] * REACH, [_NOTHING] * REACH
            for number, pair in enumerate(frame.before):
                earlier = frame.index - 1 - number
                resident = self._residents.get(earlier)
                if resident is None:
                    resident = self._take(earlier, *pair, upload)
                resident.reader = upload.number
                if (done := resident.upload.done) is not None and resident.upload.stream is not stream:
                    awaited.add(done)
                awaited.update(resident.written)
                refs[number], dises[number] = resident.ref, resident.dis
            resident = self._take(frame.index, frame.ref, frame.dis, upload)
            awaited.update(resident.written)
            rows += (resident.ref, resident.dis, *refs, *dises)
        upload.done = stream.mark()  # later batches wait for this, not for the kernels
        for event in awaited:
            stream.after(event)
        # As words, because numpy copies structures field by field.
        words = self._records.view(_WORD).reshape(-1, _WORDS)
        return words.take(rows, axis=0).reshape(len(frames), -1)

    def _take(self, index: int, ref: Picture, dis: Picture, upload: Upload) -> Resident:
        """Upload the pictures of a frame, but for those that lie on the card."""
        first = self._place(ref, upload)
        second = first if dis is ref else self._place(dis, upload)
        resident = self._residents[index] = Resident(first, second, upload, upload.number)
        for picture in (ref, dis):
            if self._lies_here(picture) and picture.written is not None:
                resident.written.append(picture.written)
        return resident

    def _lies_here(self, picture: Picture) -> TypeGuard[CardPicture]:
        return isinstance(picture, CardPicture) and picture.card == self._card.properties.number

    def _place(self, picture: Picture, upload: Upload) -> int:
        """Put a picture on the card, unless it lies there; returns the row of its record."""
        while not self._free:
            self._evict(upload.settle)
        slot = self._free.pop()
        if self._lies_here(picture):
            return self._adopt(picture, slot)
        return self._copy(picture, slot, upload)

    def _adopt(self, picture: CardPicture, slot: int) -> int:
        """Note where a picture lies; its frame has it for as long as a batch reads it."""
        row = (len(self._layouts) + 1) * self._slots + slot
        planes = picture.card_planes
        none = (0,) * (PLANES - len(planes))
        places = (*[plane.address for plane in planes], *none), (*[plane.pitch for plane in planes], *none)
        self._records[row] = (*places, 0)
        return row

    def _copy(self, picture: Picture, slot: int, upload: Upload) -> int:
        """Upload a picture."""
        base = self.allocate().address + slot * self._slot_bytes
        count = 0
        for plane, layout in zip(picture.planes, self._layouts, strict=False):
            source = plane if self._is_locked(plane) else upload.staging.copy(plane)
            upload.stream.upload(base + layout.offset, layout.pitch, source)
            count += 1
        return count * self._slots + slot

    def _evict(self, settle: Callable[[], bool]) -> None:
        """Free the slots of the oldest pictures that no batch reads, or have a batch release its own."""
        for index, resident in self._residents.items():
            if resident.reader <= self._finished:
                del self._residents[index]
                self._free += {resident.ref % self._slots, resident.dis % self._slots}
                return
        # Frames that don't follow each other bring the pictures before them.
        if not settle():
            raise AssertionError("there are slots for a batch with the pictures before each frame")

    def _is_locked(self, plane: NDArray[Any]) -> bool:
        # A wrong guess costs time, not digits: copies from other memory are complete when they return.
        address = plane.ctypes.data
        if (locked := self._locked.get(address)) is None:
            if len(self._locked) > _MOST_KNOWN:
                self._locked.clear()
            locked = self._locked[address] = self._card.is_pinned(plane)
        return locked

    def release(self) -> None:
        """Note that the oldest batch that reads pictures doesn't need them any more."""
        self._finished += 1


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


class Downloads:
    """Copies planes of one measurement into page-locked memory, for any thread."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._lock = threading.Lock()
        self._stream: CardStream | None = None
        self._pool: BufferPool | None = None
        self._size = 0

    def fetch(self, planes: Sequence[CardPlane], ready: CardEvent | None) -> tuple[Samples, ...]:
        """The planes in the machine's memory; waits for them without holding Python's lock."""
        found = self._memory(planes)
        with self._lock:
            stream = self._stream = self._stream or self._card.stream()
            if ready is not None:
                stream.after(ready)
            for into, plane in zip(found, planes, strict=True):
                stream.download(into, plane.address, plane.pitch)
            done = stream.mark()
        done.wait()
        return found

    def _memory(self, planes: Sequence[CardPlane]) -> tuple[Samples, ...]:
        sizes = [math.prod(plane.shape) * plane.dtype.itemsize for plane in planes]
        with self._lock:
            if self._pool is None or self._size != sum(sizes):
                self._size = sum(sizes)
                self._pool = BufferPool(self._size, self._card.pinned)
            pool = self._pool
        buffer, start, found = pool.take(), 0, []
        for plane, size in zip(planes, sizes, strict=True):
            found.append(buffer[start : start + size].view(plane.dtype).reshape(plane.shape))
            start += size
        return tuple(found)

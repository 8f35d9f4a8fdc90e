"""Pictures that lie on the card, fetched for what is computed or shown by the CPU."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from acuity.devices.cuda.hardware.card import Card, CardEvent, CardStream
from acuity.video.buffers import BufferPool
from acuity.video.card_picture import CardPlane
from acuity.video.picture import Samples


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

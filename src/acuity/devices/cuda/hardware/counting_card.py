"""A card that only counts the memory that is asked for, to tell what would fit on a real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.hardware.card import Argument, Bytes, Event, Kernel, Properties, Shape, Stream

if TYPE_CHECKING:
    from acuity.video.card_picture import CardPlane

_GRAIN: Final = 512  # bytes: memory is given out in multiples of this


class CountingCard:
    """A card that only counts the memory that is asked for; an implementation of Card."""

    def __init__(self, properties: Properties) -> None:
        self.properties = properties
        self.taken = 0
        self.context = 0  # none

    def in_place(self) -> AbstractContextManager[None]:
        return nullcontext()

    def allocate(self, size: int) -> _Counted:
        start = self.taken
        self.taken += -(-max(size, 1) // _GRAIN) * _GRAIN
        return _Counted(_GRAIN + start, size)

    def free_memory(self) -> int:
        return self.properties.memory - self.taken

    def pinned(self, size: int) -> Bytes:
        return np.empty(size, np.uint8)

    def is_pinned(self, array: NDArray[Any]) -> bool:
        return False

    def stream(self) -> Stream:
        return _IdleStream()

    def stream_of_others(self, handle: int) -> Stream:
        return _IdleStream()

    def card_of(self, address: int) -> int | None:
        return None

    def prefetch(self, program: str, names: Sequence[str]) -> None:
        pass

    def kernels(self, program: str, names: Sequence[str]) -> list[Kernel]:
        return [_IdleKernel() for _ in names]


class _Counted(NamedTuple):
    """Memory that is nowhere."""

    address: int
    size: int


class _Reached:
    """An event of a stream without work."""

    def reached(self) -> bool:
        return True

    def wait(self) -> None:
        pass


class _IdleStream:
    """A stream that does nothing."""

    handle = 0

    def upload(self, address: int, pitch: int, rows: NDArray[Any]) -> None:
        pass

    def download(self, into: NDArray[Any], address: int, pitch: int | None = None) -> None:
        pass

    def copy(self, address: int, pitch: int, plane: CardPlane) -> None:
        pass

    def clear(self, address: int, size: int) -> None:
        pass

    def mark(self) -> Event:
        return _Reached()

    def after(self, event: Event) -> None:
        pass

    def repeatable(self, work: Callable[[], None]) -> Callable[[], None]:
        return work


class _IdleKernel:
    """A kernel that does nothing."""

    handle = 0

    def __call__(self, stream: Stream, grid: Shape, block: Shape, *arguments: Argument) -> None:
        pass

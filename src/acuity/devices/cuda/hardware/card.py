"""The interface of a graphics card: memory, streams and kernels, as twins and lanes use them.

CuPy is behind the real one (`cupy_card.py`); tests have another that runs the same kernels on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from acuity.video.card_picture import CardPlane

Bytes = NDArray[np.uint8]
# An argument of a kernel: an address, or a number whose type is the parameter's (np.int32, np.float64).
Argument = int | np.generic
Shape = tuple[int, int, int]  # of a grid or block: x, y, z


class Memory(Protocol):
    """Memory on the card, which is freed with this object."""

    @property
    def address(self) -> int: ...

    @property
    def size(self) -> int: ...


class Event(Protocol):
    """A moment in a stream."""

    def reached(self) -> bool:
        """Whether everything before it is done; raises BackendError if the card was lost."""
        ...

    def wait(self) -> None:
        """Wait for it without holding Python's lock; raises BackendError if the card was lost."""
        ...


class Kernel(Protocol):
    """A compiled kernel."""

    @property
    def handle(self) -> int:
        """CUDA's own, for native code that launches it; waits until it is compiled."""
        ...

    def __call__(self, stream: Stream, grid: Shape, block: Shape, *arguments: Argument) -> None:
        """Run it in a stream, after what is there already."""
        ...


class Stream(Protocol):
    """Work that the card does in order, beside other streams."""

    @property
    def handle(self) -> int:
        """CUDA's own, for libraries that work in the same stream."""
        ...

    def upload(self, address: int, pitch: int, rows: NDArray[Any]) -> None:
        """Copy a plane of page-locked memory to the card, each row `pitch` bytes after the one before.

        The plane must stay unchanged until the work is done.
        """
        ...

    def download(self, into: NDArray[Any], address: int, pitch: int | None = None) -> None:
        """Copy from the card into page-locked memory in one piece.

        With a pitch `into` is a plane, whose rows lie so many bytes apart on the card.
        """
        ...

    def copy(self, address: int, pitch: int, plane: CardPlane) -> None:
        """Copy a plane to another place on the card, each row `pitch` bytes after the one before."""
        ...

    def clear(self, address: int, size: int) -> None:
        """Set bytes to 0."""
        ...

    def mark(self) -> Event:
        """The moment when everything so far is done."""
        ...

    def after(self, event: Event) -> None:
        """Let what follows wait for an event of another stream."""
        ...

    def repeatable(self, work: Callable[[], None]) -> Callable[[], None]:
        """Do work in this stream; returns a function that does the same again, in less time.

        The memory that the work names must be there until then.
        """
        ...


class Properties(NamedTuple):
    """What a card is."""

    number: int
    name: str
    memory: int  # bytes
    architecture: str  # as compilers name it: sm_90
    driver: str
    processors: int


class Card(Protocol):
    """One card. Its methods raise BackendError with one sentence and the remedy."""

    @property
    def properties(self) -> Properties: ...

    def in_place(self) -> AbstractContextManager[None]:
        """Put the card in place for all calls of this thread in the block, and what was there back."""
        ...

    @property
    def context(self) -> int:
        """The handle of CUDA's context, for libraries that work on the same card."""
        ...

    def allocate(self, size: int) -> Memory:
        """Memory on the card, aligned to 256 bytes."""
        ...

    def free_memory(self) -> int:
        """Bytes that can still be allocated."""
        ...

    def pinned(self, size: int) -> Bytes:
        """Page-locked memory of this machine, from which copies run beside everything else."""
        ...

    def is_pinned(self, array: NDArray[Any]) -> bool:
        """Whether an array lies in page-locked memory, whoever allocated it."""
        ...

    def stream(self) -> Stream: ...

    def stream_of_others(self, handle: int) -> Stream:
        """A stream that another library has made, by CUDA's name of it; 1 is the default stream."""
        ...

    def card_of(self, address: int) -> int | None:
        """The number of the card that an address belongs to; None if it is no memory on a card."""
        ...

    def prefetch(self, program: str, names: Sequence[str]) -> None:
        """Begin to compile kernels that will be needed; returns at once."""
        ...

    def kernels(self, program: str, names: Sequence[str]) -> list[Kernel]:
        """Kernels of a program in the folder kernels/, by its name without .cu; each is compiled once.

        Returns at once: the first launch of a kernel waits until it is compiled, beside the others.
        """
        ...

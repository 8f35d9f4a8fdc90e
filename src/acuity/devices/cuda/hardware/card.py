"""A graphics card by way of CuPy's bindings of CUDA: its memory, streams, events and kernels.

Methods raise BackendError with one sentence and the remedy.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.compiler.build import KernelBuilder
from acuity.devices.cuda.hardware.bindings import Bindings
from acuity.devices.cuda.hardware.card_context import CardContext, Properties
from acuity.devices.cuda.hardware.cuda_errors import (
    CODE_REFUSED,
    NOT_READY,
    OUT_OF_MEMORY,
    in_gib,
    memory_failure,
    status_of,
)
from acuity.errors import BackendError

if TYPE_CHECKING:
    from acuity.video.card_picture import CardPlane

Bytes = NDArray[np.uint8]
# An argument of a kernel: an address, or a number whose type is the parameter's (np.int32, np.float64).
Argument = int | np.generic
Shape = tuple[int, int, int]  # of a grid or block: x, y, z

# CUDA's numbers.
_HOST_TO_CARD, _CARD_TO_HOST, _CARD_TO_CARD = 1, 2, 3
_PORTABLE: Final = 1  # page-locked memory that counts as such for every card
_NON_BLOCKING: Final = 1  # a stream that doesn't wait for the default one, which others may use
_SLEEPING_WITHOUT_TIME: Final = 1 | 2  # an event whose waiters sleep, and that takes no time
_PAGE_LOCKED: Final = 1
_ON_A_CARD: Final = (2, 3)  # memory of a card, and memory that moves between card and machine

# A function of CUDA, its arguments, and what they point to.
_Call = tuple[Callable[..., None], tuple[int, ...], object]

_MOST_ARGUMENTS: Final = 64  # of a kernel
_SLOT: Final = 8  # bytes for each argument
# How each kind of argument lies in its slot.
_PACKED: Final[dict[type, str]] = {
    int: "Q",
    np.int32: "i4x",
    np.uint32: "I4x",
    np.int64: "q",
    np.uint64: "Q",
    np.float32: "f4x",
    np.float64: "d",
}


class CardMemory:
    """Memory on the card, aligned to 256 bytes, which is freed with this object."""

    def __init__(self, context: CardContext, bindings: Bindings, size: int) -> None:
        self.address: int = context.call(bindings.runtime.malloc, max(size, 1))
        self.size = size
        weakref.finalize(self, context.give_back, bindings.runtime.free, self.address).atexit = False


class CardEvent:
    """A moment in a stream. Its handle goes back to the pool when nothing refers to the event any more."""

    def __init__(self, context: CardContext, bindings: Bindings, pool: list[int]) -> None:
        self._context = context
        self._runtime = bindings.runtime
        try:
            self.handle = pool.pop()
        except IndexError:
            self.handle = context.call(bindings.runtime.eventCreateWithFlags, _SLEEPING_WITHOUT_TIME)
        self._pool = pool

    def __del__(self) -> None:
        if hasattr(self, "_pool"):
            self._pool.append(self.handle)

    def reached(self) -> bool:
        """Whether everything before it is done; raises BackendError if the card was lost."""
        status = self._context.call(self._runtime.eventQuery, self.handle)
        if status not in (0, NOT_READY):
            self._context.call(self._runtime.check_status, status)
        return bool(status == 0)

    def wait(self) -> None:
        """Wait for it without holding Python's lock; raises BackendError if the card was lost."""
        self._context.call(self._runtime.eventSynchronize, self.handle)


class CardStream:
    """Work that the card does in order, beside other streams: a new stream, or another's by its handle."""

    def __init__(
        self, context: CardContext, bindings: Bindings, events: list[int], handle: int | None = None
    ) -> None:
        self._context = context
        self._bindings = bindings
        self._runtime = bindings.runtime
        self._events = events
        self._noted: list[_Call] | None = None  # calls that will be repeated
        if handle is not None:
            self.handle = handle
            return
        self.handle = context.call(self._runtime.streamCreateWithFlags, _NON_BLOCKING)
        weakref.finalize(self, context.give_back, self._runtime.streamDestroy, self.handle).atexit = False

    def call(self, function: Callable[..., None], *arguments: int, held: object = None) -> bool:
        """Call a function of CUDA that adds work to this stream; returns whether it will be repeated.

        `held` is what the arguments point to: whoever repeats the call keeps it.
        """
        self._context.call(function, *arguments)
        if self._noted is None:
            return False
        self._noted.append((function, arguments, held))
        return True

    def repeatable(self, work: Callable[[], None]) -> Callable[[], None]:
        """Do work in this stream; returns a function that does the same again, in less time.

        The memory that the work names must still be there when that function is called.
        """
        noted: list[_Call] = []
        self._noted = noted
        try:
            work()
        finally:
            self._noted = None
        call = self._context.call

        def repeat() -> None:
            for function, arguments, _ in noted:
                call(function, *arguments)

        return repeat

    def upload(self, address: int, pitch: int, rows: NDArray[Any]) -> None:
        """Copy a plane to the card, each row `pitch` bytes after the one before.

        A plane in page-locked memory must stay unchanged until the work is done.
        """
        count, columns = rows.shape
        itemsize = rows.itemsize
        between, beside = rows.strides
        width = columns * itemsize
        step = between if count > 1 else max(width, pitch)
        if (columns > 1 and beside != itemsize) or step < width or pitch < width:
            raise ValueError(
                f"rows of {width} bytes, {rows.strides} bytes apart, can't be uploaded {pitch} bytes apart"
            )
        if not count or not width:
            return
        source = rows.ctypes.data
        if step == pitch:
            size = (count - 1) * pitch + width
            self.call(self._runtime.memcpyAsync, address, source, size, _HOST_TO_CARD, self.handle)
        else:
            place = address, pitch, source, step, width, count
            self.call(self._runtime.memcpy2DAsync, *place, _HOST_TO_CARD, self.handle)

    def download(self, into: NDArray[Any], address: int, pitch: int | None = None) -> None:
        """Copy from the card into page-locked memory in one piece.

        With a pitch `into` is a plane, whose rows lie so many bytes apart on the card.
        """
        if not into.flags.c_contiguous:
            raise ValueError("what is downloaded into must be in one piece")
        if not into.nbytes:
            return
        if pitch is None:
            place = into.ctypes.data, address, into.nbytes
            self.call(self._runtime.memcpyAsync, *place, _CARD_TO_HOST, self.handle)
        else:
            width = into.strides[0]
            rows = into.ctypes.data, width, address, pitch, width, len(into)
            self.call(self._runtime.memcpy2DAsync, *rows, _CARD_TO_HOST, self.handle)

    def copy(self, address: int, pitch: int, plane: CardPlane) -> None:
        """Copy a plane to another place on the card, each row `pitch` bytes after the one before."""
        rows, columns = plane.shape
        place = address, pitch, plane.address, plane.pitch, columns * plane.dtype.itemsize, rows
        self.call(self._runtime.memcpy2DAsync, *place, _CARD_TO_CARD, self.handle)

    def clear(self, address: int, size: int) -> None:
        """Set bytes to 0."""
        if size:
            self.call(self._runtime.memsetAsync, address, 0, size, self.handle)

    def mark(self) -> CardEvent:
        """The moment when everything so far is done."""
        event = CardEvent(self._context, self._bindings, self._events)
        self._context.call(self._runtime.eventRecord, event.handle, self.handle)
        return event

    def after(self, event: CardEvent) -> None:
        """Let what follows wait for an event of another stream."""
        self._context.call(self._runtime.streamWaitEvent, self.handle, event.handle)


class _Parameters:
    """Room for the arguments of one launch: a slot for each, and the slots' addresses as CUDA takes them."""

    def __init__(self) -> None:
        self.slots = ctypes.create_string_buffer(_MOST_ARGUMENTS * _SLOT)
        start = ctypes.addressof(self.slots)
        addresses = range(start, start + _MOST_ARGUMENTS * _SLOT, _SLOT)
        self.pointers = (ctypes.c_uint64 * _MOST_ARGUMENTS)(*addresses)
        self.address = ctypes.addressof(self.pointers)


class Kernel:
    """A kernel. It is loaded at its first launch, so that all those of a measurement are compiled at once."""

    def __init__(self, bindings: Bindings, load: Callable[[], int]) -> None:
        self._launch = bindings.driver.launchKernel
        self._load = load
        self._function: int | None = None
        self._packings: dict[tuple[type, ...], Struct] = {}  # by the types of the arguments
        self._parameters = _Parameters()

    @property
    def handle(self) -> int:
        """CUDA's own handle, for native code that launches it; waits until the kernel is compiled."""
        if self._function is None:
            self._function = self._load()
        return self._function

    def __call__(self, stream: CardStream, grid: Shape, block: Shape, *arguments: Argument) -> None:
        """Run it in a stream, after what is there already; one thread at a time launches it."""
        types = tuple(map(type, arguments))
        packing = self._packings.get(types) or self._packings.setdefault(types, _packing(types))
        parameters = self._parameters
        packing.pack_into(parameters.slots, 0, *arguments)
        place = *grid, *block, 0, stream.handle, parameters.address, 0
        if stream.call(self._launch, self._function or self.handle, *place, held=parameters):
            self._parameters = _Parameters()  # the others are kept to be used again


def _packing(types: tuple[type, ...]) -> Struct:
    """How arguments of these types lie in their slots."""
    if len(types) > _MOST_ARGUMENTS:
        raise ValueError(f"a kernel takes at most {_MOST_ARGUMENTS} arguments, not {len(types)}")
    if unknown := [kind.__name__ for kind in types if kind not in _PACKED]:
        raise TypeError(f"a kernel takes no argument of the type {unknown[0]}")
    return Struct("<" + "".join(_PACKED[kind] for kind in types))


class Card(CardContext):
    """One card. Any thread may use it."""

    def __init__(self, bindings: Bindings, properties: Properties, builder: KernelBuilder) -> None:
        """Start the card; raises BackendError."""
        super().__init__(bindings, properties)
        self.properties = properties
        self.builder = builder
        self._bindings = bindings
        self._events: list[int] = []  # handles of events that are not used now
        self._functions: dict[tuple[str, str], int] = {}
        self._loading = threading.Lock()

    def allocate(self, size: int) -> CardMemory:
        try:
            return CardMemory(self, self._bindings, size)
        except BackendError as error:
            if status_of(error) != OUT_OF_MEMORY:
                raise
            raise memory_failure(self.name, size, self.free_memory()) from error

    def free_memory(self) -> int:
        """Bytes that can still be allocated."""
        free: int = self.call(self._bindings.runtime.memGetInfo)[0]
        return free

    def pinned(self, size: int) -> Bytes:
        """Page-locked memory of this machine, from which copies run beside everything else."""
        runtime = self._bindings.runtime
        try:
            address = self.call(runtime.hostAlloc, max(size, 1), _PORTABLE)
        except BackendError as error:
            if status_of(error) != OUT_OF_MEMORY:
                raise
            raise BackendError(
                f"this machine has no {in_gib(size)} of memory left that can be page-locked for uploads: end "
                "what else uses it, or compare smaller pictures"
            ) from error
        block = (ctypes.c_uint8 * max(size, 1)).from_address(address)
        # It is freed when no view of it is left.
        weakref.finalize(block, self.give_back, runtime.freeHost, address).atexit = False
        return np.frombuffer(memoryview(block), np.uint8, size)

    def is_pinned(self, array: NDArray[Any]) -> bool:
        """Whether an array lies in page-locked memory, whoever allocated it."""
        if not array.nbytes:
            return False
        found = self.call(self._bindings.runtime.pointerGetAttributes, array.ctypes.data)
        return bool(found.type == _PAGE_LOCKED)

    def stream(self) -> CardStream:
        return CardStream(self, self._bindings, self._events)

    def stream_of_others(self, handle: int) -> CardStream:
        """A stream that another library has made, by CUDA's name of it; 1 is the default stream."""
        return CardStream(self, self._bindings, self._events, handle)

    def card_of(self, address: int) -> int | None:
        """The number of the card that an address belongs to; None if it is no memory on a card."""
        found = self.call(self._bindings.runtime.pointerGetAttributes, address)
        return found.device if found.type in _ON_A_CARD else None

    def kernels(self, program: str, names: Sequence[str]) -> list[Kernel]:
        """Kernels of a program in the folder kernels/, by its name without .cu; each is compiled once.

        Returns at once: the first launch of a kernel waits until it is compiled, beside the others.
        """
        self.builder.prefetch(program, names)
        return [Kernel(self._bindings, partial(self._function, program, name)) for name in names]

    def _function(self, program: str, name: str) -> int:
        """The loaded kernel; waits until it is compiled, and raises BackendError if that fails."""
        code = self.builder.code(program, name)
        with self._loading:
            if (function := self._functions.get((program, name))) is None:
                module = self._module(program, name, code)
                function = self.call(self._bindings.driver.moduleGetFunction, module, name)
                self._functions[program, name] = function
            return function

    def _module(self, program: str, name: str, code: bytes) -> int:
        load = self._bindings.driver.moduleLoadData
        try:
            return self.call(load, code)
        except BackendError as error:
            if status_of(error) not in CODE_REFUSED:
                raise
            # Cached by a compiler that was newer than the driver is now.
            return self.call(load, self.builder.rebuild(program, name))

"""Arrays on a card as other libraries export them, made of memory of a card of the tests."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from ctypes import PYFUNCTYPE, c_char_p, c_int32, c_uint8, c_uint32, c_uint64, c_void_p, py_object
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.hardware.card import Card, CardMemory

_pointer_of = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
# Where DLPack's structures have the tensor, and the tensor its device and its offset, in bytes.
_TENSORS = {b"dltensor": 0, b"dltensor_versioned": 32}
_DEVICE, _OFFSET = 8, 40


class OnCard:
    """A plane on a card: its samples, rows `pitch` bytes apart, from `offset` in a block of memory on."""

    def __init__(
        self, card: Card, samples: NDArray[Any], *, pitch: int | None = None, offset: int = 0
    ) -> None:
        self.samples = np.ascontiguousarray(samples)
        self.pitch = pitch or self.samples.shape[-1] * self.samples.itemsize
        rows = int(np.prod(self.samples.shape[:-1]))
        self.memory: CardMemory = card.allocate(max(self.pitch * rows + offset, 1))
        self.address = self.memory.address + offset
        self.number = card.properties.number

    def fill(self, samples: NDArray[Any]) -> None:
        """Write other samples at once: the card's memory is the machine's here."""
        lines = np.ascontiguousarray(samples)
        width = lines.shape[-1] * lines.itemsize
        for row, line in enumerate(lines.reshape(-1, lines.shape[-1])):
            ctypes.memmove(self.address + row * self.pitch, line.ctypes.data, width)

    @property
    def strides(self) -> tuple[int, ...]:
        return (*self.samples.strides[:-2], self.pitch, self.samples.itemsize)[-self.samples.ndim :]


class CudaInterface(OnCard):
    """Exports by `__cuda_array_interface__`."""

    def __init__(self, *given: Any, stream: int | None = 1, version: int = 3, **settings: Any) -> None:
        self.changes: dict[str, Any] = settings.pop("changes", {})
        super().__init__(*given, **settings)
        self.stream = stream
        self.version = version
        self.fill(self.samples)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        about = {
            "shape": self.samples.shape,
            "typestr": self.samples.dtype.str,
            "data": (self.address, True),
            "strides": self.strides,
            "version": self.version,
            **({"stream": self.stream} if self.version >= 3 else {}),
        }
        changed = {**about, **self.changes}
        return {name: value for name, value in changed.items() if value is not ...}  # ...: left out


class Dlpack(OnCard):
    """Exports by DLPack, as a library from before or after version 1."""

    def __init__(
        self,
        *given: Any,
        versioned: bool = True,
        order: Callable[[int], None] = lambda stream: None,
        major: int = 1,
        device: tuple[int, int] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*given, **settings)
        self.fill(self.samples)
        self.versioned = versioned
        self.order = order  # lets a stream wait until the array is written
        self.major = major
        self.device = device or (2, self.number)
        self.exported = self.deleted = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **given: Any) -> Any:
        assert given["stream"] not in (None, 0)
        if "max_version" in given and not self.versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.order(given["stream"])
        return self.capsule()

    def capsule(self) -> Any:
        """numpy's capsule of the memory, which says then that it is on a card."""
        whole = (c_uint8 * self.memory.size).from_address(self.memory.address)
        start = self.address - self.memory.address
        array = np.ndarray(self.samples.shape, self.samples.dtype, whole, start, self.strides)
        weakref.finalize(array, self._gone)
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        capsule = array.__dlpack__(**({"max_version": (1, 0)} if self.versioned else {}))
        managed = _pointer_of(capsule, name)
        tensor = managed + _TENSORS[name]
        (c_int32 * 2).from_address(tensor + _DEVICE)[:] = self.device
        # A part of the address as an offset, which readers have to add.
        c_uint64.from_address(tensor).value -= 2
        c_uint64.from_address(tensor + _OFFSET).value = 2
        if self.versioned:
            c_uint32.from_address(managed).value = self.major
        self.exported += 1
        return capsule

    def _gone(self) -> None:
        self.deleted += 1

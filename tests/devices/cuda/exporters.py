"""Arrays on a card as other libraries export them, made of memory of a card of the tests."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint64, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.hardware.card import Card, Memory


class Tensor(Structure):
    """DLTensor of dlpack.h."""

    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


_DELETER = CFUNCTYPE(None, c_void_p)


class Old(Structure):
    """DLManagedTensor."""

    _fields_ = (("dl_tensor", Tensor), ("manager_ctx", c_void_p), ("deleter", _DELETER))


class New(Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", _DELETER),
        ("flags", c_uint64),
        ("dl_tensor", Tensor),
    )


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [c_void_p, c_char_p, c_void_p]
_OLD_NAME, _NEW_NAME = b"dltensor", b"dltensor_versioned"  # CUDA and Python keep pointers to them
_ALIVE: dict[int, Dlpack] = {}  # arrays that somebody has taken
_STRUCTURES: list[Any] = []  # for good: a callback must not be freed while it runs
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class OnCard:
    """A plane on a card: its samples, rows `pitch` bytes apart, from `offset` in a block of memory on."""

    def __init__(
        self, card: Card, samples: NDArray[Any], *, pitch: int | None = None, offset: int = 0
    ) -> None:
        self.samples = np.ascontiguousarray(samples)
        self.pitch = pitch or self.samples.shape[-1] * self.samples.itemsize
        rows = int(np.prod(self.samples.shape[:-1]))
        self.memory: Memory = card.allocate(max(self.pitch * rows + offset, 1))
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
        ndim, item = self.samples.ndim, self.samples.itemsize
        shape = (c_int64 * ndim)(*self.samples.shape)
        strides = (c_int64 * ndim)(*[stride // item for stride in self.strides])
        kind = self.samples.dtype
        places = ctypes.cast(shape, POINTER(c_int64)), ctypes.cast(strides, POINTER(c_int64))
        # A part of the address as an offset, which readers have to add.
        tensor = Tensor(self.address - 2, *self.device, ndim, _CODES[kind.kind], 8 * item, 1, *places, 2)

        def delete(address: int) -> None:
            _ALIVE.pop(address).deleted += 1

        deleter = _DELETER(delete)
        managed = (
            New(self.major, 0, None, deleter, 0, tensor) if self.versioned else Old(tensor, None, deleter)
        )
        address = ctypes.addressof(managed)
        _ALIVE[address] = self
        _STRUCTURES.append((managed, shape, strides, deleter))
        self.exported += 1
        return _new_capsule(address, _NEW_NAME if self.versioned else _OLD_NAME, None)

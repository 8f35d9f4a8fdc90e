"""DLPack: an array that another library exports, as a record of where it lies.

The layout of the structures is that of dlpack.h, versions 0 and 1.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, PYFUNCTYPE, Structure, c_char_p, c_int, c_void_p, py_object, pythonapi
from functools import lru_cache
from typing import Any, Final, NamedTuple

from acuity.errors import InputError
from acuity.text import told

CUDA, CUDA_MANAGED = 2, 13  # kinds of devices
_KINDS: Final = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_NEWEST: Final = 1, 0  # the version that is asked for; its minor versions add nothing that is read here


class _Tensor(Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("device", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", POINTER(ctypes.c_int64)),
        ("strides", POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", _Tensor), ("manager", c_void_p), ("deleter", c_void_p))


class _Versioned(Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


# By the name of their capsule: the structure in it, and the capsule's name after its array was taken.
_CAPSULES: Final[dict[bytes, tuple[type[_Managed] | type[_Versioned], bytes]]] = {
    b"dltensor": (_Managed, b"used_dltensor"),
    b"dltensor_versioned": (_Versioned, b"used_dltensor_versioned"),
}
# Called with Python's lock held, as a capsule's own destructor is. A library has one for all its arrays.
_deleter: Final = lru_cache(64)(PYFUNCTYPE(None, c_void_p))

_name_of: Final = PYFUNCTYPE(c_char_p, py_object)(("PyCapsule_GetName", pythonapi))
_pointer_of: Final = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))
_rename: Final = PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_SetName", pythonapi))


class Owner:
    """Keeps an exported array alive as long as this object."""

    def __init__(self, address: int, deleter: int | None) -> None:
        self._address = address
        self._delete = _deleter(deleter) if deleter else None

    def __del__(self) -> None:
        if self._delete is not None:
            self._delete(self._address)


class Exported(NamedTuple):
    """An array as its library exports it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in samples; None: one row after the other
    dtype: str  # as numpy names it
    device: int  # its kind
    number: int  # of the device
    owner: Owner


def export(array: Any, stream: int) -> Exported:
    """Take an array from its library, which lets this stream wait until the array is written.

    Raises InputError if it can't be exported.
    """
    try:
        try:
            capsule = array.__dlpack__(stream=stream, max_version=_NEWEST)
        except TypeError:  # a library from before version 1
            capsule = array.__dlpack__(stream=stream)
    except Exception as error:  # BufferError by the protocol, and whatever else a library raises
        raise InputError(
            f"{type(array).__name__} does not export its array ({told(error)}): pass a plain array of samples"
        ) from error
    name = _name_of(capsule) if type(capsule).__name__ == "PyCapsule" else None
    if name not in _CAPSULES:
        raise InputError(
            f"__dlpack__ has to return a capsule that nobody has taken, and it returned {capsule!r}: export "
            "the array anew for every frame"
        )
    structure, used = _CAPSULES[name]
    address = _pointer_of(capsule, name)
    managed = structure.from_address(address)
    _rename(capsule, used)
    owner = Owner(address, managed.deleter)  # from here on this deletes it, and no longer the capsule
    if isinstance(managed, _Versioned) and managed.major > _NEWEST[0]:
        raise InputError(
            f"the array comes by DLPack {managed.major}.{managed.minor}, and this version of Acuity knows "
            f"{_NEWEST[0]}: update it"
        )
    tensor = managed.tensor
    return Exported(
        address=(tensor.data or 0) + tensor.byte_offset,
        shape=tuple(tensor.shape[: tensor.ndim]),
        strides=tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None,
        dtype=_dtype(tensor.kind, tensor.bits, tensor.lanes),
        device=tensor.device,
        number=tensor.number,
        owner=owner,
    )


@lru_cache(64)
def _dtype(kind: int, bits: int, lanes: int) -> str:
    return f"{_KINDS.get(kind, f'type {kind} of ')}{bits}" + (f"x{lanes}" if lanes != 1 else "")

"""Arrays of other libraries that lie on the card, as views that are checked.

Two protocols are read. `__cuda_array_interface__` from version 3 on names the stream in which an array is
written. With DLPack a library makes the reader's stream wait, but doesn't name its own stream. The layout of
its structures is that of dlpack.h, versions 0 and 1.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from ctypes import POINTER, PYFUNCTYPE, Structure, c_char_p, c_int, c_void_p, py_object, pythonapi
from functools import lru_cache
from operator import index
from typing import Any, Final, NamedTuple

import numpy as np

from acuity.devices.cuda.hardware.card import Card, CardStream
from acuity.errors import AcuityError, InputError, to_set
from acuity.text import told
from acuity.video.card_picture import CardPlane

_DEFAULT_STREAM: Final = 1  # CUDA's name of it; 0 is ambiguous
_NAMED_STREAMS: Final = 1, 2  # those that have a number; all others are handles
_LEAST_HANDLE: Final = 1 << 16  # handles are addresses, and no system has memory below this one
_MOST_ADDRESS: Final = (1 << 63) - 1
_MOST_PITCH: Final = (1 << 31) - 1  # what kernels count rows' distances in
_MOST_BYTES: Final = 1 << 40  # no card has as much memory
_VERSIONS: Final = range(1, 4)  # of Numba's interface
_Dtype = np.dtype[np.uint8] | np.dtype[np.uint16]
_DTYPES: Final[dict[str, _Dtype]] = {"uint8": np.dtype(np.uint8), "uint16": np.dtype(np.uint16)}
_MANAGED: Final = 2, 13  # kinds of devices: CUDA, and memory that moves
_INTERFACE: Final = "__cuda_array_interface__"

# The stream in which a program works at present with a library that exports by DLPack alone, on a card. Where
# none is known, copies are waited for.
_CURRENT_STREAMS: Final[dict[str, Callable[[Any, int], int]]] = {
    "torch": lambda torch, card: int(torch.cuda.current_stream(card).cuda_stream)
}


class View(NamedTuple):
    """An array on the card as a plane, which is not copied."""

    plane: CardPlane
    owner: object  # the memory lives as long as this
    written_in: int | None  # a stream to wait for; None: the library has seen to that
    used_in: int | None  # a stream in which the array may be written anew; None: unknown


class _Raw(NamedTuple):
    """An array as a protocol describes it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in bytes
    dtype: str
    card: int | None
    owner: object
    written_in: int | None
    used_in: int | None


def view_of(array: Any, card: Card, stream: CardStream) -> View:
    """The array as a plane; raises InputError.

    `stream` waits until the array is written, if its library sees to that.
    """
    try:
        raw = _read(array, card, stream)
    except AcuityError:
        raise
    except Exception as error:  # whatever another library raises
        raise _unreadable(array, repr(error)) from error
    shape, pitch, dtype = _layout(raw.shape, raw.strides, raw.dtype)
    if not 0 <= raw.address <= _MOST_ADDRESS - _MOST_BYTES:
        raise InputError(f"{raw.address:#x} is no address of an array: pass one on a card, or a numpy array")
    where = raw.card if raw.address else None
    if where != card.properties.number:
        raise _elsewhere(where, card)
    if raw.address % dtype.itemsize:
        raise InputError(
            f"{raw.dtype} samples at the address {raw.address:#x}, which is odd, can't be read: pass a copy, "
            "which is aligned"
        )
    return View(CardPlane(raw.address, pitch, shape, dtype), raw.owner, raw.written_in, raw.used_in)


@lru_cache(64)
def _layout(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: str
) -> tuple[tuple[int, int], int, _Dtype]:
    """Rows and columns, the bytes from row to row, and the type; raises InputError."""
    if dtype not in _DTYPES:
        raise InputError(
            f"samples must be uint8 or uint16 arrays, and these are {dtype}: convert them on the card"
        )
    if len(shape) != 2:
        raise InputError(f"a plane must be an array of rows and columns, and one has the shape {shape}")
    if min(shape) < 1:
        raise InputError(f"an array of the shape {shape} has no samples: pass pictures that have some")
    if strides is not None and len(strides) != len(shape):
        raise InputError(
            f"an array of the shape {shape} can't have the strides {strides}: pass a plain array"
        )
    plane, size = (shape[0], shape[1]), _DTYPES[dtype].itemsize
    pitch = _pitch(plane, strides, size)
    if max(pitch, *plane) > _MOST_PITCH or pitch * plane[0] > _MOST_BYTES:
        raise InputError(f"an array of the shape {shape} is larger than the memory of any card")
    return plane, pitch, _DTYPES[dtype]


def _pitch(shape: tuple[int, int], strides: tuple[int, ...] | None, sample: int) -> int:
    """The bytes from row to row."""
    rows, columns = shape
    width = columns * sample
    if strides is None:
        return width
    if columns > 1 and strides[1] != sample:
        raise InputError(
            f"the samples of a row have to lie one after the other, and these are {strides[1]} bytes apart: "
            "pass array.contiguous() or cupy.ascontiguousarray(array)"
        )
    if rows == 1:
        return width
    if not width <= strides[0] <= _MOST_PITCH or strides[0] % sample:
        raise InputError(
            f"rows of {width} bytes can't lie {strides[0]} bytes apart: pass array.contiguous() or "
            "cupy.ascontiguousarray(array)"
        )
    return strides[0]


def _elsewhere(number: int | None, card: Card) -> InputError:
    own = card.properties.number
    if number is None:
        return InputError(f"the array's memory is on no card: pass one on card {own}, or a numpy array")
    return InputError(
        f"the array lies on card {number}, and the measurement is on card {own}: copy it there, or pass ",
        to_set("backend", f"cuda:{number}"),
    )


def _read(array: Any, card: Card, stream: CardStream) -> _Raw:
    """The array by the protocol that says more."""
    library = type(array).__module__.partition(".")[0]
    exports = hasattr(array, "__dlpack__")
    if not (exports and library in _CURRENT_STREAMS):
        about = getattr(array, _INTERFACE, None)
        if about is not None and (not exports or "stream" in about):
            return _by_interface(array, about, card)
    return _by_dlpack(array, library, card, stream)


def _unreadable(array: Any, why: str) -> InputError:
    return InputError(f"an array of type {type(array).__name__} can't be read ({why}): pass a plain array")


def _by_interface(array: Any, about: Mapping[str, Any], card: Card) -> _Raw:
    address, strides = index(about["data"][0]), about.get("strides")
    if about["version"] not in _VERSIONS:
        raise _unreadable(array, f"its {_INTERFACE} has the version {about['version']!r}")
    if about.get("mask") is not None:
        raise InputError("an array with a mask has samples that count for nothing: pass it without")
    dtype = np.dtype(str(about["typestr"]))
    # Older versions don't name the stream; most programs work in the default stream.
    stream = about.get("stream", _DEFAULT_STREAM)
    handle = isinstance(stream, int) and _LEAST_HANDLE <= stream <= _MOST_ADDRESS
    if not (stream is None or handle or (stream in _NAMED_STREAMS and stream is not True)):
        raise InputError(
            f"{_INTERFACE} names the stream {stream!r}, which is none: pass 1 for the default stream, 2 for "
            "a thread's own, or a handle"
        )
    return _Raw(
        address,
        tuple(map(index, about["shape"])),
        None if strides is None else tuple(map(index, strides)),
        dtype.name if dtype.isnative else dtype.str,
        card.card_of(address) if 0 < address <= _MOST_ADDRESS else None,
        array,
        stream,
        stream,
    )


def _by_dlpack(array: Any, library: str, card: Card, stream: CardStream) -> _Raw:
    device, number = map(int, array.__dlpack_device__())  # some libraries have objects of their own for them
    if device not in _MANAGED:
        raise InputError(
            f"the array lies on a device of DLPack's kind {device}, which is no NVIDIA card: copy it to the "
            "machine's memory"
        )
    if number != card.properties.number:
        raise _elsewhere(number, card)
    tensor, owner = _export(array, stream.handle)
    if tensor.device not in _MANAGED:
        raise _unreadable(array, f"it says device {device}, and its capsule {tensor.device}")
    used_in = None
    if library in _CURRENT_STREAMS and library in sys.modules:
        used_in = _CURRENT_STREAMS[library](sys.modules[library], number) or _DEFAULT_STREAM
    dtype, axes = _dtype_name(tensor.kind, tensor.bits, tensor.lanes), tensor.ndim
    size = _DTYPES[dtype].itemsize if dtype in _DTYPES else 1
    strides = tuple(stride * size for stride in tensor.strides[:axes]) if tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    return _Raw(address, tuple(tensor.shape[:axes]), strides, dtype, tensor.number, owner, None, used_in)


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


def _export(array: Any, stream: int) -> tuple[_Tensor, Owner]:
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
    return managed.tensor, owner


@lru_cache(64)
def _dtype_name(kind: int, bits: int, lanes: int) -> str:
    return f"{_KINDS.get(kind, f'type {kind} of ')}{bits}" + (f"x{lanes}" if lanes != 1 else "")

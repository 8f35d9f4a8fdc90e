"""Arrays of other libraries that lie on the card, as views that are checked.

Two protocols are read. `__cuda_array_interface__` from version 3 on names the stream in which an array is
written. With DLPack a library makes the reader's stream wait, but doesn't name its own stream.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import index
from typing import Any, Final, NamedTuple

import numpy as np

from acuity.devices.cuda.dlpack import CUDA, CUDA_MANAGED, export
from acuity.devices.cuda.hardware.card import Card, CardStream
from acuity.errors import AcuityError, InputError, to_set
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
_MANAGED: Final = CUDA, CUDA_MANAGED
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
    found = export(array, stream.handle)
    if found.device not in _MANAGED:
        raise _unreadable(array, f"it says device {device}, and its capsule {found.device}")
    used_in = None
    if library in _CURRENT_STREAMS and library in sys.modules:
        used_in = _CURRENT_STREAMS[library](sys.modules[library], number) or _DEFAULT_STREAM
    size = _DTYPES[found.dtype].itemsize if found.dtype in _DTYPES else 1
    strides = None if found.strides is None else tuple(stride * size for stride in found.strides)
    return _Raw(found.address, found.shape, strides, found.dtype, found.number, found.owner, None, used_in)

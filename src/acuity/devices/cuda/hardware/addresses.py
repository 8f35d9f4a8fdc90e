"""Where the samples of an array lie, found faster than numpy tells it."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# An array's object begins with Python's own fields, and the address of its data comes next: that is part of
# numpy's binary interface, by which extensions are compiled. `array.ctypes` takes ten times as long.
_DATA: Final = object.__basicsize__
_at = ctypes.c_uint64.from_address


def _is_known() -> bool:
    """Whether this numpy and Python are as described."""
    room = np.zeros((4, 8), np.uint16)
    return all(_at(id(array) + _DATA).value == array.ctypes.data for array in (room, room[1:, 3:]))


def _fast_address(array: NDArray[Any]) -> int:
    return _at(id(array) + _DATA).value


def _usual_address(array: NDArray[Any]) -> int:
    return array.ctypes.data


# The address of an array's first sample.
address_of: Final = _fast_address if _is_known() else _usual_address

"""Starts a card in a thread of its own, beside the imports of a command and the opening of its files.

Starting CUDA takes as long as all imports together, and most of it needs no lock of Python's. Whoever opens
the card later waits for what is left, and meets the same failure, if there is one.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from acuity.devices.cuda.bindings import is_installed, load_bindings
from acuity.devices.cuda.pinned_room import ROOM
from acuity.devices.cuda.traces import has_traces
from acuity.devices.device import WORKER_VARIABLE

if TYPE_CHECKING:
    import ctypes

NAME: Final = "acuity-early-start"  # of the thread

_DRIVER: Final = "libcuda.so.1"
_PORTABLE: Final = 1  # page-locked memory that counts as such for every card
_LOCKED: Final = 128 << 20  # bytes that are page-locked: the pictures under way of 1080p take as many


def begin(number: int | None = None) -> threading.Thread | None:
    """Begin to start the card of that number, or the one that is taken where none is named.

    Returns at once: the thread, or None if there is no sign of a card or of CuPy.
    """
    if not has_traces() or not is_installed():
        return None
    thread = threading.Thread(target=_start, args=(number,), name=NAME, daemon=True)
    thread.start()
    return thread


def _start(number: int | None) -> None:
    locking = None
    with suppress(Exception):  # whoever opens the card meets it too, and tells it
        if (started := _start_context(number)) is not None:
            locking = threading.Thread(target=_lock_memory, args=started, name=f"{NAME}-memory", daemon=True)
            locking.start()
    with suppress(Exception):
        load_bindings()  # beside the import of numpy, which what follows waits for
        from acuity.devices.cuda.cards import CARDS

        CARDS.prepare(number)
    if locking is not None:
        locking.join()


def _start_context(number: int | None) -> tuple[ctypes.CDLL, ctypes.c_void_p] | None:
    """Start the context by the driver's own functions: CuPy's bindings keep Python's lock meanwhile.

    Returns the driver and the context.
    """
    import ctypes

    if number is None:
        if WORKER_VARIABLE in os.environ:
            return None  # the card is chosen later, among several
        number = 0
    driver = ctypes.CDLL(_DRIVER)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), number):
        return None
    if driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device):
        return None
    return driver, context


def _lock_memory(driver: ctypes.CDLL, context: ctypes.c_void_p) -> None:
    """Have page-locked memory for the first pictures, without Python's lock too."""
    import ctypes

    address = ctypes.c_void_p()
    if driver.cuCtxSetCurrent(context):
        return
    if (
        not driver.cuMemHostAlloc(ctypes.byref(address), ctypes.c_size_t(_LOCKED), _PORTABLE)
        and address.value
    ):
        ROOM.add(address.value, _LOCKED)

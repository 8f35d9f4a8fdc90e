"""Starts a card in a thread of its own, beside the imports of a command and the opening of its files.

Starting CUDA takes as long as all imports together, and most of it needs no lock of Python's. Whoever opens
the card later waits for what is left, and meets the same failure, if there is one.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Final

from acuity.devices.cuda.bindings import is_installed, load_bindings
from acuity.devices.cuda.traces import has_traces
from acuity.devices.device import WORKER_VARIABLE

_DRIVER: Final = "libcuda.so.1"


def begin(number: int | None = None) -> threading.Thread | None:
    """Begin to start the card of that number, or the one that is taken where none is named.

    Returns at once: the thread, or None if there is no sign of a card or of CuPy.
    """
    if not has_traces() or not is_installed():
        return None
    thread = threading.Thread(target=_start, args=(number,), name="acuity-early-start", daemon=True)
    thread.start()
    return thread


def _start(number: int | None) -> None:
    with suppress(Exception):  # whoever opens the card meets it too, and tells it
        _start_context(number)
    with suppress(Exception):
        load_bindings()  # beside the import of numpy, which what follows waits for
        from acuity.devices.cuda.cards import CARDS

        CARDS.prepare(number)


def _start_context(number: int | None) -> None:
    """Start the context by the driver's own functions: CuPy's bindings keep Python's lock meanwhile."""
    import ctypes

    if number is None:
        if WORKER_VARIABLE in os.environ:
            return  # the card is chosen later, among several
        number = 0
    driver = ctypes.CDLL(_DRIVER)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), number):
        return
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)

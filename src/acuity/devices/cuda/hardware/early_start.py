"""Starts a card in a thread of its own, beside the imports of a command and the opening of its files.

Starting CUDA takes as long as all imports together, and most of it needs no lock of Python's. Whoever opens
the card later waits for what is left, and meets the same failure, if there is one.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from acuity.devices.cuda.hardware.bindings import is_installed, load_bindings
from acuity.devices.cuda.hardware.driver import has_traces
from acuity.devices.cuda.hardware.pinned_room import ROOM
from acuity.devices.device import WORKER_VARIABLE

if TYPE_CHECKING:
    from acuity.devices.cuda.hardware.driver import LoadedDriver

NAME: Final = "acuity-early-start"  # of the thread

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
        from acuity.devices.cuda.hardware.cards import CARDS

        CARDS.prepare(number)
    if locking is not None:
        locking.join()


def _start_context(number: int | None) -> tuple[LoadedDriver, int] | None:
    """Start the context at once: what else a card needs is behind the import of numpy.

    Returns the driver and the context.
    """
    from acuity.devices.cuda.hardware.driver import LoadedDriver

    if number is None:
        if WORKER_VARIABLE in os.environ:
            return None  # the card is chosen later, among several
        number = 0
    driver = LoadedDriver()
    return driver, driver.start(number)


def _lock_memory(driver: LoadedDriver, context: int) -> None:
    """Have page-locked memory for the first pictures, without Python's lock too."""
    with suppress(Exception):
        driver.ctxSetCurrent(context)
        ROOM.add(driver.memHostAlloc(_LOCKED), _LOCKED)

"""Starts a card in a thread of its own, beside the imports of a command and the opening of its files.

Starting CUDA takes as long as all imports together, and most of it needs no lock of Python's. Code that
opens the card later waits for what is left, and meets the same failure, if there is one.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Final

from acuity.devices import signs
from acuity.devices.cuda.hardware.bindings import load_bindings
from acuity.devices.cuda.hardware.driver import LoadedDriver
from acuity.devices.device import WORKER_VARIABLE

NAME: Final = "acuity-early-start"  # of the thread


def begin(number: int | None = None) -> threading.Thread | None:
    """Begin to start the card of that number, or the one that is taken where none is named.

    Returns at once: the thread, or None if there is no sign of a card or of CuPy.
    """
    if not signs.has_traces() or not signs.is_installed():
        return None
    thread = threading.Thread(target=_start, args=(number,), name=NAME, daemon=True)
    thread.start()
    return thread


def _start(number: int | None) -> None:
    with suppress(Exception):  # the code that opens the card meets and reports it too
        # Without Python's lock, beside the import of numpy that the rest waits for. Of several processes each
        # chooses its card later.
        if number is not None or WORKER_VARIABLE not in os.environ:
            LoadedDriver().start(number or 0)
    with suppress(Exception):
        load_bindings()
        from acuity.devices.cuda.hardware.cards import CARDS

        CARDS.prepare(number)

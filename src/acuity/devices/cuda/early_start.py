"""Starts a card in a thread of its own, beside the imports of a command and the opening of its files.

Starting CUDA takes as long as all imports together, and needs Python's lock for none of it. Whoever opens
the card later waits for what is left, and meets the same failure, if there is one.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from acuity.devices.cuda.bindings import Bindings, is_installed, load_bindings
from acuity.devices.cuda.traces import has_traces
from acuity.devices.device import WORKER_VARIABLE


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
        _start_context(load_bindings(), number)
        from acuity.devices.cuda.cards import CARDS

        CARDS.prepare(number)


def _start_context(bindings: Bindings, number: int | None) -> None:
    """Start the card's context at once: what else a card needs is behind the import of numpy."""
    if number is None and WORKER_VARIABLE not in os.environ:
        number = 0
    if number is not None:
        bindings.runtime.setDevice(number)  # of this thread, which ends

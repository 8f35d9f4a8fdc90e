"""A worker's side of its life: it takes orders from the server and is gone, children too, when the server is.

A server that was killed with SIGKILL can clean up nothing, so each worker watches for itself. Two things tell
it: the end of its control channel, and the signal that Linux sends when the parent dies (in case some other
process still holds the server's end of the channel). A thread of its own waits for either, since the main
thread is deep in somebody's video.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Final, NoReturn

from acuity.jobs.wire import Decoder, Frame, WireError

_PR_SET_PDEATHSIG: Final = 1
_READ: Final = 256 << 10


def follow(channel: socket.socket, receive: Callable[[Frame], None]) -> None:
    """Hand every frame from the server to `receive`, on a thread; when the server is gone, be gone.

    Must be called on the main thread, before anything that takes long.
    """
    wakeup, wake = os.pipe()
    os.set_blocking(wake, False)
    # The C part of a signal's handler writes to `wake` at once, also while the main thread runs native code.
    signal.signal(signal.SIGTERM, _noted)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    thread = threading.Thread(target=_watch, args=(channel, wakeup, receive), name="lifeline", daemon=True)
    thread.start()


def end_group() -> NoReturn:
    """End this process and all that it has started."""
    if os.getpgrp() == os.getpid():  # not somebody else's group, where a worker was started by hand
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _noted(_number: int, _frame: object) -> None:
    """Only so that the signal does not end this process before its children."""


def _watch(channel: socket.socket, wakeup: int, receive: Callable[[Frame], None]) -> None:
    try:
        decoder = Decoder()
        poll = select.poll()
        poll.register(channel, select.POLLIN)
        poll.register(wakeup, select.POLLIN)
        while wakeup not in {fd for fd, _ in poll.poll()}:
            data = channel.recv(_READ)
            if not data:
                break
            for frame in decoder.feed(data):
                receive(frame)
    except (OSError, WireError, MemoryError) as error:
        print(f"worker: its control channel is no use any more: {error}", file=sys.stderr, flush=True)
    finally:
        end_group()

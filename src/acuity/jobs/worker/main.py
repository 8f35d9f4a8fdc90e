"""A worker process: `python -m acuity.jobs.worker.main FD`, where FD is its control channel.

It does one job after another until the server ends it. What tasks print goes to the server as the tail of
an error, never to the server's own output. It runs with less priority than the server.

A worker ends when its server does, with its children. A server that was killed with SIGKILL can clean up
nothing, so a thread of the worker waits for two signs of it: the end of the control channel, and the signal
that Linux sends when the parent dies (another process may still hold the server's end of the channel).
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import os
import queue
import resource
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from acuity.errors import AcuityError, Remedy
from acuity.jobs.tasks import TASKS, load_task
from acuity.jobs.worker.reporting import Reporter
from acuity.jobs.worker.wire import LIMITS, Kind, Message, MessageDecoder, WireError, encode, wrap
from acuity.text import one_line

_LONGEST_TEXT: Final = 8 << 10  # characters of an error or a traceback

# Made beforehand: when memory has run out there is none to make it with.
_OUT_OF_MEMORY: Final = encode(Kind.FAILURE, {"kind": "memory", "sentence": [], "trace": ""})


class _Channel:
    """Frames to the server, from any thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, message: bytes) -> None:
        try:
            with self._lock:
                self._connection.sendall(message)
        except OSError:
            end_group()  # the server is gone


def main(descriptor: int) -> NoReturn:
    """Work until the server is gone."""
    connection = socket.socket(fileno=descriptor)
    connection.set_inheritable(False)
    orders: queue.SimpleQueue[Message] = queue.SimpleQueue()
    follow(connection, orders.put)
    faulthandler.enable()
    channel = _Channel(connection)
    setup = orders.get().value()
    step_back(setup["nice"], setup["memory"])
    table: Mapping[str, str] = {**setup["tasks"], **TASKS}
    if setup["roots"]:
        _keep_to(setup["roots"])
    _warm_up(setup["warm"])
    channel.send(encode(Kind.READY, {}))
    while True:
        order = orders.get().value()
        channel.send(encode(Kind.STARTED, {}))
        channel.send(_work(order, table, channel.send))


def _keep_to(roots: list[str]) -> None:
    """Open no file outside these folders from now on, whatever a video or a model names."""
    from acuity.access.paths import AllowedPaths, guard_for
    from acuity.video.local_file import restrict

    restrict(guard_for(AllowedPaths([Path(root) for root in roots], resolved=True)))


def _warm_up(modules: list[str]) -> None:
    """Import what scoring needs before somebody waits for it. What fails here fails again in its job."""
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)


def _work(order: dict[str, Any], table: Mapping[str, str], send: Callable[[bytes], None]) -> bytes:
    """Do a job; the message that answers it."""
    try:
        with Reporter(send) as report:  # all progress is out before the answer
            document = load_task(order["task"], table)(order["payload"], report)
        return wrap(Kind.RESULT, _encode(document))
    except MemoryError:
        return _OUT_OF_MEMORY
    except AcuityError as error:
        return _failure("failed", error.args)
    except WireError:
        most = LIMITS[Kind.RESULT] >> 20
        return _failure(
            "failed", [f"the result is larger than {most} MB, the most a job may bring; ask for less of it"]
        )
    except BaseException as error:  # a task may not end the worker, not even with SystemExit
        return _failure("broken", [f"{type(error).__name__}: {error}"], traceback.format_exc())


def _encode(document: dict[str, Any]) -> bytes:
    if not isinstance(document, dict):
        raise TypeError(f"a task that returns {type(document).__name__}, no document")
    try:
        return json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError):  # numbers that aren't finite, numpy's types, names that aren't UTF-8
        from acuity.report.plain import plain

        text = json.dumps(plain(document), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode()


def _failure(kind: str, pieces: Iterable[object], trace: str = "") -> bytes:
    """The message for a failure; `pieces` are those of an AcuityError, text and remedies."""
    sentence = [
        piece if isinstance(piece, Remedy) else one_line(str(piece))[:_LONGEST_TEXT] for piece in pieces
    ]
    return encode(Kind.FAILURE, {"kind": kind, "sentence": sentence, "trace": trace[-_LONGEST_TEXT:]})


_PR_SET_PDEATHSIG: Final = 1
_READ: Final = 256 << 10


def follow(channel: socket.socket, receive: Callable[[Message], None]) -> None:
    """Hand every message from the server to `receive`, on a thread; when the server is gone, be gone.

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


def _watch(channel: socket.socket, wakeup: int, receive: Callable[[Message], None]) -> None:
    try:
        decoder = MessageDecoder()
        poll = select.poll()
        poll.register(channel, select.POLLIN)
        poll.register(wakeup, select.POLLIN)
        while wakeup not in {fd for fd, _ in poll.poll()}:
            data = channel.recv(_READ)
            if not data:
                break
            for message in decoder.feed(data):
                receive(message)
    except (OSError, WireError, MemoryError) as error:
        print(f"worker: its control channel is no use any more: {error}", file=sys.stderr, flush=True)
    finally:
        end_group()


_AUTOGROUP: Final = Path("/proc/self/autogroup")
_OOM: Final = Path("/proc/self/oom_score_adj")
_OOM_STEP: Final = 500  # of 1000: half of all memory counts as if it were the worker's


def step_back(nice: int, memory: int | None) -> None:
    """Yield to the server: processor time, memory, and who goes first when memory runs out."""
    with suppress(OSError):
        os.nice(nice)
    with suppress(OSError):
        # A session of its own is a scheduling group of its own, within which alone nice would count.
        _AUTOGROUP.write_text(str(nice))
    with suppress(OSError, ValueError):
        _OOM.write_text(str(min(1000, int(_OOM.read_text()) + _OOM_STEP)))
    if memory is not None:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        allowed = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.setrlimit(resource.RLIMIT_AS, (allowed, most))


if __name__ == "__main__":
    main(int(sys.argv[1]))

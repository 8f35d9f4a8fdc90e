"""A worker process: `python -m acuity.jobs.worker.main FD`, where FD is its control channel.

It runs one job after another until the server ends it. What tasks print goes to the server, which quotes it
in errors; it never goes to the server's own output. A worker has less priority than the server.

A worker and its children end when the server ends, also one that was killed with SIGKILL and can't clean up.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import math
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from acuity.child_process import end_with
from acuity.devices import are_spent
from acuity.errors import AcuityError, Remedy
from acuity.jobs.tasks import TASKS, load_task
from acuity.jobs.worker.wire import LIMITS, Kind, Message, MessageDecoder, WireError, encode, wrap
from acuity.machine_memory import limit_memory
from acuity.text import one_line
from longwire.work import Progress

INTERVAL: Final = 0.1  # seconds between two messages
_LONGEST_MESSAGE: Final = 500


class Reporter:
    """Keeps the newest progress, which a thread sends at intervals. A call from any thread costs one lock.

    The thread sends a progress even if no other follows it.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._newest: Progress | None = None
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._forward, name="progress", daemon=True)

    def __call__(self, progress: Progress) -> None:
        with self._changed:
            self._newest = progress
            self._changed.notify()

    def __enter__(self) -> Reporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        with self._changed:
            self._changed.notify()
        self._thread.join()

    def _forward(self) -> None:
        while not self._closed.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._newest is not None or self._closed.is_set())
            self._flush()
            self._closed.wait(INTERVAL)
        self._flush()

    def _flush(self) -> None:
        with self._changed:
            progress, self._newest = self._newest, None
        if progress is not None and math.isfinite(progress.done):
            self._send(_frame(progress))


def _frame(progress: Progress) -> bytes:
    progress = replace(progress, message=one_line(progress.message[:_LONGEST_MESSAGE]))
    try:
        return encode(Kind.PROGRESS, asdict(progress))
    except WireError:
        # Details that are too long for a message are dropped; the progress itself matters more.
        return encode(Kind.PROGRESS, asdict(replace(progress, details={})))
    except (TypeError, ValueError):  # numpy's types, numbers that aren't finite
        from acuity.report.document import plain

        return encode(Kind.PROGRESS, plain(asdict(progress)))


_LONGEST_TEXT: Final = 8 << 10  # characters of an error or a traceback

# Encoded in advance, because it is needed when memory has run out.
_OUT_OF_MEMORY: Final = encode(Kind.FAILURE, {"kind": "memory", "sentence": [], "trace": ""})


def main(descriptor: int) -> NoReturn:
    """Run jobs until the server ends."""
    connection = socket.socket(fileno=descriptor)
    connection.set_inheritable(False)
    orders: queue.SimpleQueue[Message] = queue.SimpleQueue()
    # Another process may still hold the server's end of the channel, so the server's process is watched, too.
    end_with(os.getppid(), end_group)
    listening = threading.Thread(
        target=_listen, args=(connection, orders.put), name="server watch", daemon=True
    )
    listening.start()
    faulthandler.enable()
    lock = threading.Lock()

    def send(message: bytes) -> None:
        try:
            with lock:  # threads that report progress send, too
                connection.sendall(message)
        except OSError:
            end_group()  # the server has ended

    setup = orders.get().value()
    lower_priority(setup["nice"], setup["memory"])
    table: Mapping[str, str] = {**setup["tasks"], **TASKS}
    if setup["roots"]:
        _restrict_files(setup)
    for module in setup["warm"]:
        with suppress(Exception):  # it fails again in the job that needs it
            importlib.import_module(module)
    send(encode(Kind.READY, {}))
    while True:
        order = orders.get().value()
        send(encode(Kind.STARTED, {}))
        send(_work(order, table, send))
        if are_spent():  # a new process can use the card again
            end_group()


def _restrict_files(setup: Mapping[str, Any]) -> None:
    """From now on refuse to open files outside these folders, whatever a video or a model names."""
    from acuity.access.paths import AllowedPaths, guard_for
    from acuity.report.write import limit_outputs
    from acuity.video.local_file import restrict

    roots, private, writable = ([*map(Path, setup[name])] for name in ("roots", "private", "writable"))
    paths = AllowedPaths(roots, private=private, writable=writable, resolved=True, quota=setup["quota"])
    restrict(guard_for(paths))
    limit_outputs(paths.check_room)


def _work(order: dict[str, Any], table: Mapping[str, str], send: Callable[[bytes], None]) -> bytes:
    """Run a job and return the message that answers it."""
    try:
        with Reporter(send) as report:  # all progress is sent before the answer
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
    written = partial(json.dumps, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    try:
        return written(document).encode()
    except (TypeError, ValueError):  # numbers that aren't finite, numpy's types, names that aren't UTF-8
        from acuity.report.document import plain

        return written(plain(document)).encode()


def _failure(kind: str, pieces: Iterable[object], trace: str = "") -> bytes:
    """The message for a failure; `pieces` are those of an AcuityError, text and remedies."""
    sentence = [
        piece if isinstance(piece, Remedy) else one_line(str(piece))[:_LONGEST_TEXT] for piece in pieces
    ]
    return encode(Kind.FAILURE, {"kind": kind, "sentence": sentence, "trace": trace[-_LONGEST_TEXT:]})


_READ: Final = 256 << 10


def end_group() -> NoReturn:
    """End this process and its children."""
    if os.getpgrp() == os.getpid():  # a worker that was started by hand is in its shell's group
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _listen(channel: socket.socket, receive: Callable[[Message], None]) -> None:
    try:
        decoder = MessageDecoder()
        while data := channel.recv(_READ):
            for message in decoder.feed(data):
                receive(message)
    except (OSError, WireError, MemoryError) as error:
        print(f"worker: the control channel failed: {error}", file=sys.stderr, flush=True)
    finally:
        end_group()


_AUTOGROUP: Final = Path("/proc/self/autogroup")
_OOM: Final = Path("/proc/self/oom_score_adj")
_OOM_STEP: Final = 500  # of 1000: counts as if the worker used half of all memory more


def lower_priority(nice: int, memory: int | None) -> None:
    """Give this process less processor time and memory than the server, and let it be killed first."""
    with suppress(OSError):
        os.nice(nice)
    with suppress(OSError):
        # A new session is a scheduling group of its own, and nice only counts within a group.
        _AUTOGROUP.write_text(str(nice))
    with suppress(OSError, ValueError):
        _OOM.write_text(str(min(1000, int(_OOM.read_text()) + _OOM_STEP)))
    if memory is not None:
        limit_memory(memory)


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""A worker process: `python -m acuity.jobs.worker FD`, where FD is its control channel.

It does one job after another until the server ends it. What tasks print goes to the server as the tail of
an error, never to the server's own output.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from acuity.errors import AcuityError
from acuity.jobs.lifeline import end_group, follow
from acuity.jobs.limits import step_back
from acuity.jobs.reporting import Reporter
from acuity.jobs.tasks import TASKS, load_task
from acuity.jobs.wire import LIMITS, Frame, Kind, WireError, encode, wrap
from acuity.text import one_line

_LONGEST_TEXT: Final = 8 << 10  # characters of an error or a traceback

# Made beforehand: when memory has run out there is none to make it with.
_OUT_OF_MEMORY: Final = encode(Kind.FAILURE, {"kind": "memory", "message": "", "trace": ""})


class _Channel:
    """Frames to the server, from any thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, frame: bytes) -> None:
        try:
            with self._lock:
                self._connection.sendall(frame)
        except OSError:
            end_group()  # the server is gone


def main(descriptor: int) -> NoReturn:
    """Work until the server is gone."""
    connection = socket.socket(fileno=descriptor)
    connection.set_inheritable(False)
    orders: queue.SimpleQueue[Frame] = queue.SimpleQueue()
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
    from acuity.mcp.paths import AllowedPaths, guard_for
    from acuity.video.local_file import restrict

    restrict(guard_for(AllowedPaths([Path(root) for root in roots], resolved=True)))


def _warm_up(modules: list[str]) -> None:
    """Import what scoring needs before somebody waits for it. What fails here fails again in its job."""
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)


def _work(order: dict[str, Any], table: Mapping[str, str], send: Callable[[bytes], None]) -> bytes:
    """Do a job; the frame that answers it."""
    try:
        with Reporter(send) as report:  # all progress is out before the answer
            document = load_task(order["task"], table)(order["payload"], report)
        return wrap(Kind.RESULT, _encode(document))
    except MemoryError:
        return _OUT_OF_MEMORY
    except AcuityError as error:
        return _failure("failed", str(error))
    except WireError:
        most = LIMITS[Kind.RESULT] >> 20
        return _failure(
            "failed", f"the result is larger than {most} MB, the most a job may bring; ask for less of it"
        )
    except BaseException as error:  # a task may not end the worker, not even with SystemExit
        return _failure("broken", f"{type(error).__name__}: {error}", traceback.format_exc())


def _encode(document: dict[str, Any]) -> bytes:
    if not isinstance(document, dict):
        raise TypeError(f"a task that returns {type(document).__name__}, no document")
    try:
        return json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError):  # numbers that aren't finite, numpy's types, names that aren't UTF-8
        from acuity.report.plain import plain

        text = json.dumps(plain(document), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode()


def _failure(kind: str, message: str, trace: str = "") -> bytes:
    return encode(
        Kind.FAILURE,
        {
            "kind": kind,
            "message": one_line(message[:_LONGEST_TEXT])[:_LONGEST_TEXT],
            "trace": trace[-_LONGEST_TEXT:],
        },
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""Sends a worker's progress to the server, at most ten times a second, and always the last one."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Final

from acuity.jobs.job import Progress
from acuity.jobs.worker.wire import Kind, WireError, encode
from acuity.text import one_line

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
        """Send what is still unsent, and stop."""
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

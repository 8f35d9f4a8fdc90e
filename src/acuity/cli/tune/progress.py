"""Shows the progress of tuning: a line that is redrawn on a terminal, and a line now and then in logs."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

from acuity.cli.style import Style
from acuity.tune.progress import Listener, Progress

_REDRAWN: Final = 0.1  # seconds
_LOGGED: Final = 5.0


class TuneProgress:
    """Writes progress to a stream; may be called from any thread."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._style = Style(stream)
        self._now = now
        self._every = _REDRAWN if self._style.terminal else _LOGGED
        self._drawn = now() - self._every  # the first is shown at once
        self._lock = threading.Lock()
        self._open = False  # whether a line is unfinished
        self._encodes = 0

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            finished = progress.encodes_done > self._encodes
            if not finished and self._now() - self._drawn < self._every:
                return
            self._encodes = progress.encodes_done
            self._drawn = self._now()
            self._write(progress)

    def _write(self, progress: Progress) -> None:
        line = progress.line()
        if self._style.terminal:
            while len(line) >= self._style.columns and ", " in line:
                line = line.rpartition(", ")[0]  # drop whole parts: half a number would mislead
            self._stream.write(f"\r{line}\033[K")
        else:
            self._stream.write(f"{line}\n")
        self._open = self._style.terminal
        self._stream.flush()

    def done(self) -> None:
        """End the line."""
        with self._lock:
            if self._open:
                self._stream.write("\r\033[K")
                self._stream.flush()
                self._open = False


@contextmanager
def shown(stream: TextIO, quiet: bool) -> Iterator[Listener | None]:
    """The listener that shows progress; SIGTERM ends the block as Ctrl-C does."""
    display = None if quiet else TuneProgress(stream)
    before: Any = None
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield display
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
        if display is not None:
            display.done()

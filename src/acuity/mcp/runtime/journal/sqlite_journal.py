"""A journal in an SQLite file: changes wait in memory until a thread writes them, many in one transaction.

What was written outlives the process, even one that is killed. While the file can't be written, the server
goes on from memory: changes wait for the next try, and callbacks of `when_stored` come all the same.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from acuity.mcp.runtime.counters import RuntimeCounters
from acuity.mcp.runtime.journal.journal import EventRecord, SessionRecord, StoredSession, StreamRecord
from acuity.mcp.runtime.journal.journal_file import FAILURES
from acuity.mcp.runtime.journal.session_changes import SessionChanges, SessionRow

logger: Final = logging.getLogger(__name__)

_LINGER: Final = 5.0  # seconds until a time of last use is written, if nothing else is
_RETRY: Final = 1.0  # seconds between tries while the file can't be written
_PATIENCE: Final = 2.0  # seconds that a callback waits for a disk that doesn't answer
_END: Final = 5.0  # seconds for the last changes when the server ends
_SILENCE: Final = 60.0  # seconds between warnings
_MOST_BYTES: Final = 64 << 20  # of changes that wait to be written


class SessionFile(Protocol):
    """The file that a journal writes; journal_file.py has the real one."""

    found: Sequence[SessionRecord]

    @property
    def path(self) -> Path: ...

    def write(self, changes: Mapping[str, SessionChanges]) -> None: ...

    def load(self, session_id: str) -> StoredSession | None: ...

    def sentence(self, error: Exception) -> str: ...

    def close(self) -> None: ...


class SqliteJournal:
    """A journal for one event loop, which calls all of its methods."""

    durable = True

    def __init__(
        self,
        file: SessionFile,
        counters: RuntimeCounters,
        *,
        max_bytes: int = _MOST_BYTES,
        retry: float = _RETRY,
        patience: float = _PATIENCE,
    ) -> None:
        """Begin to write, in a thread of its own. Called on the running loop."""
        self._file = file
        self._counters = counters
        self._max_bytes = max_bytes
        self._retry = retry
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        # The loop's alone.
        self._kept = {record.id for record in file.found}  # sessions that are in the file, or will be
        self._given_up: set[str] = set()  # sessions that are in memory alone
        self._callbacks: deque[tuple[int, Callable[[], None]]] = deque()  # with the last change before each
        self._settled = 0  # the last change that was written, or that a try to write has failed for
        self._failing = False
        self._warned = -_SILENCE
        self._watch: asyncio.TimerHandle | None = None
        # Shared with the thread, under the condition's lock.
        self._changed = threading.Condition()
        self._changes: dict[str, SessionChanges] = {}
        self._bytes = 0  # of the changes, and of those that are being written
        self._last = 0  # the number of the last change
        self._urgent = False  # there are changes that somebody may wait for
        self._closing = False
        self._thread = threading.Thread(target=self._write, name="session journal", daemon=True)
        self._thread.start()

    # ---- changes ------------------------------------------------------------------------------------

    def save(self, record: SessionRecord) -> None:
        if record.id in self._given_up:
            return
        row = SessionRow.of(record)
        self._kept.add(record.id)
        self._change(record.id, lambda changes: changes.save(row))

    def touch(self, session_id: str, last_seen: float) -> None:
        def change(changes: SessionChanges) -> int:
            changes.last_seen = last_seen
            return 0

        self._change(session_id, change, urgent=False)

    def forget(self, session_id: str) -> None:
        self._given_up.discard(session_id)
        if session_id in self._kept:
            self._remove(session_id)

    def save_stream(self, session_id: str, stream: StreamRecord) -> None:
        self._change(session_id, lambda changes: changes.save_stream(stream))

    def append(self, session_id: str, event: EventRecord) -> None:
        self._change(session_id, lambda changes: changes.append(event))

    def drop(self, session_id: str, numbers: Iterable[int]) -> None:
        self._change(session_id, lambda changes: sum([changes.drop(number) for number in numbers]))

    def _change(
        self, session_id: str, change: Callable[[SessionChanges], int], *, urgent: bool = True
    ) -> None:
        if session_id not in self._kept:  # it has ended, or the journal has given it up
            return
        with self._changed:
            changes = self._changes.get(session_id)
            if changes is None:
                changes = self._changes[session_id] = SessionChanges()
                self._bytes += changes.size
            self._bytes += change(changes)
            full = self._bytes > self._max_bytes
            self._notify(urgent)
        if full:
            self._give_up(session_id)

    def _remove(self, session_id: str) -> None:
        """Have all that is stored of a session removed; what comes after is ignored."""
        self._kept.discard(session_id)
        with self._changed:
            earlier = self._changes.get(session_id)
            changes = self._changes[session_id] = SessionChanges(forgotten=True)
            self._bytes += changes.size - (0 if earlier is None else earlier.size)
            self._notify(urgent=True)

    def _give_up(self, session_id: str) -> None:
        """Keep a session in memory alone: one with gaps must not be continued after a restart."""
        self._remove(session_id)
        self._given_up.add(session_id)
        self._warn(
            f"the session store '{self._file.path}' can't be written as fast as sessions change: "
            f"session {session_id[:8]} won't outlive a restart"
        )

    def _notify(self, urgent: bool) -> None:
        """Wake the thread, unless it will look anyway. Called with the lock."""
        if urgent:
            self._last += 1
        if urgent > self._urgent or len(self._changes) == 1:
            self._urgent |= urgent
            self._changed.notify()

    # ---- callbacks ----------------------------------------------------------------------------------

    def when_stored(self, callback: Callable[[], None]) -> None:
        if not self._callbacks and (self._failing or self._settled >= self._last):
            callback()
            return
        self._callbacks.append((self._last, callback))
        if self._watch is None:
            self._watch = self._loop.call_later(self._patience, self._look, self._settled)

    def _written(self, last: int, error: Exception | None) -> None:
        """Hear from the thread that it has written all changes up to this one, or failed to."""
        self._settled = max(self._settled, last)
        if error is not None:
            self._failing = True
            reason = self._file.sentence(error)
            self._warn(f"the session store {reason}; until then, sessions would not outlive a restart")
        elif self._failing:
            self._failing = False
            self._warned = -_SILENCE
            logger.info("the session store '%s' is written again", self._file.path)
        self._call_back(self._last if self._failing else last)

    def _look(self, settled: int) -> None:
        """Go on without a disk that has not answered for a while."""
        self._watch = None
        if not self._callbacks:
            return
        if self._settled == settled:
            self._failing = True
            self._warn(
                f"the session store '{self._file.path}' has not been written for {self._patience:g} s: "
                "until it is, sessions would not outlive a restart"
            )
            self._call_back(self._last)
        else:
            self._watch = self._loop.call_later(self._patience, self._look, self._settled)

    def _call_back(self, last: int) -> None:
        while self._callbacks and self._callbacks[0][0] <= last:
            _, callback = self._callbacks.popleft()
            try:
                callback()
            except Exception:
                logger.exception("a callback of the session store failed")

    def _warn(self, sentence: str) -> None:
        self._counters.journal_failures += 1
        if self._loop.time() - self._warned >= _SILENCE:
            self._warned = self._loop.time()
            logger.warning("%s", sentence, extra={"event": "journal_failure"})

    # ---- reading ------------------------------------------------------------------------------------

    def stored_sessions(self) -> Iterable[SessionRecord]:
        found, self._file.found = self._file.found, ()  # there may be thousands, and this is asked for once
        return found

    def load(self, session_id: str) -> StoredSession | None:
        if session_id not in self._kept:
            return None
        try:
            return self._file.load(session_id)
        except FAILURES as error:
            self._warn(f"session {session_id[:8]} can't be read: the store {self._file.sentence(error)}")
            return None

    def close(self) -> None:
        """Write what waits, and close the file. May be called again."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(_END)
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._call_back(self._last)
        if self._thread.is_alive():  # it holds the file; the process ends soon
            logger.warning("the session store '%s' doesn't answer: last changes are lost", self._file.path)
        else:
            self._file.close()

    # ---- the thread ---------------------------------------------------------------------------------

    def _write(self) -> None:
        """Write all that waits, again and again."""
        closing = False
        while not closing:
            batch, last, closing = self._take()
            error = self._try(batch)
            with self._changed:
                if error is None:
                    self._bytes -= sum([changes.size for changes in batch.values()])
                else:
                    self._put_back(batch)
            with suppress(RuntimeError):  # the loop was closed without closing the journal
                self._loop.call_soon_threadsafe(self._written, last, error)
            if error is not None:
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, self._retry)

    def _take(self) -> tuple[dict[str, SessionChanges], int, bool]:
        """Wait for changes, and take all of them."""
        with self._changed:
            due: float | None = None
            while not self._urgent and not self._closing:
                if self._changes and due is None:
                    due = time.monotonic() + _LINGER
                if not self._changed.wait(None if due is None else due - time.monotonic()):
                    break
            batch, self._changes = self._changes, {}
            self._urgent = False
            return batch, self._last, self._closing

    def _try(self, batch: Mapping[str, SessionChanges]) -> Exception | None:
        try:
            if batch:
                self._file.write(batch)
        except FAILURES as error:
            return error
        return None

    def _put_back(self, batch: dict[str, SessionChanges]) -> None:
        """Keep changes that could not be written for the next try. Called with the lock."""
        for session_id, later in self._changes.items():
            earlier = batch.setdefault(session_id, later)
            if earlier is not later:
                earlier.absorb(later)
        self._changes = batch
        self._bytes = sum([changes.size for changes in batch.values()])
        self._urgent = bool(batch)

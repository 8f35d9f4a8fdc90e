"""A journal whose changes wait in memory until a thread writes them to a store, many in one go.

What was written outlives the process, even one that is killed. While the store can't be written, the server
goes on from memory: changes wait for the next try, and callbacks of `when_stored` come all the same.

A store may be shared by several servers (runtime/cluster). Then each session has a fence, a number that rises
whenever another server takes it over. The store refuses changes that were made under an older one.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, Protocol, TypeAlias

from acuity.mcp.runtime.counters import RuntimeCounters
from acuity.mcp.runtime.journal.journal import EventRecord, SessionRecord, StoredSession, StreamRecord
from acuity.mcp.runtime.journal.session_changes import FIRST_FENCE, SessionChanges, SessionRow
from acuity.text import shown_id

logger: Final = logging.getLogger(__name__)

_LINGER: Final = 5.0  # seconds until a time of last use is written, if nothing else is
_RETRY: Final = 1.0  # seconds between tries while the store can't be written
_PATIENCE: Final = 2.0  # seconds that a callback waits for a store that doesn't answer
_END: Final = 5.0  # seconds for the last changes when the server ends
_SILENCE: Final = 60.0  # seconds between warnings
_MOST_BYTES: Final = 64 << 20  # of changes that wait to be written


# Why a shared store did not take changes: another server has the session, or there is nothing to change.
Refusal: TypeAlias = Literal["moved", "missing"]


class SessionStore(Protocol):
    """What a journal writes to: journal_file.py is an SQLite file, cluster/session_store.py is Redis."""

    found: Sequence[SessionRecord]
    failures: tuple[type[Exception], ...]  # that its methods raise where it can't be used

    def __str__(self) -> str:
        """Its place, as operators know it."""
        ...

    def write(self, changes: Mapping[str, SessionChanges]) -> Mapping[str, Refusal]:
        """Store changes; returns the sessions whose changes were refused. Called by one thread."""
        ...

    def load(self, session_id: str) -> StoredSession | None: ...

    def sentence(self, error: Exception) -> str:
        """What is wrong, and the remedy, after "the session store "."""
        ...

    def close(self) -> None: ...


class BufferedJournal:
    """A journal for one event loop, which calls all of its methods."""

    durable = True

    def __init__(
        self,
        store: SessionStore,
        counters: RuntimeCounters,
        *,
        max_bytes: int = _MOST_BYTES,
        retry: float = _RETRY,
        patience: float = _PATIENCE,
    ) -> None:
        """Begin to write, in a thread of its own. Called on the running loop."""
        self._store = store
        self._counters = counters
        self._max_bytes = max_bytes
        self._retry = retry
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        # Is told of changes that the store refused, before callbacks that wait for them are called.
        self.on_refused: Callable[[str, int, Refusal], None] = _nothing
        # The loop's alone.
        self._kept = {record.id: FIRST_FENCE for record in store.found}  # the fences of sessions in the store
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
        begins = record.id not in self._kept
        self._kept.setdefault(record.id, FIRST_FENCE)
        self._change(record.id, lambda changes: changes.save(row, begins=begins))

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

    # Sessions that servers share.

    def fence_of(self, session_id: str) -> int | None:
        """The fence under which changes of a session are written; None: none are."""
        return self._kept.get(session_id)

    def adopt(self, session_id: str, fence: int) -> None:
        """Write the changes of a session that was another server's."""
        self._given_up.discard(session_id)
        self.let_go(session_id)
        self._kept[session_id] = fence

    def let_go(self, session_id: str) -> None:
        """Write no more changes of a session, which another server has; what is stored stays."""
        self._kept.pop(session_id, None)
        with self._changed:
            waiting = self._changes.pop(session_id, None)
            self._bytes -= 0 if waiting is None else waiting.size

    def replace(self, session: StoredSession) -> None:
        """Store a session as it is now, whatever the store has of it."""
        fence = self._kept.get(session.record.id)
        if fence is not None:
            self._put(session.record.id, SessionChanges.whole(fence, session))

    def _change(
        self, session_id: str, change: Callable[[SessionChanges], int], *, urgent: bool = True
    ) -> None:
        if session_id not in self._kept:  # it has ended, or the journal has given it up
            return
        with self._changed:
            changes = self._changes.get(session_id)
            if changes is None:
                changes = self._changes[session_id] = SessionChanges(self._kept[session_id])
                self._bytes += changes.size
            self._bytes += change(changes)
            full = self._bytes > self._max_bytes
            self._notify(urgent)
        if full:
            self._give_up(session_id)

    def _remove(self, session_id: str) -> None:
        """Have all that is stored of a session removed; what comes after is ignored."""
        fence = self._kept.pop(session_id)
        self._put(session_id, SessionChanges(fence, forgotten=True))

    def _put(self, session_id: str, changes: SessionChanges) -> None:
        """Have changes written in place of all that wait."""
        with self._changed:
            earlier = self._changes.get(session_id)
            self._changes[session_id] = changes
            self._bytes += changes.size - (0 if earlier is None else earlier.size)
            self._notify(urgent=True)

    def _give_up(self, session_id: str) -> None:
        """Keep a session in memory alone: one with gaps must not be continued after a restart."""
        self._remove(session_id)
        self._given_up.add(session_id)
        self._warn(
            f"the session store '{self._store}' can't be written as fast as sessions change: "
            f"session {shown_id(session_id)} won't outlive a restart"
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
            self._look_later()

    def _look_later(self) -> None:
        due = self._loop.time() + self._patience
        self._watch = self._loop.call_at(due, self._look, self._settled, due)

    def _refuse(self, session_id: str, fence: int, refusal: Refusal) -> None:
        if self._kept.get(session_id) != fence:  # another is in force by now
            return
        try:
            self.on_refused(session_id, fence, refusal)
        except Exception:
            logger.exception("changes that the session store refused could not be handled")

    def _written(
        self, last: int, error: Exception | None, refused: Mapping[str, tuple[int, Refusal]]
    ) -> None:
        """Hear from the thread that it has written all changes up to this one, or failed to."""
        self._settled = max(self._settled, last)
        for session_id, (fence, refusal) in refused.items():
            self._refuse(session_id, fence, refusal)
        if error is not None:
            self._failing = True
            reason = self._store.sentence(error)
            self._warn(f"the session store {reason}; until then, sessions would not outlive a restart")
        elif self._failing:
            self._failing = False
            self._warned = -_SILENCE
            logger.info("the session store '%s' is written again", self._store)
        self._call_back(self._last if self._failing else last)

    def _look(self, settled: int, due: float) -> None:
        """Go on without a store that has not answered for a while."""
        self._watch = None
        if not self._callbacks:
            return
        # A process that was paused has not waited: others may have its sessions by now.
        paused = self._loop.time() - due > self._patience / 4
        if self._settled == settled and not paused:
            self._failing = True
            self._warn(
                f"the session store '{self._store}' has not been written for {self._patience:g} s: "
                "until it is, sessions would not outlive a restart"
            )
            self._call_back(self._last)
        else:
            self._look_later()

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
        found, self._store.found = self._store.found, ()  # there may be thousands, and this is asked for once
        return found

    def load(self, session_id: str) -> StoredSession | None:
        if session_id not in self._kept:
            return None
        try:
            return self._store.load(session_id)
        except self._store.failures as error:
            self._warn(
                f"session {shown_id(session_id)} can't be read: the store {self._store.sentence(error)}"
            )
            return None

    def close(self) -> None:
        """Write what waits, and close the store. May be called again."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(_END)
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._call_back(self._last)
        if self._thread.is_alive():  # it holds the store; the process ends soon
            logger.warning("the session store '%s' doesn't answer: last changes are lost", self._store)
        else:
            self._store.close()

    # ---- the thread ---------------------------------------------------------------------------------

    def _write(self) -> None:
        """Write all that waits, again and again."""
        closing = False
        while not closing:
            batch, last, closing = self._take()
            error, refused = self._try(batch)
            with self._changed:
                if error is None:
                    self._bytes -= sum([changes.size for changes in batch.values()])
                else:
                    self._put_back(batch)
            with suppress(RuntimeError):  # the loop was closed without closing the journal
                self._loop.call_soon_threadsafe(self._written, last, error, refused)
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

    def _try(
        self, batch: Mapping[str, SessionChanges]
    ) -> tuple[Exception | None, Mapping[str, tuple[int, Refusal]]]:
        refused: Mapping[str, Refusal] = {}
        try:
            if batch:
                refused = self._store.write(batch)
        except self._store.failures as error:
            return error, {}
        return None, {session_id: (batch[session_id].fence, why) for session_id, why in refused.items()}

    def _put_back(self, batch: dict[str, SessionChanges]) -> None:
        """Keep changes that could not be written for the next try. Called with the lock."""
        for session_id, later in self._changes.items():
            earlier = batch.setdefault(session_id, later)
            if earlier.fence != later.fence:  # it was another server's meanwhile
                batch[session_id] = later
            elif earlier is not later:
                earlier.absorb(later)
        self._changes = batch
        self._bytes = sum([changes.size for changes in batch.values()])
        self._urgent = bool(batch)


def _nothing(session_id: str, fence: int, refusal: Refusal) -> None:
    pass

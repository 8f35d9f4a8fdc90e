"""A journal whose changes wait in memory until a thread writes them to a store, many in one go.

What was written outlives the process, even one that is killed. If changes come faster than the store takes
them, their senders wait (`is_behind`). While it can't be written at all, the server goes on from memory:
changes wait for the next try, and callbacks of `when_stored` come all the same. If more wait than there is
room for, sessions are in memory alone. They are stored whole as soon as the store takes them.

A store may be shared by several servers (cluster/). Then each session has a fence, a number that rises
whenever another server takes it over. The store refuses changes that were made under an older one.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, Literal, Protocol, TypeAlias

from longwire.counters import RuntimeCounters
from longwire.journal.journal import EventRecord, Finder, Journal, SessionRecord, StoredSession, StreamRecord
from longwire.journal.session_changes import FIRST_FENCE, Change, SessionChanges, WaitingChanges
from longwire.text import shown_id

logger: Final = logging.getLogger(__name__)

_RETRY: Final = 1.0  # seconds between tries while the store can't be written
_PATIENCE: Final = 2.0  # seconds that a callback waits for a store that doesn't answer
_END: Final = 5.0  # seconds for the last changes when the server ends
_SILENCE: Final = 60.0  # seconds between warnings
_GATHER: Final = 1.0  # seconds in which sessions that can't be stored are counted before the first warning
_MOST_BYTES: Final = 64 << 20  # of changes that wait to be written
_WHOLE_AT_ONCE: Final = 20  # sessions that are stored whole in one turn of the loop: each may have megabytes
_LONGEST: Final = 20.0  # seconds that the end of a server waits for a store that makes progress


# Why a shared store did not take changes: another server has the session, or there is nothing to change.
Refusal: TypeAlias = Literal["moved", "missing"]
_Refused: TypeAlias = Mapping[str, tuple[int, Refusal]]  # by session, with the fence


class SessionStore(Protocol):
    """The store of a journal: journal_file.py is an SQLite file, cluster/session_store.py is Redis."""

    found: Sequence[SessionRecord]
    failures: tuple[type[Exception], ...]  # that its methods raise where it can't be used

    def __str__(self) -> str:
        """Its place, as operators know it."""

    def write(self, changes: Mapping[str, SessionChanges]) -> Mapping[str, Refusal]:
        """Store changes; returns the sessions whose changes were refused. Called by one thread."""

    def load(self, session_id: str) -> StoredSession | None: ...

    def sentence(self, error: Exception) -> str:
        """The rest of a sentence after "the session store ": what is wrong, and the remedy."""

    def close(self) -> None: ...


class BufferedJournal(Journal):
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
        # Called with changes that the store refused, before the callbacks that wait for these changes.
        self.on_refused: Callable[[str, int, Refusal], None] = lambda *_: None
        # For the loop's thread alone.
        self._kept = {record.id: FIRST_FENCE for record in store.found}  # the fences of sessions in the store
        self._given_up: dict[str, int] = {}  # the fences of sessions that are in memory alone
        self._find: Finder = lambda _: None
        self._callbacks: deque[tuple[int, Callable[[], None]]] = deque()  # with the last change before each
        self._settled = 0  # the last change that was written, or that a try to write has failed for
        self._failing = False
        self._warned = -_SILENCE
        self._watch: asyncio.TimerHandle | None = None
        self._telling: asyncio.TimerHandle | None = None
        self._changes = WaitingChanges()  # shared with the thread
        self._thread = threading.Thread(target=self._write, name="session journal", daemon=True)
        self._thread.start()

    # ---- changes ------------------------------------------------------------------------------------

    def save(self, record: SessionRecord) -> None:
        if record.id in self._given_up:
            return
        begins = record.id not in self._kept
        self._kept.setdefault(record.id, FIRST_FENCE)
        self._change(record.id, lambda changes: changes.save(record, begins=begins))

    def touch(self, session_id: str, last_seen: float) -> None:
        self._change(session_id, lambda changes: changes.touch(last_seen), urgent=False)

    def forget(self, session_id: str) -> None:
        fence = self._kept.pop(session_id, None) or self._given_up.pop(session_id, None)
        if fence is not None:
            self._changes.put(session_id, SessionChanges(fence, forgotten=True))

    def save_stream(self, session_id: str, stream: StreamRecord) -> None:
        self._change(session_id, lambda changes: changes.save_stream(stream))

    def append(self, session_id: str, event: EventRecord) -> None:
        self._change(session_id, lambda changes: changes.append(event))

    def drop(self, session_id: str, numbers: Iterable[int]) -> None:
        self._change(session_id, lambda changes: sum([changes.drop(number) for number in numbers]))

    # Sessions that servers share.

    def fence_of(self, session_id: str) -> int | None:
        """The fence under which changes of a session are written; None: none are."""
        return self._kept.get(session_id) or self._given_up.get(session_id)

    def adopt(self, session_id: str, fence: int) -> None:
        """Write the changes of a session that was another server's."""
        self.let_go(session_id)
        self._kept[session_id] = fence

    def let_go(self, session_id: str) -> None:
        """Write no more changes of a session, which another server has; what is stored stays."""
        self._kept.pop(session_id, None)
        self._given_up.pop(session_id, None)
        self._changes.remove(session_id)

    def replace(self, session: StoredSession) -> None:
        """Store a session as it is now, whatever the store has of it."""
        session_id = session.record.id
        fence = self.fence_of(session_id)
        if fence is not None:
            self._given_up.pop(session_id, None)
            self._kept[session_id] = fence
            self._changes.put(session_id, SessionChanges.whole(fence, session))

    def _change(self, session_id: str, change: Change, *, urgent: bool = True) -> None:
        if session_id not in self._kept:  # it has ended, or the journal has given it up
            return
        self._changes.change(session_id, self._kept[session_id], change, urgent=urgent)
        if self._changes.size > self._max_bytes:
            self._give_up(session_id)

    def _give_up(self, session_id: str) -> None:
        """Keep a session in memory alone: one with gaps must not be continued after a restart."""
        self._given_up[session_id] = fence = self._kept.pop(session_id)
        self._changes.put(session_id, SessionChanges(fence, forgotten=True, withheld=True))
        self._counters.journal_failures += 1
        self._tell_later(_GATHER)

    # ---- sessions in memory alone -------------------------------------------------------------------

    @property
    def is_behind(self) -> bool:
        return self._changes.size > self._max_bytes // 4 and not self._failing

    def at_risk(self, session_id: str) -> bool:
        return session_id in self._given_up or (self._failing and session_id in self._changes)

    def follow(self, find: Finder) -> None:
        self._find = find

    def _store_again(self) -> None:
        """Store sessions whole that were in memory alone, as many as there is room for."""
        for session_id in list(islice(self._given_up, _WHOLE_AT_ONCE)):
            if self._changes.size > self._max_bytes // 2:
                return
            session = self._find(session_id)
            if session is None:  # it has stopped with the server
                del self._given_up[session_id]
            else:
                self.replace(session.snapshot())

    def _tell_later(self, seconds: float) -> None:
        if self._telling is None:
            self._telling = self._loop.call_later(seconds, self._tell)

    def _tell(self) -> None:
        """Say how many sessions and messages a restart would cost now, once a minute."""
        self._telling = None
        ids = {*self._given_up, *(self._changes.sessions if self._failing else ())}
        pending = [session.pending for session_id in ids if (session := self._find(session_id)) is not None]
        if not pending:
            return
        sessions, messages = len(pending), sum(pending)
        logger.warning(
            "%d sessions with %d messages are in memory alone, and would not outlive a restart, until the "
            "session store '%s' takes what it is given",
            *(sessions, messages, self._store),
            extra={"event": "sessions_at_risk", "sessions": sessions, "messages": messages},
        )
        self._tell_later(_SILENCE)

    async def flush(self, patience: float) -> bool:
        now = self._loop.time()
        end, quiet, before = now + _LONGEST, now, None
        while self._failing or self._given_up or self._settled < self._changes.last:
            state = self._settled, len(self._given_up)
            if state != before:
                before, quiet = state, now + patience
            if now >= min(end, quiet):
                return False
            done = asyncio.Event()
            timer = self._loop.call_at(min(now + self._retry, quiet), done.set)
            if not self._failing and self._settled < self._changes.last:
                self.when_stored(done.set)
            await done.wait()
            timer.cancel()
            now = self._loop.time()
        return True

    # ---- callbacks ----------------------------------------------------------------------------------

    def when_stored(self, callback: Callable[[], None]) -> None:
        if not self._callbacks and (self._failing or self._settled >= self._changes.last):
            callback()
            return
        self._callbacks.append((self._changes.last, callback))
        if self._watch is None:
            self._look_later()

    def _look_later(self) -> None:
        due = self._loop.time() + self._patience
        self._watch = self._loop.call_at(due, self._look, self._settled, due)

    def _written(self, last: int, error: Exception | None, refused: _Refused) -> None:
        """Handle the thread's report that all changes up to `last` are written, or can't be."""
        self._settled = max(self._settled, last)
        for session_id, (fence, refusal) in refused.items():
            if self._kept.get(session_id) != fence:  # another fence is in force by now
                continue
            try:
                self.on_refused(session_id, fence, refusal)
            except Exception:
                logger.exception("changes that the session store refused could not be handled")
        if error is not None:
            self._failing = True
            reason = self._store.sentence(error)
            self._warn(f"the session store {reason}; until then, sessions would not outlive a restart")
            self._tell_later(_GATHER)
        else:
            if self._failing:
                self._failing, self._warned = False, -_SILENCE
                logger.info("the session store '%s' is written again", self._store)
            self._store_again()
        self._call_back(self._changes.last if self._failing else last)

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
            self._call_back(self._changes.last)
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
            sentence = self._store.sentence(error)
            self._warn(f"session {shown_id(session_id)} can't be read: the store {sentence}")
            return None

    def close(self) -> None:
        """Write what waits, and close the store. May be called again."""
        self._changes.close()
        self._thread.join(_END)
        for timer in (self._watch, self._telling):
            if timer is not None:
                timer.cancel()
        self._watch = self._telling = None
        self._call_back(self._changes.last)
        if self._thread.is_alive():  # it holds the store; the process ends soon
            logger.warning("the session store '%s' doesn't answer: last changes are lost", self._store)
        else:
            self._store.close()

    # ---- the thread ---------------------------------------------------------------------------------

    def _write(self) -> None:
        closing = False
        while not closing:
            batch, last = self._changes.take()
            error, refused = self._try(batch)
            closing = self._changes.closing
            if error is None:
                closing = self._changes.written(batch) and closing
            else:
                self._changes.put_back(batch)
            with suppress(RuntimeError):  # the loop was closed without closing the journal
                self._loop.call_soon_threadsafe(self._written, last, error, refused)
            if error is not None:
                self._changes.pause(self._retry)

    def _try(self, batch: Mapping[str, SessionChanges]) -> tuple[Exception | None, _Refused]:
        refused: Mapping[str, Refusal] = {}
        try:
            if batch:
                refused = self._store.write(batch)
        except self._store.failures as error:
            return error, {}
        return None, {session_id: (batch[session_id].fence, why) for session_id, why in refused.items()}

"""Notifications of workers to sessions of any node, through one Redis stream that every node reads.

    worker ─► notify() ─┬─ a session of this node ─► its log
                        └─ another's, or all ─► Redis ─► every node ─► the logs of those that it has

The number of a session's last notification is stored with its events. So when a session moves, or its node is
dead for a while, the node that continues it gives it the notifications that it missed, and none twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeAlias

from longwire.cluster.ownership import SessionOwnership
from longwire.cluster.redis_link import Argument, RedisLink
from longwire.contract.envelopes import NotifyOutcome
from longwire.errors import ClusterUnavailable, DamagedKey
from longwire.foreign_json import parse_json
from longwire.sessions.registry import Sessions
from longwire.sessions.sending import tell
from longwire.sessions.session import Session
from longwire.wire.tasks import RunningTasks

logger: Final = logging.getLogger(__name__)

Answer: TypeAlias = Callable[[NotifyOutcome], None]

LONGEST: Final = 64 << 10  # bytes of one that goes to other nodes
KEPT: Final = 1000  # notifications that a session may have missed while it moved
_NAME: Final = "notifications"  # of the stream, and of the channel that wakes the nodes
_WAITING: Final = 1000  # notifications on their way to Redis
_LOOK: Final = 1.0  # seconds between two looks, where the channel says nothing
_PART: Final = 100  # notifications that are read at once
_DOUBT: Final = 0.5  # seconds: half of what Redis may take to say its time
_SHIFT: Final = 1_000_000  # an id of Redis (milliseconds-count) as one number

_ADD: Final = """
local id = redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[1], '*', 's', ARGV[2], 'm', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PUBLISH', ARGV[5], '')
return id
"""


class _Kept(NamedTuple):
    number: int
    session_id: str | None  # None: all sessions
    payloads: list[bytes]


class SharedNotifications:
    """Passes notifications of its workers to sessions of all nodes, and those of other nodes to its own."""

    def __init__(
        self, link: RedisLink, sessions: Sessions, ownership: SessionOwnership, *, ttl: float
    ) -> None:
        """Called on the running loop. `ttl`: seconds after which no session can have missed one."""
        self._link = link
        self._sessions = sessions
        self._ownership = ownership
        self._ttl = ttl
        self._kept: deque[_Kept] = deque(maxlen=KEPT)
        self._last = 0  # the number of the last one that was read
        self._reading = asyncio.Lock()
        self._wake = asyncio.Event()
        self._waiting: asyncio.Queue[tuple[str | None, list[bytes], Answer]] = asyncio.Queue(_WAITING)
        self._is_sending = False
        self._damage_told = False
        # Sessions that begin have missed nothing.
        sessions.notified = round((link.now() - _DOUBT) * 1000) * _SHIFT
        self._undo = link.subscribe(_NAME, lambda _: self._wake.set()), link.on_back(self._wake.set)
        self._tasks = RunningTasks()
        self._tasks.spawn(self._read())
        self._tasks.spawn(self._send())

    async def close(self) -> None:
        for undo in self._undo:
            undo()
        await self._tasks.end()

    async def notify(self, session_id: str | None, payloads: list[bytes], answer: Answer) -> None:
        """Tell one session or (None) all, wherever they are; `answer` is called with the outcome.

        Waits while the store or Redis is slow.
        """
        if not self._is_sending and self._waiting.empty() and session_id in self._sessions:
            await self._sessions.notify_and_answer(session_id, payloads, answer)
        else:
            await self._waiting.put((session_id, payloads, answer))  # behind those that came before

    def give_missed(self, session: Session) -> None:
        """Give a session that came from another node the notifications that it missed."""
        for one in self._kept:
            if one.session_id in (None, session.id):
                session.notify_once(one.number, one.payloads)

    # ---- sending ------------------------------------------------------------------------------------

    async def _send(self) -> None:
        while True:
            session_id, payloads, answer = await self._waiting.get()
            self._is_sending = True
            try:
                outcome = await self._sent(session_id, payloads)
            except ClusterUnavailable:
                outcome = "failed"
            except Exception:  # or nothing would ever be sent again
                logger.exception("a notification to other nodes failed")
                outcome = "failed"
            self._is_sending = False
            if outcome == "failed" and session_id is None:  # the sessions that are here can have it
                await self._sessions.notify(None, payloads)
            if session_id in self._sessions:
                self._sessions.answer_stored(session_id, outcome, answer)
            else:
                answer(outcome)

    async def _sent(self, session_id: str | None, payloads: list[bytes]) -> NotifyOutcome:
        if session_id is not None:
            if session_id not in self._sessions and await self._ownership.find(session_id) is None:
                return "unknown"
            if session_id in self._sessions:
                return await self._sessions.notify(session_id, payloads)
        text = b"\n".join(payloads)
        if len(text) > LONGEST:
            logger.warning(
                "a notification of %d bytes is not sent to other nodes: %d are the most", len(text), LONGEST
            )
            return "failed"
        link = self._link
        channel = link.key("channel", _NAME)
        arguments: list[Argument] = [KEPT, session_id or "", text, round(self._ttl * 1000), channel]
        await link.script(_ADD, [link.key(_NAME)], arguments)
        await self._catch_up()  # before the next, or they would overtake this one
        return "delivered" if session_id is None else "queued"

    # ---- reading ------------------------------------------------------------------------------------

    async def _read(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._catch_up()
            except ClusterUnavailable:  # the link has logged it, and says when Redis is back
                pass
            except Exception:
                logger.exception("notifications of other nodes could not be read")
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK):
                    await self._wake.wait()

    async def _catch_up(self) -> None:
        async with self._reading:
            while True:
                key, start = self._link.key(_NAME), f"({self._last // _SHIFT}-{self._last % _SHIFT}"
                try:
                    found: Sequence[Any] = await self._link.call("XRANGE", key, start, "+", "COUNT", _PART)
                except DamagedKey:
                    self._note_damage()
                    await self._link.call("DEL", key)
                    return
                if not found:
                    return
                for id, entry in found:
                    await self._take(_kept(id, entry))

    def _note_damage(self) -> None:
        """Log the first entry that something else has written."""
        if not self._damage_told:
            self._damage_told = True
            sentence = (
                "notifications between nodes are damaged in Redis and left out: let nothing else write '%s'"
            )
            logger.warning(sentence, self._link.key(_NAME), extra={"event": "notifications_damaged"})

    async def _take(self, one: _Kept) -> None:
        self._last = one.number
        if not one.payloads:
            self._note_damage()
            return
        self._kept.append(one)
        self._sessions.notified = max(self._sessions.notified, one.number)
        told: Iterable[Session] = self._sessions
        if one.session_id is not None:
            told = self._sessions.with_id(one.session_id)
        await tell(told, one.payloads, self._sessions.limits.send_timeout, one.number)


def _kept(id: bytes, entry: dict[bytes, bytes]) -> _Kept:
    """A notification; without payloads if something else has written it."""
    milliseconds, _, count = id.partition(b"-")
    number = int(milliseconds) * _SHIFT + int(count)
    try:
        payloads = entry[b"m"].split(b"\n")
        for payload in payloads:
            parse_json(payload.decode())
        return _Kept(number, entry[b"s"].decode() or None, payloads)
    except (KeyError, ValueError):
        return _Kept(number, "", [])

"""The owners of sessions, which Redis has and only scripts change, and how a node takes a session over.

A session's hash names its owner: a node and its incarnation. While that process has its lease (nodes.py), the
session is its own. After that, whoever asks first has it, under a higher fence: what the old owner still
sends is refused from that moment on, and it ends the session at itself as "moved". Its clients reconnect.

Where Redis has forgotten sessions (it was restarted without its data), their owners store them again, from
memory. For a few seconds nobody says then that a session doesn't exist.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator
from math import inf
from typing import Any, Final

from longwire.cluster.nodes import LEASE_AT, Nodes, NodeStatus, parse_lease
from longwire.cluster.session_store import HIGHEST, RedisSessions
from longwire.errors import ClusterUnavailable, DamagedKey
from longwire.journal.buffered_journal import BufferedJournal, Refusal
from longwire.sessions.registry import Sessions
from longwire.sessions.session import Session
from longwire.text import shown_id
from longwire.wire.messages import RefusedMessage

logger: Final = logging.getLogger(__name__)

_MOST: Final = 2.0  # seconds for a take-over
_READ: Final = 1.5  # seconds to read a session's events
_SETTLING: Final = 5.0  # seconds in which nodes store again what Redis has forgotten
_FLUSH: Final = 1.0  # seconds to write the last changes when the node stops
_SLICE: Final = 50  # sessions that are looked after at once
_STORED_AT_ONCE: Final = 10  # sessions that are stored whole at once: each may have megabytes
_YOUNG: Final = 1.0  # seconds in which a session that began may not have been stored
# Event and stream numbers leap when a session is taken over: its old owner may have sent some that it could
# not store. A client that has seen one of those misses nothing of the new owner's.
_LEAP: Final = 1_000_000
_ID: Final = re.compile(r"[a-z0-9]{1,16}-[0-9a-f]{32}", re.ASCII)

_STOPPING: Final = "this node stops: try again"
_SETTLES: Final = "the nodes' shared store was restarted and is being filled: try again"
_BUSY: Final = "this node has no room for the session: try again"

_FIND: Final = """
local owner = redis.call('HGET', KEYS[1], 'owner')
if not owner then return {'none', redis.call('GET', KEYS[2]) or ''} end
local lease = redis.pcall('GET', ARGV[1] .. owner:match('^[^:]*'))
return {'found', owner, type(lease) == 'string' and lease or '{}'}
"""
_TAKE: Final = (
    LEASE_AT
    + """
local hash = KEYS[1]
local owner, fence = unpack(redis.call('HMGET', hash, 'owner', 'fence'))
if not owner then return {'none', redis.call('GET', KEYS[2]) or ''} end
if owner == ARGV[1] then return {'mine', fence} end
local label, incarnation = owner:match('^([^:]*):(.*)$')
local key = ARGV[2] .. label
local lease = lease_at(key)
if lease and lease.incarnation == incarnation then
    return {'alive', incarnation, redis.call('PTTL', key)}
end
redis.call('HSET', hash, 'owner', ARGV[1], 'turn', 0)
redis.call('HINCRBY', hash, 'next_event', ARGV[3])
redis.call('HINCRBY', hash, 'next_stream', ARGV[3])
return {'taken', redis.call('HINCRBY', hash, 'fence', 1)}
"""
)


class SessionOwnership:
    """Knows the owners of sessions. Every method answers within 2 s or raises ClusterUnavailable."""

    def __init__(
        self, nodes: Nodes, sessions: Sessions, journal: BufferedJournal, store: RedisSessions
    ) -> None:
        """Called on the running loop, when the node has its lease."""
        self._nodes = nodes
        self._link = nodes.link
        self._sessions = sessions
        self._journal = journal
        self._store = store
        self._takings: dict[str, asyncio.Task[Session | None]] = {}
        self._unread: set[str] = set()  # sessions that were taken over, or may be, and could not be read yet
        self._looking: asyncio.Task[None] | None = None  # for sessions that others have by now
        self.on_adopted: Callable[[Session], None] = lambda _: None  # called with each session taken over
        journal.on_refused = self._refused
        nodes.on_return(self._returned)

    async def find(self, session_id: str) -> NodeStatus | None:
        """The owner of a session, which may be this node; None: there is no such session."""
        if session_id in self._sessions:
            return self._here()
        if not _ID.fullmatch(session_id):
            return None
        link = self._link
        try:
            kind, *found = await link.script(_FIND, self._keys(session_id), [link.key("node", "")])
        except DamagedKey:
            await self._forget(session_id)
            return None
        if session_id in self._sessions:
            return self._here()
        if kind == b"none":
            self._check_absent(found[0])
            return None
        node, _, incarnation = found[0].decode("utf-8", "replace").partition(":")
        lease = parse_lease(found[1])
        if found[0] == self._nodes.owner.encode():
            # It ended here a moment ago, unless it was never read.
            return NodeStatus(node, False) if session_id in self._unread else None
        alive = lease.get("incarnation") == incarnation
        return NodeStatus(node, alive, lease.get("address", "") if alive else "", incarnation)

    async def take_over(self, session_id: str, found: NodeStatus) -> Session | None:
        """Continue a session here whose owner is dead or released it; None: another was faster, or it ended.

        Waits for the owner's lease to end if it has not yet, at most 2 s.
        """
        if self._nodes.left:
            raise ClusterUnavailable(_STOPPING)
        taking = self._takings.get(session_id)
        if taking is None:
            taking = asyncio.get_running_loop().create_task(self._take_over(session_id, found))
            self._takings[session_id] = taking
            taking.add_done_callback(lambda done: self._taken(session_id, done))
        return await asyncio.shield(taking)

    def _taken(self, session_id: str, taking: asyncio.Task[Session | None]) -> None:
        self._takings.pop(session_id, None)
        if not taking.cancelled():
            taking.exception()  # is retrieved here, since all who waited for it may have left

    async def release_all(self) -> None:
        """Give up all sessions of this node, so that others continue them at once; called when it stops."""
        self._nodes.left = True  # from here on this node takes none
        if self._looking is not None:
            self._looking.cancel()
        for taking in list(self._takings.values()):
            taking.cancel()
        for session in self._sessions:
            session.end("stopped")
        await self._stored(_FLUSH)
        await self._nodes.leave()

    # ---- taking over --------------------------------------------------------------------------------

    async def _take_over(self, session_id: str, found: NodeStatus) -> Session | None:
        deadline = time.monotonic() + _MOST
        await asyncio.sleep(self._grace())
        while True:
            link = self._link
            arguments: list[str | int] = [self._nodes.owner, link.key("node", ""), _LEAP]
            known = session_id in self._unread
            self._unread.add(session_id)  # it may be taken over though no answer comes
            try:
                kind, *answer = await link.script(_TAKE, self._keys(session_id), arguments)
            except DamagedKey:
                await self._forget(session_id)
                return None
            if kind != b"taken" and not known:
                self._unread.discard(session_id)
            if (here := self._sessions.get(session_id)) is not None:
                return here
            if kind == b"none":
                self._check_absent(answer[0])
                return None
            if kind == b"taken" or (kind == b"mine" and known):
                return await self._read(session_id, int(answer[0]))
            if kind == b"mine" or answer[0].decode() != found.incarnation:
                return None  # it ended here, or another node was faster
            rest = int(answer[1]) / 1000 + 0.01
            if time.monotonic() + rest > deadline:
                raise ClusterUnavailable(f"the node '{found.label}' has this session and lives: try again")
            await asyncio.sleep(rest)

    def _grace(self) -> float:
        """Seconds to wait before a lease that is not there means that its node is dead.

        While Redis was gone nobody could renew a lease, so those who live need a moment.
        """
        if not self._link.returns:
            return 0.0
        return max(0.0, self._link.back_since + self._nodes.lease - time.monotonic())

    async def _read(self, session_id: str, fence: int) -> Session | None:
        """Enter a session that is this node's by now into its table."""
        try:
            found = await self._store.fetch(session_id, within=_READ)
            if not 0 < fence < HIGHEST:
                raise DamagedKey("the session has no owner")
        except DamagedKey:
            await self._forget(session_id)
            return None
        self._unread.discard(session_id)
        if found is None:
            return None
        stored, unused = found
        self._journal.adopt(session_id, fence)
        try:
            session = self._sessions.adopt(stored, unused)
        except RefusedMessage as refused:
            self._journal.let_go(session_id)
            self._unread.add(session_id)
            raise ClusterUnavailable(_BUSY) from refused
        self._sessions.counters.sessions_taken_over += 1
        self.on_adopted(session)
        fields = {"event": "session_taken_over", "fence": fence}
        logger.info("took over session %s", shown_id(session_id), extra=fields)
        return session

    async def _forget(self, session_id: str) -> None:
        """Remove a damaged session from Redis; a node that has it in memory stores it again."""
        await self._link.call("DEL", *self._store.keys(session_id))
        self._unread.discard(session_id)
        self._sessions.counters.journal_failures += 1
        self._store.note_damage(session_id)

    def _keys(self, session_id: str) -> list[str]:
        """The keys that the scripts read: the session's hash, and the name of Redis's data."""
        return [self._store.keys(session_id)[0], self._link.key("data")]

    def _here(self) -> NodeStatus:
        nodes = self._nodes
        return NodeStatus(nodes.label, True, nodes.address, nodes.incarnation)

    def _check_absent(self, data: bytes) -> None:
        """Raise ClusterUnavailable while the owner of a session missing in Redis may still store it again."""
        nodes = self._nodes
        if data != nodes.data or time.monotonic() - nodes.changed_at < _SETTLING:
            raise ClusterUnavailable(_SETTLES)

    # ---- sessions that are another's by now ---------------------------------------------------------

    def _refused(self, session_id: str, fence: int, refusal: Refusal) -> None:
        """Handle changes of this node's session that Redis refused."""
        session = self._sessions.get(session_id)
        if session is None:
            self._journal.let_go(session_id)
        elif refusal == "moved":
            self._move(session)
        elif self._nodes.holds_lease and self._looking is None:
            # Only this node could have ended it, so Redis has lost it.
            self._journal.replace(session.snapshot())
        # Otherwise it may have moved and ended there: _look_after() finds out.

    def _move(self, session: Session) -> None:
        fields = {"event": "session_moved"}
        logger.info("session %s goes on at another node", shown_id(session.id), extra=fields)
        self._journal.let_go(session.id)
        session.end("moved")

    def _returned(self, forgot: bool, lost_at: float) -> None:
        """Look after the sessions when the lease was lost, or Redis has forgotten something."""
        if self._nodes.left:
            return
        if self._looking is not None:
            self._looking.cancel()
        self._looking = asyncio.get_running_loop().create_task(self._look_after(forgot, lost_at))
        self._looking.add_done_callback(self._looked)

    def _looked(self, task: asyncio.Task[None]) -> None:
        if self._looking is task:
            self._looking = None
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("sessions could not be looked after", exc_info=error)

    async def _look_after(self, forgot: bool, lost_at: float) -> None:
        if forgot:
            for part in self._parts(_STORED_AT_ONCE):
                await self._lease_held()
                for session in part:
                    self._journal.replace(session.snapshot())
                await self._stored(_READ)
            # Other nodes store theirs again too. Where two nodes hold one session, the later owner keeps it.
            await asyncio.sleep(2 * self._nodes.lease)
            lost_at = -inf
        for part in self._parts(_SLICE):
            await self._lease_held()
            await self._check(part, lost_at)

    def _parts(self, size: int) -> Iterator[list[Session]]:
        sessions = list(self._sessions)
        for first in range(0, len(sessions), size):
            yield [session for session in sessions[first : first + size] if session.ended is None]

    async def _lease_held(self) -> None:
        """Wait until Redis answers, if it is gone again: room for unstored changes is bounded."""
        while not self._nodes.holds_lease:
            await asyncio.sleep(self._nodes.lease / 3)

    async def _check(self, sessions: list[Session], lost_at: float) -> None:
        """End sessions that another node has, and those that ended there while this node had no lease."""
        commands = [("HMGET", self._store.keys(session.id)[0], "owner", "fence") for session in sessions]
        while True:
            try:
                answers: list[Any] = await self._link.calls(commands)
                break
            except DamagedKey:
                if len(sessions) == 1:  # Redis has no owner of it: this node stores it again
                    self._journal.replace(sessions[0].snapshot())
                    return
                for session in sessions:
                    await self._check([session], lost_at)
                return
            except ClusterUnavailable:
                await asyncio.sleep(self._nodes.lease / 3)
        own = self._nodes.owner.encode()
        for session, (owner, fence) in zip(sessions, answers, strict=True):
            if session.ended is not None:
                continue
            if owner is None:
                # It ended elsewhere, unless it began so late that it could not be stored yet.
                age = self._sessions.clock() - session.created
                if age > time.monotonic() - lost_at + _YOUNG:
                    self._move(session)
            elif owner != own or fence != b"%d" % (self._journal.fence_of(session.id) or 0):
                self._move(session)

    async def _stored(self, within: float) -> None:
        """Wait until the journal has stored all changes, or could not."""
        if not await self._journal.flush(within):
            logger.warning("the last changes of sessions are not stored yet")

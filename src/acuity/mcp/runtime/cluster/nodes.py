"""The nodes of a cluster: each has a lease in Redis, and is alive as long as it renews that.

A lease names the process that has it (its incarnation), so a node that was restarted is another one. No
clock but Redis's own says when it ends. A node that was paused, or that Redis was gone for, may have lost it,
and others may have its sessions since: those who care are told when it has one again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from acuity.errors import SettingsError
from acuity.mcp.runtime.cluster.places import ClusterUnavailable
from acuity.mcp.runtime.cluster.redis_link import RedisLink

logger: Final = logging.getLogger(__name__)

LEASE: Final = 1.5  # seconds that a lease lasts
BEAT: Final = 0.5  # seconds between two renewals

_PATIENCE: Final = 2.0  # seconds at the start for the lease of the process before this one to end
_LISTED: Final = 3600.0  # seconds that a dead node is still listed

# Renews or begins a lease, unless another process has it. The value of `data` is made anew where Redis has
# lost what it had: nodes then know that they have to store their sessions again.
_RENEW: Final = """
local lease, nodes, data = KEYS[1], KEYS[2], KEYS[3]
local found = redis.call('GET', lease)
if found and cjson.decode(found).incarnation ~= ARGV[1] then
    return {'taken', found, redis.call('PTTL', lease)}
end
redis.call('SET', lease, ARGV[2], 'PX', ARGV[3])
local time = redis.call('TIME')
redis.call('ZADD', nodes, time[1], ARGV[4])
redis.call('ZREMRANGEBYSCORE', nodes, '-inf', time[1] - ARGV[5])
redis.call('SET', data, ARGV[6], 'NX')
return {found and 'kept' or 'new', redis.call('GET', data)}
"""
_LEAVE: Final = """
local found = redis.call('GET', KEYS[1])
if found and cjson.decode(found).incarnation == ARGV[1] then
    redis.call('DEL', KEYS[1])
    redis.call('ZREM', KEYS[2], ARGV[2])
end
"""


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node as operators see it."""

    label: str
    alive: bool
    address: str = ""  # of its port for other nodes
    incarnation: str = ""
    since: float = 0.0  # when its process joined, in seconds since 1970 by Redis's clock
    last_seen: float = 0.0


class Nodes:
    """This node's lease, and the list of all nodes."""

    def __init__(self, link: RedisLink, address: str, *, lease: float = LEASE, beat: float = BEAT) -> None:
        """`address`: http://HOST:PORT of this node's port for other nodes."""
        self.link = link
        self.label = link.node
        self.address = address
        self.incarnation = secrets.token_hex(8)
        self.lease = lease
        self.data = b""  # a name for what Redis has: another one after it lost everything
        self.changed_at = -60.0  # the clock's time at which Redis was last seen to have lost something
        self.left = False
        self._since = 0.0
        self._beat = beat
        self._renewed = -lease  # the clock's time before which the lease was asked for last with success
        self._lost = False
        self._task: asyncio.Task[None] | None = None
        self._run_id = ""
        self._listeners: list[Callable[[bool, float], None]] = []

    @property
    def owner(self) -> str:
        """What the sessions of this process have as their owner."""
        return f"{self.label}:{self.incarnation}"

    @property
    def holds_lease(self) -> bool:
        """Whether this node is certainly alive for the others."""
        return not self._lost and time.monotonic() - self._renewed < self.lease

    def on_return(self, callback: Callable[[bool, float], None]) -> None:
        """Have a function called when the lease was lost and is back, or Redis has forgotten something.

        It is given whether Redis has forgotten something, and the clock's time of the last good renewal.
        """
        self._listeners.append(callback)

    async def join(self) -> None:
        """Take the lease and keep it; raises SettingsError where another process has this label."""
        if self.link.is_sharded:
            raise SettingsError(
                f"Redis at {self.link.address} is one of several that share keys: use a single server"
            )
        self._since = self.link.now()
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                await self.link.call("PING")  # to whose refusal Redis gives a reason that people understand
                answer = await self._renew()
            except ClusterUnavailable:
                raise SettingsError(
                    f"Redis at {self.link.address}, through which nodes share sessions, can't be used "
                    f"({self.link.problem}): start it, or correct its address"
                ) from None
            if answer[0] != b"taken":
                break
            rest = int(answer[2]) / 1000 + 0.02  # one that was killed doesn't renew its lease
            if time.monotonic() + rest > deadline:
                other = json.loads(answer[1])
                raise SettingsError(
                    f"a node with the label '{self.label}' is running already, at {other.get('address')}: "
                    "give each node a label of its own"
                )
            await asyncio.sleep(rest)
        self.data, self._run_id = answer[1], self.link.run_id
        self._task = asyncio.get_running_loop().create_task(self._keep(), name="node lease")

    async def leave(self) -> None:
        """Give the lease up: other nodes may have the sessions of this one at once. May be called again."""
        self.left = True
        task, self._task = self._task, None
        while task is not None and not task.done():
            task.cancel()  # again and again: redis-py swallows one that comes while it connects
            await asyncio.wait([task], timeout=0.1)
        if self._renewed > 0:
            self._renewed = -self.lease
            try:
                keys = [self._lease_key(self.label), self.link.key("nodes")]
                await self.link.script(_LEAVE, keys, [self.incarnation, self.label])
            except ClusterUnavailable:
                logger.warning("the lease of this node ends by itself: Redis doesn't answer")

    async def statuses(self) -> list[NodeStatus]:
        """All nodes, also those that died lately; raises ClusterUnavailable."""
        seen = await self.link.call("ZRANGE", self.link.key("nodes"), 0, -1, "WITHSCORES")
        rows = [(bytes(row[0]), float(row[1])) for row in _pairs(seen)]
        if not rows:
            return []
        leases = await self.link.call("MGET", *[self._lease_key(label.decode()) for label, _ in rows])
        found = [_status(label.decode(), at, lease) for (label, at), lease in zip(rows, leases, strict=True)]
        return sorted(found, key=lambda status: status.label)

    def _lease_key(self, label: str) -> str:
        return self.link.key("node", label)

    async def _renew(self) -> list[Any]:
        began = time.monotonic()
        link = self.link
        lease = {"incarnation": self.incarnation, "address": self.address, "since": self._since}
        answer: list[Any] = await link.script(
            _RENEW,
            [self._lease_key(self.label), link.key("nodes"), link.key("data")],
            [
                self.incarnation,
                json.dumps(lease),
                round(self.lease * 1000),
                self.label,
                round(_LISTED),
                secrets.token_hex(8),
            ],
        )
        if answer[0] != b"taken":
            self._renewed = began
        return answer

    async def _keep(self) -> None:
        """Renew the lease again and again."""
        rest = self._beat
        while True:
            await asyncio.sleep(rest)
            before, rest = self._renewed, self._beat
            try:
                self._note(await self._renew(), before)
            except ClusterUnavailable:  # the link has logged it
                rest = self._beat / 5  # one slow answer must not cost the lease
            except Exception:
                logger.exception("the lease of this node could not be renewed")

    def _note(self, answer: list[Any], before: float) -> None:
        if answer[0] == b"taken":
            if not self._lost:
                self._lost = True
                logger.error(
                    "another node with the label '%s' took this one's place: its sessions are there now",
                    self.label,
                    extra={"event": "node_displaced"},
                )
            return
        back = answer[0] == b"new" or self._lost
        forgot = answer[1] != self.data or self.link.run_id != self._run_id
        self._lost = False
        self.data, self._run_id = answer[1], self.link.run_id
        if forgot:
            self.changed_at = time.monotonic()
        if back or forgot:
            logger.warning(
                "the lease of this node was lost and is back: it looks which of its sessions others have",
                extra={"event": "node_back"},
            )
            for callback in list(self._listeners):
                callback(forgot, before)


def _pairs(seen: list[Any]) -> list[Any]:
    """Members with their scores; redis-py may or may not have paired them."""
    if seen and not isinstance(seen[0], (list, tuple)):
        return list(zip(seen[::2], seen[1::2], strict=True))
    return seen


def _status(label: str, at: float, lease: bytes | None) -> NodeStatus:
    if lease is None:
        return NodeStatus(label, alive=False, last_seen=at)
    found = json.loads(lease)
    return NodeStatus(label, True, found["address"], found["incarnation"], found["since"], at)

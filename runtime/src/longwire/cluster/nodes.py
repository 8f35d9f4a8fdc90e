"""The nodes of a cluster: each has a lease in Redis, and is alive as long as it renews that.

A lease names the process that has it (its incarnation), so a node that was restarted is another one. No
clock but Redis's own says when it ends. A node that was paused or cut off from Redis may have lost its lease,
and others may have its sessions since: on_return() calls functions when the node has a lease again.

Each lease has a fingerprint of the cluster's secret. A node whose secret isn't that of the living nodes gets
no lease: they would refuse all requests that it passes on.
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

from longwire.cluster.redis_link import RedisLink
from longwire.errors import ClusterUnavailable, SettingsError
from longwire.foreign_json import parse_json
from longwire.wire.tasks import RunningTasks

logger: Final = logging.getLogger(__name__)

LEASE: Final = 1.5  # seconds that a lease lasts
BEAT: Final = 0.5  # seconds between two renewals

_PATIENCE: Final = LEASE + 0.5  # seconds at the start for the lease of the process before this one to end
_LISTED: Final = 3600.0  # seconds that a dead node is still listed

# A value that something else has written in a lease's place counts as no lease.
LEASE_AT: Final = """
local function lease_at(key)
    local text = redis.pcall('GET', key)
    local fine, found = pcall(cjson.decode, type(text) == 'string' and text or 'null')
    if fine and type(found) == 'table' and type(found.incarnation) == 'string' then return found, text end
end
"""
# Renews or begins a lease, unless another process has it, or a living node another secret. The value
# of `data` is made anew where Redis has lost what it had: nodes then know that they have to store their
# sessions again.
_RENEW: Final = (
    LEASE_AT
    + """
local lease, nodes, data = KEYS[1], KEYS[2], KEYS[3]
for key, kind in pairs({[nodes] = 'zset', [data] = 'string'}) do
    local is = redis.call('TYPE', key).ok
    if is ~= kind and is ~= 'none' then redis.call('DEL', key) end
end
local found, text = lease_at(lease)
if found and found.incarnation ~= ARGV[1] then
    return {'taken', text, redis.call('PTTL', lease)}
end
local living = 1
for _, label in ipairs(redis.call('ZRANGE', nodes, 0, -1)) do
    local other, said
    if label ~= ARGV[4] then other, said = lease_at(ARGV[7] .. label) end
    if other then
        living = living + 1
        local theirs = other.secret
        if theirs and theirs ~= '' and ARGV[8] ~= '' and theirs ~= ARGV[8] and not found then
            return {'foreign', said, redis.call('PTTL', ARGV[7] .. label), label}
        end
    end
end
redis.call('SET', lease, ARGV[2], 'PX', ARGV[3])
local time = redis.call('TIME')
redis.call('ZADD', nodes, time[1], ARGV[4])
redis.call('ZREMRANGEBYSCORE', nodes, '-inf', time[1] - ARGV[5])
redis.call('SET', data, ARGV[6], 'NX')
return {found and 'kept' or 'new', redis.call('GET', data), living}
"""
)
_LEAVE: Final = (
    LEASE_AT
    + """
local found = lease_at(KEYS[1])
if found and found.incarnation == ARGV[1] then
    redis.call('DEL', KEYS[1])
    redis.call('ZREM', KEYS[2], ARGV[2])
end
"""
)


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node at one moment: for operators, and as the one that has a session or had it."""

    label: str
    alive: bool
    address: str = ""  # http://HOST:PORT of its port for other nodes
    incarnation: str = ""  # of its process: a node that was restarted is another
    since: float = 0.0  # when its process joined, in seconds since 1970 by Redis's clock
    last_seen: float = 0.0


class Nodes:
    """This node's lease, and the list of all nodes."""

    def __init__(
        self, link: RedisLink, address: str, *, secret: str = "", lease: float = LEASE, beat: float = BEAT
    ) -> None:
        """`address`: http://HOST:PORT of this node's port for other nodes. `secret`: a fingerprint of it."""
        self.link = link
        self.label = link.node
        self.address = address
        self.incarnation = secrets.token_hex(8)
        self.lease = lease
        self.data = b""  # a name for what Redis has: another one after it lost everything
        self.changed_at = -60.0  # the clock's time at which Redis was last seen to have lost something
        self.left = False
        self.living = 0  # nodes that had a lease at the last renewal, this one included
        self._secret = secret
        self._refusal: str | None = None  # why the last renewal failed, if it did
        self._since = 0.0
        self._beat = beat
        self._renewed = -lease  # the clock's time at which the last successful renewal was sent
        self._lost = False
        self._tasks = RunningTasks()
        self._run_id = ""
        self._listeners: list[Callable[[bool, float], None]] = []

    @property
    def owner(self) -> str:
        """The owner that sessions of this process have in Redis."""
        return f"{self.label}:{self.incarnation}"

    @property
    def holds_lease(self) -> bool:
        """Whether this node is certainly alive for the others."""
        return not self._lost and time.monotonic() - self._renewed < self.lease

    @property
    def problem(self) -> str | None:
        """A sentence for operators: Redis can't be used, or this node has no lease; None: all is well."""
        link = self.link
        if not link.healthy:
            return f"Redis at {link.address} doesn't answer ({link.problem}): which nodes live is not known"
        return self._refusal

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
                await self.link.call("PING")  # Redis refuses a PING with a reason that people understand
                answer = await self._renew()
            except ClusterUnavailable:
                raise SettingsError(
                    f"Redis at {self.link.address}, through which nodes share sessions, can't be used "
                    f"({self.link.problem}): {self.link.remedy}"
                ) from None
            if answer[0] not in _REFUSALS:
                break
            rest = int(answer[2]) / 1000 + 0.02  # one that was killed doesn't renew its lease
            if time.monotonic() + rest > deadline:
                raise self._not_let_in(answer)
            await asyncio.sleep(rest)
        self.data, self._run_id = answer[1], self.link.run_id
        self._tasks.spawn(self._keep())

    def _not_let_in(self, answer: list[Any]) -> SettingsError:
        """Why this node gets no lease."""
        where = parse_lease(answer[1]).get("address", "an address that its lease doesn't say")
        if answer[0] == b"foreign":
            return SettingsError(
                f"the cluster's secret is another than that of the node '{answer[3].decode()}', which runs "
                f"at {where}: give all nodes the same secret_file, or stop those with another first"
            )
        return SettingsError(
            f"a node with the label '{self.label}' is running already, at {where}: "
            "give each node a label of its own"
        )

    async def leave(self) -> None:
        """Give the lease up: other nodes may have the sessions of this one at once. May be called again."""
        self.left = True
        await self._tasks.end(0.1)  # redis-py swallows a cancellation that comes while it connects
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
        if not seen:
            return []
        labels = [label.decode("utf-8", "replace") for label in seen[::2]]
        leases = await self.link.call("MGET", *map(self._lease_key, labels))
        found = map(_status, labels, map(float, seen[1::2]), leases)
        return sorted(found, key=lambda status: status.label)

    def _lease_key(self, label: str) -> str:
        return self.link.key("node", label)

    async def _renew(self) -> list[Any]:
        began = time.monotonic()
        link = self.link
        lease = {
            "incarnation": self.incarnation,
            "address": self.address,
            "since": self._since,
            "secret": self._secret,
        }
        keys = [self._lease_key(self.label), link.key("nodes"), link.key("data")]
        given = (self.incarnation, json.dumps(lease), round(self.lease * 1000), self.label, round(_LISTED))
        others = (secrets.token_hex(8), self._lease_key(""), self._secret)
        answer: list[Any] = await link.script(_RENEW, keys, given + others)
        if answer[0] not in _REFUSALS:
            self._renewed = began
            self._refusal = None
            self.living = int(answer[2])
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
                self._refusal = (
                    f"Redis at {self.link.address} refuses to renew the lease of this node "
                    f"({self.link.problem}): which nodes live is not known"
                )
                rest = self._beat / 5  # one slow answer must not cost the lease
            except Exception:
                logger.exception("the lease of this node could not be renewed")

    def _note(self, answer: list[Any], before: float) -> None:
        if answer[0] in _REFUSALS:
            self._refusal = _REFUSALS[answer[0]].format(self.label)
            if not self._lost:
                self._lost = True
                logger.error("%s", self._refusal, extra={"event": "node_displaced"})
            return
        back = answer[0] == b"new" or self._lost
        forgot = answer[1] != self.data or self.link.run_id != self._run_id
        self._lost = False
        self.data, self._run_id = answer[1], self.link.run_id
        if forgot:
            self.changed_at = time.monotonic()
        if back or forgot:
            event = "node_back" if back else "redis_restarted"
            logger.warning(_BACK if back else _FORGOT, extra={"event": event})
            for callback in list(self._listeners):
                callback(forgot, before)


_BACK: Final = "the lease of this node was lost and is back: it looks which of its sessions others have"
_FORGOT: Final = "Redis was restarted or has lost its data: this node stores its sessions again"
# Why a lease was not given, by the answer of the script.
_REFUSALS: Final = {
    b"taken": "another node with the label '{}' took this one's place: its sessions are there now",
    b"foreign": "this node, '{}', lost its lease, and nodes with another secret live: give all the same one",
}


def _status(label: str, at: float, lease: bytes | None) -> NodeStatus:
    found = parse_lease(lease)
    if not found:
        return NodeStatus(label, alive=False, last_seen=at)
    return NodeStatus(label, True, found["address"], found["incarnation"], found["since"], at)


def parse_lease(text: bytes | None) -> dict[str, Any]:
    """The fields of a lease; none if there is no lease, or something else has written there."""
    try:
        found = parse_json(text or b"{}")
    except ValueError:
        return {}
    is_whole = isinstance(found, dict) and all(type(found.get(key)) in kinds for key, kinds in _LEASE.items())
    return found if is_whole else {}


_LEASE: Final = {"address": (str,), "incarnation": (str,), "since": (int, float)}

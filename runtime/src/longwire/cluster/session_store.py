"""Sessions in Redis: what the journal of a node writes to, and what another node continues them from.

A session is a hash and a Redis stream, which both last as long as an unused session. In the hash:

    owner       the node and incarnation that may write; see ownership.py
    fence       rises by one with each owner; what was sent under an older one is refused
    turn        rises with each write of an owner; what Redis gets late, after a newer write, is ignored
    principal version client created initialized state notified next_event next_stream
                without a principal: its owner has it in memory alone, and stores it again
    s7          stream 7: whether it is answered, and the id of its request
    c7          how many events are on it
    p12         the stream that event 12 was put on after it was stored

An entry of the Redis stream is an event, and its id is the event's number.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, Final, cast, get_args

from longwire.cluster.nodes import Nodes
from longwire.cluster.redis_link import Argument, RedisLink, is_damage
from longwire.errors import DamagedKey
from longwire.foreign_json import parse_json
from longwire.journal.buffered_journal import Refusal
from longwire.journal.journal import EventKind, EventRecord, SessionRecord, StoredSession, StreamRecord
from longwire.journal.session_changes import SessionChanges
from longwire.text import shown_id

logger: Final = logging.getLogger(__name__)

_PART: Final = 1 << 20  # bytes that are sent before their answers are read
HIGHEST: Final = 10**15  # number of an event: Lua counts up to 2^53
_KINDS: Final = get_args(EventKind)
_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError)
_SPARE: Final = 10.0  # seconds that a session is kept longer: its last use is written a little later

# Arguments: owner, fence, turn, milliseconds to keep it, whether the changes are whole, whether the session
# ends, the most events, next event, next stream; then a count and fields with values; a count and streams
# with values; a count and events (number, stream, kind, payload); a count and numbers to remove.
_WRITE: Final = """
local hash, events = KEYS[1], KEYS[2]
local owner, fence, turn = unpack(redis.call('HMGET', hash, 'owner', 'fence', 'turn'))
local mine, whole = tonumber(ARGV[2]), ARGV[5] == '1'
if owner then
    fence = tonumber(fence)
    if fence > mine or (fence == mine and owner ~= ARGV[1]) then return 'moved' end
    if fence < mine and not whole then return 'missing' end  -- Redis has forgotten a take-over
    if fence == mine and tonumber(turn) >= tonumber(ARGV[3]) then return 'stored' end
elseif ARGV[6] == '1' then
    return 'stored'
elseif not whole then
    return 'missing'
end
if whole then redis.call('DEL', hash, events) end
if ARGV[6] == '1' then return 'stored' end
redis.call('HSET', hash, 'owner', ARGV[1], 'fence', ARGV[2])

local at = 10
local function take()
    at = at + 1
    return ARGV[at - 1]
end
local function settle(stream)
    local found = redis.call('HGET', hash, 's' .. stream)
    if found and found:sub(1, 1) == '1' and tonumber(redis.call('HGET', hash, 'c' .. stream) or 0) <= 0 then
        redis.call('HDEL', hash, 's' .. stream, 'c' .. stream)
    end
end
local function stream_of(number)
    local placed = redis.call('HGET', hash, 'p' .. number)
    if placed then return placed end
    local found = redis.call('XRANGE', events, number .. '-0', number .. '-0')
    if not found[1] then return nil end
    local fields = found[1][2]
    for i = 1, #fields, 2 do
        if fields[i] == 's' then return fields[i + 1] end
    end
end

for _ = 1, tonumber(take()) do
    local name = take()
    redis.call('HSET', hash, name, take())
end
for place, name in ipairs({'next_event', 'next_stream'}) do
    local known = tonumber(redis.call('HGET', hash, name) or 1)
    redis.call('HSET', hash, name, string.format('%.0f', math.max(known, tonumber(ARGV[7 + place]))))
end
local streams = {}
for _ = 1, tonumber(take()) do
    local number = take()
    streams[#streams + 1] = number
    redis.call('HSET', hash, 's' .. number, take())
end
for _ = 1, tonumber(take()) do
    local number, stream, kind, payload = take(), take(), take(), take()
    local added = redis.pcall(
        'XADD', events, 'MAXLEN', '~', ARGV[7], number .. '-0', 's', stream, 'k', kind, 'p', payload)
    if type(added) ~= 'table' then
        redis.call('HINCRBY', hash, 'c' .. stream, 1)
    elseif not string.find(added.err, 'equal or smaller', 1, true) then
        return redis.error_reply(added.err)
    else
        local before = stream_of(number)
        if before and before ~= stream then
            redis.call('HSET', hash, 'p' .. number, stream)
            redis.call('HINCRBY', hash, 'c' .. before, -1)
            redis.call('HINCRBY', hash, 'c' .. stream, 1)
        end
    end
end
for _ = 1, tonumber(take()) do
    local number = take()
    local stream = stream_of(number)
    if stream then
        redis.call('XDEL', events, number .. '-0')
        redis.call('HDEL', hash, 'p' .. number)
        redis.call('HINCRBY', hash, 'c' .. stream, -1)
        settle(stream)
    end
end
for _, number in ipairs(streams) do settle(number) end
redis.call('HSET', hash, 'turn', ARGV[3])
redis.call('PEXPIRE', hash, ARGV[4])
redis.call('PEXPIRE', events, ARGV[4])
return 'stored'
"""


_REFUSALS: Final[Mapping[bytes, Refusal]] = {b"moved": "moved", b"missing": "missing"}


class RedisSessions:
    """The sessions of all nodes in Redis. `write()` is for one thread, with a connection of its own."""

    def __init__(self, nodes: Nodes, *, ttl: float, max_events: int) -> None:
        """`ttl`: seconds until an unused session ends; `max_events`: of a session, usually."""
        from redis.exceptions import RedisError

        self.found: Sequence[SessionRecord] = ()  # who asks for one takes it over; see ownership.py
        self.failures: tuple[type[Exception], ...] = (RedisError, OSError)
        self.kept_for = ttl * 1.02 + _SPARE  # the last use is written when it has changed by a hundredth
        self._link: RedisLink = nodes.link
        self._owner = nodes.owner
        self._client = self._link.address.blocking_client()
        self._most = 4 * max_events + 1000  # a bound that sessions, which drop events themselves, don't reach
        self._turn = 0
        self._damage_told = False
        self._sha = hashlib.sha1(_WRITE.encode()).hexdigest()

    def __str__(self) -> str:
        return str(self._link.address)

    def sentence(self, error: Exception) -> str:
        return f"'{self}' can't be used ({error}): see that Redis runs and has room"

    def keys(self, session_id: str) -> tuple[str, str]:
        """The keys of a session: its hash and its events."""
        return self._link.key("session", session_id), self._link.key("events", session_id)

    # ---- writing ------------------------------------------------------------------------------------

    def write(self, changes: Mapping[str, SessionChanges]) -> Mapping[str, Refusal]:
        """Store changes, each session's at once."""
        try:
            return self._write(changes)
        except self.failures:
            # Once more: a process that was paused finds its connections too slow, and if sessions are
            # another's by now it has to know that before anything is sent to their clients.
            self._client.close()
            return self._write(changes)

    def _write(self, changes: Mapping[str, SessionChanges]) -> Mapping[str, Refusal]:
        from redis.exceptions import NoScriptError

        refused: dict[str, Refusal] = {}
        for part in _parts(changes):
            try:
                refused |= self._send(part)
            except NoScriptError:
                self._client.script_load(_WRITE)
                refused |= self._send(part)
        return refused

    def _send(self, changes: Mapping[str, SessionChanges]) -> Mapping[str, Refusal]:
        pipeline = self._client.pipeline(transaction=False)
        for session_id, change in changes.items():
            self._turn += 1
            arguments = self._arguments(change)
            pipeline.evalsha(self._sha, 2, *self.keys(session_id), *cast("list[str]", list(arguments)))
        refused: dict[str, Refusal] = {}
        for session_id, answer in zip(changes, pipeline.execute(raise_on_error=False), strict=True):
            if isinstance(answer, Exception):
                if not is_damage(answer):
                    raise answer
                self._client.delete(*self.keys(session_id))  # it is stored whole again
                self.note_damage(session_id)
                refused[session_id] = "missing"
            elif answer in _REFUSALS:
                refused[session_id] = _REFUSALS[answer]
        return refused

    def note_damage(self, session_id: str) -> None:
        """Tell of a session that something else has overwritten; the log names the first."""
        if not self._damage_told:
            self._damage_told = True
            logger.warning(
                "session %s is damaged in Redis and gives way: let nothing else write keys like '%s'",
                shown_id(session_id),
                self._link.key("session", "*"),
                extra={"event": "session_damaged"},
            )

    def _arguments(self, change: SessionChanges) -> Iterator[Argument]:
        ends = change.forgotten and change.record is None and not change.withheld
        yield from (self._owner, change.fence, self._turn, round(self.kept_for * 1000))
        yield from (int(change.is_whole), int(ends), self._most, change.next_event, change.next_stream)
        row = change.record
        fields: list[Argument] = []
        if row is not None:
            fields += ["principal", row.principal, "version", row.version, "client", row.client]
            fields += ["created", repr(row.created), "initialized", int(row.initialized), "state", row.state]
            fields += ["notified", row.notified]
        yield len(fields) // 2
        yield from fields
        yield len(change.streams)
        for stream in change.streams.values():
            yield from (stream.number, f"{stream.answered:d}{json.dumps(stream.request_id)}")
        events = [change.events[number] for number in sorted(change.events)]
        kept = [event for event in events if event is not None]
        yield len(kept)
        for event in kept:
            yield from (event.number, event.stream, event.kind, event.payload)
        gone = [number for number, event in change.events.items() if event is None]
        yield len(gone)
        yield from gone

    # ---- reading ------------------------------------------------------------------------------------

    def load(self, session_id: str) -> StoredSession | None:
        """None: sessions are taken over first, which needs no thread."""
        return None

    async def fetch(self, session_id: str, *, within: float) -> tuple[StoredSession, float] | None:
        """A session, and the seconds since its last use; None: there is none.

        Raises ClusterUnavailable, or DamagedKey.
        """
        hash_key, events_key = self.keys(session_id)
        commands = [("HGETALL", hash_key), ("XRANGE", events_key, "-", "+"), ("PTTL", hash_key)]
        fields, entries, left = await self._link.calls(commands, within=within)
        if b"principal" not in fields:
            return None
        unused = max(0.0, self.kept_for - int(left) / 1000)
        try:
            return _session(session_id, fields, entries, self._link.now() - unused), unused
        except _UNREADABLE as error:
            raise DamagedKey("the session can't be read: begin another") from error

    def close(self) -> None:
        with suppress(Exception):
            self._client.close()


def _parts(changes: Mapping[str, SessionChanges]) -> Iterator[dict[str, SessionChanges]]:
    """Changes in parts that Redis takes well within the time of a command."""
    part: dict[str, SessionChanges] = {}
    size = 0
    for session_id, change in changes.items():
        part[session_id] = change
        size += change.size
        if size > _PART:
            yield part
            part, size = {}, 0
    if part:
        yield part


def _session(
    session_id: str, fields: Mapping[bytes, bytes], entries: Sequence[Any], last_seen: float
) -> StoredSession:
    """A session as Redis has it; raises one of _UNREADABLE where no node has written it."""
    record = SessionRecord(
        id=session_id,
        principal=fields[b"principal"].decode(),
        version=fields[b"version"].decode(),
        client=_object(fields[b"client"]),
        created=float(fields[b"created"]),
        last_seen=last_seen,
        initialized=fields[b"initialized"] == b"1",
        state=_object(fields[b"state"]),
        notified=int(fields.get(b"notified", 0)),
    )
    streams = tuple(
        StreamRecord(int(name[1:]), parse_json(value[1:]), value[:1] == b"1")
        for name, value in fields.items()
        if name[:1] == b"s" and name[1:].isdigit()
    )
    events = tuple(_event(int(key.partition(b"-")[0]), entry, fields) for key, entry in entries)
    ends = next_event, next_stream = int(fields[b"next_event"]), int(fields[b"next_stream"])
    if (
        not isfinite(record.created)
        or record.notified < 0
        or not all(0 < end < HIGHEST for end in ends)
        or not all(0 < event.number < next_event and 0 <= event.stream < next_stream for event in events)
        or not all(0 < one.number < next_stream for one in streams)
        or not all(isinstance(one.request_id, str | int | None) for one in streams)
    ):
        raise ValueError("numbers of no session")
    return StoredSession(
        record, tuple(sorted(streams, key=lambda stream: stream.number)), events, next_event, next_stream
    )


def _object(text: bytes) -> str:
    if type(parse_json(text)) is not dict:
        raise ValueError("no object")
    return text.decode()


def _event(number: int, entry: Mapping[bytes, bytes], fields: Mapping[bytes, bytes]) -> EventRecord:
    placed, kind, payload = fields.get(b"p%d" % number, entry[b"s"]), entry[b"k"].decode(), entry[b"p"]
    if kind not in _KINDS or "\n" in payload.decode():
        raise ValueError("no event")
    return EventRecord(number, int(placed), cast("EventKind", kind), payload)

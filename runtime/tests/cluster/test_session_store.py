"""Sessions in Redis: what was written is what another node reads, bounded, and nothing late counts."""

from __future__ import annotations

import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fake_journal import FakeJournal
from journal_records import event, record, stored
from longwire.cluster.nodes import Nodes
from longwire.cluster.redis_link import RedisLink, open_redis
from longwire.cluster.session_store import RedisSessions
from longwire.counters import RuntimeCounters
from longwire.journal.buffered_journal import BufferedJournal
from longwire.journal.journal import EventKind, StoredSession, StreamRecord
from longwire.journal.session_changes import SessionChanges
from redis_server import COMMAND_WAIT, RedisServer, needs_redis
from waiting import until

pytestmark = needs_redis

ID = f"a-{'0' * 32}"
KINDS: tuple[EventKind, ...] = ("priming", "notification", "request", "reply")


@asynccontextmanager
async def opened(server: RedisServer) -> AsyncIterator[tuple[RedisSessions, RedisLink]]:
    async with open_redis(server.url, "a", wait=COMMAND_WAIT) as link:
        await link.call("FLUSHALL")
        store = RedisSessions(Nodes(link, "http://127.0.0.1:1"), ttl=60.0, max_events=100)
        try:
            yield store, link
        finally:
            store.close()


async def read(store: RedisSessions, session_id: str = ID) -> StoredSession:
    found = await store.fetch(session_id, within=1.0)
    return found[0]


def begun() -> SessionChanges:
    changes = SessionChanges()
    changes.save(record(ID, state={"level": "débug"}, initialized=True), begins=True)
    return changes


def changed() -> SessionChanges:
    changes = SessionChanges()
    changes.append(event(1, 0))
    return changes


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_written_is_what_is_read(server: RedisServer, seed: int) -> None:
    """Compared with the journal in memory that other tests trust."""
    chance = random.Random(seed)
    async with opened(server) as (store, _):
        kept, model = BufferedJournal(store, RuntimeCounters()), FakeJournal(at_once=True)
        for journal in (kept, model):
            journal.save(record(ID, created=1.5, last_seen=2.0))
        number = stream = 0
        alive: dict[int, EventKind] = {}
        waiting: list[int] = []
        for _ in range(300):
            step = chance.randrange(6)
            if step == 0:
                stream += 1
                request = chance.choice([None, stream, f"r{stream}"])
                opened_stream = StreamRecord(stream, request)
                for journal in (kept, model):
                    journal.save_stream(ID, opened_stream)
            elif step in (1, 2, 3):
                number += 1
                on = chance.randint(0, stream)
                kind = alive[number] = chance.choice(KINDS)
                waiting += [number] if on == 0 else []
                payload = json.dumps("é" * chance.randrange(50)).encode()
                for journal in (kept, model):
                    journal.append(ID, event(number, on, kind, payload))
            elif step == 4 and waiting and stream:
                placed = waiting.pop(0)
                if placed in alive:
                    for journal in (kept, model):
                        journal.append(ID, event(placed, stream, alive[placed], b"{}"))
            elif step == 5 and alive:
                gone = chance.sample(sorted(alive), min(3, len(alive)))
                for name in gone:
                    del alive[name]
                for journal in (kept, model):
                    journal.drop(ID, gone)
            if chance.random() < 0.2:
                await stored(kept)
        await stored(kept)
        found, expected = await read(store), model.load(ID)
        kept.close()
        placed_again = {event.number for event in expected.events if event.payload == b"{}"}
        for got, want in zip(found.events, sorted(expected.events, key=lambda e: e.number), strict=True):
            assert (got.number, got.stream, got.kind) == (want.number, want.stream, want.kind)
            assert got.payload == want.payload or got.number in placed_again
        assert found.streams == expected.streams
        assert (found.next_event, found.next_stream) == (expected.next_event, expected.next_stream)
        assert (found.record.client, found.record.created) == (expected.record.client, 1.5)


async def test_streams_that_are_over_are_forgotten_with_their_events(server: RedisServer) -> None:
    async with opened(server) as (store, link):
        store.write({ID: begun()})
        fields = await link.call("HLEN", link.key("session", ID))
        for number in range(1, 200):
            changes = SessionChanges()
            changes.save_stream(StreamRecord(number, number))
            changes.append(event(number, number, "reply"))
            store.write({ID: changes})
            changes = SessionChanges()
            changes.save_stream(StreamRecord(number, number, answered=True))
            if number > 10:
                changes.drop(number - 10)
            store.write({ID: changes})
        assert await link.call("XLEN", link.key("events", ID)) == 10
        assert await link.call("HLEN", link.key("session", ID)) == fields + 20
        assert [stream.number for stream in (await read(store)).streams] == list(range(190, 200))


async def test_a_session_is_kept_as_long_as_an_unused_one(server: RedisServer) -> None:
    async with opened(server) as (store, link):
        changes = begun()
        changes.append(event(1, 0))
        store.write({ID: changes})
        for kind in ("session", "events"):
            left = await link.call("PTTL", link.key(kind, ID))
            assert 60_000 < left <= store.kept_for * 1000 + 1
            await link.call("PEXPIRE", link.key(kind, ID), 40_000)
        found = await store.fetch(ID, within=1.0)
        assert 25 < found[1] < 40  # seconds since its last use
        used = SessionChanges(last_seen=time.time())
        store.write({ID: used})
        assert await link.call("PTTL", link.key("events", ID)) > 60_000


async def test_the_end_removes_everything_and_later_changes_are_refused(server: RedisServer) -> None:
    async with opened(server) as (store, link):
        changes = begun()
        changes.append(event(1, 0))
        store.write({ID: changes})
        ended = {ID: SessionChanges(forgotten=True)}
        assert store.write(ended) == store.write(ended) == {}
        assert await store.fetch(ID, within=1.0) is None
        assert store.write({ID: changed()}) == {ID: "missing"}
        assert await link.call("KEYS", f"*{ID}") == []


async def test_changes_under_an_old_fence_are_refused_even_the_end(server: RedisServer) -> None:
    async with opened(server) as (store, link):
        store.write({ID: begun()})
        await link.call("HSET", link.key("session", ID), "owner", "b:1", "fence", 2)
        for changes in (changed(), begun(), SessionChanges(forgotten=True)):
            assert store.write({ID: changes}) == {ID: "moved"}
        assert (await read(store)).events == ()


async def test_a_write_that_redis_gets_late_is_ignored(server: RedisServer) -> None:
    """Its connection was given up, the changes were written again with later ones, and then it arrives."""
    async with opened(server) as (store, link):
        store.write({ID: begun()})
        await link.call("HSET", link.key("session", ID), "turn", 1000)
        assert store.write({ID: changed()}) == {}
        assert (await read(store)).events == ()


async def test_the_script_is_sent_again_to_another_redis(server: RedisServer) -> None:
    async with opened(server) as (store, link):
        store.write({ID: begun()})
        await link.call("SCRIPT", "FLUSH")
        assert store.write({ID: changed()}) == {}
        assert len((await read(store)).events) == 1


async def test_redis_without_room_is_a_failure_and_nothing_gets_lost(server: RedisServer) -> None:
    async with opened(server) as (store, link):
        counters = RuntimeCounters()
        kept = BufferedJournal(store, counters, retry=0.02)
        kept.save(record(ID))
        await stored(kept)
        await link.call("CONFIG", "SET", "maxmemory", "1")
        try:
            for number in range(1, 5):
                kept.append(ID, event(number, 0))
            await stored(kept)
            assert counters.journal_failures
        finally:
            await link.call("CONFIG", "SET", "maxmemory", "0")
        kept.append(ID, event(5, 0))

        async def is_whole() -> bool:
            return len((await read(store)).events) == 5

        await until(is_whole)
        kept.close()

"""A journal whose store is shared with other servers: fences, refusals, sessions let go and adopted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from journal_records import ALICE, BOB, SOON, FakeStore, event, record, stored
from longwire.counters import RuntimeCounters
from longwire.journal.buffered_journal import BufferedJournal, Refusal
from longwire.journal.journal import StoredSession, StreamRecord
from waiting import until


@asynccontextmanager
async def playing(**limits: float) -> AsyncIterator[tuple[BufferedJournal, FakeStore]]:
    store = FakeStore()
    kept = BufferedJournal(store, RuntimeCounters(), retry=0.02, **limits)  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(SOON):
            yield kept, store
    finally:
        store.answers.set()
        kept.close()


@pytest.mark.parametrize("why", ["moved", "missing"])
async def test_a_refusal_is_told_before_what_waits_for_it(why: Refusal) -> None:
    told: list[str] = []
    async with playing() as (kept, store):
        kept.on_refused = lambda session_id, fence, refusal: told.append(f"{session_id} {fence} {refusal}")
        kept.save(record(ALICE))
        kept.save(record(BOB))
        await stored(kept)
        store.refused[ALICE] = why
        kept.append(ALICE, event(1))
        kept.append(BOB, event(1))
        kept.when_stored(lambda: told.append("stored"))
        await stored(kept)
    assert told == [f"{ALICE} 1 {why}", "stored"]


async def test_the_first_changes_of_a_session_say_that_they_are_all_of_it() -> None:
    async with playing() as (kept, store):
        kept.save(record(ALICE))
        await stored(kept)
        kept.save(record(ALICE, initialized=True))
        await stored(kept)
        store.fails = True
        kept.save(record(BOB))
        await stored(kept)
        kept.save(record(BOB, initialized=True))
        kept.append(BOB, event(1))
        store.fails = False
        await stored(kept)
        await until(lambda: store.of(BOB))
    assert [changes.is_whole for changes in store.of(ALICE)] == [True, False]
    assert store.of(BOB)[0].is_whole


async def test_an_adopted_session_is_written_under_its_own_fence() -> None:
    async with playing() as (kept, store):
        kept.append(ALICE, event(1))  # not this server's
        kept.adopt(ALICE, 7)
        assert kept.fence_of(ALICE) == 7
        kept.append(ALICE, event(2))
        await stored(kept)
    assert [(changes.fence, changes.is_whole) for changes in store.of(ALICE)] == [(7, False)]


async def test_what_waited_under_an_old_fence_is_never_written_under_a_new_one() -> None:
    async with playing() as (kept, store):
        kept.save(record(ALICE))
        await stored(kept)
        store.asked.clear()
        store.answers.clear()
        store.fails = True
        kept.append(ALICE, event(1))  # is being written when the session goes
        await asyncio.to_thread(store.asked.wait, SOON)
        kept.let_go(ALICE)
        kept.append(ALICE, event(2))
        assert kept.fence_of(ALICE) is None
        kept.adopt(ALICE, 3)
        kept.append(ALICE, event(3))
        store.answers.set()
        await stored(kept)
        store.fails = False
        kept.append(ALICE, event(4))
        await until(lambda: 3 in [changes.fence for changes in store.of(ALICE)])
        await stored(kept)
    late = [changes for changes in store.of(ALICE) if changes.fence == 3]
    assert {number for changes in late for number in changes.events} == {3, 4}


async def test_a_session_can_be_stored_whole_again() -> None:
    async with playing() as (kept, store):
        whole = StoredSession(record(ALICE), (StreamRecord(1, "r"),), (event(4), event(5)), 9, 3)
        kept.replace(whole)  # not this server's
        kept.save(record(ALICE))
        kept.append(ALICE, event(1))
        kept.replace(whole)
        await stored(kept)
    (changes,) = store.of(ALICE)
    assert changes.is_whole
    assert changes.forgotten
    assert list(changes.events) == [4, 5]
    assert (changes.next_event, changes.next_stream, list(changes.streams)) == (9, 3, [1])


async def test_a_process_that_was_paused_goes_on_waiting_for_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it would send by then may be of sessions that another server has."""
    told: list[int] = []
    async with playing() as (kept, store):
        store.answers.clear()
        kept.save(record(ALICE))
        kept.when_stored(lambda: told.append(1))
        # It stood still for longer than the patience of 2 s.
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: time.monotonic() + 5.0)
        for _ in range(3):
            await asyncio.sleep(0)
        assert told == []
        store.answers.set()
        await stored(kept)
        assert told == [1]

"""What sessions and their streams cost in memory, with room for differences between Python versions."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

from fake_responder import FakeClock, FakeResponder
from longwire.counters import RuntimeCounters
from longwire.journal.journal import Journal
from longwire.sessions.registry import Sessions
from longwire.settings import WireLimits

COUNT = 1000
CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
    "clientInfo": {"name": "a-client-of-some-kind", "title": "A client", "version": "2.1.34"},
}


def _bytes_each(make: Callable[[], object]) -> float:
    gc.collect()
    tracemalloc.start()
    made = make()
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert made is not None
    return size / COUNT


def _sessions() -> Sessions:
    clock = FakeClock()
    limits = WireLimits(max_sessions=COUNT, max_sessions_each=COUNT)
    sessions = Sessions(limits, Journal(), RuntimeCounters(), clock, clock)
    for number in range(COUNT):
        sessions.begin(f"address:10.0.0.{number}", "2025-11-25", CLIENT)
    return sessions


def test_a_session_that_ended_leaves_nothing() -> None:
    def used() -> Sessions:
        sessions = _sessions()
        for session in sessions:
            session.log.open_get_stream().attach(FakeResponder())
            session.log.notify(b"1" * 1000)
            sessions.delete(session.id, session.principal)
        return sessions

    each = _bytes_each(used)
    print(f"{each:.0f} bytes of an ended session")
    assert each < 300  # what a table keeps that was filled

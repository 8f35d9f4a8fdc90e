"""More commands than a measurement takes: each is answered or refused, and memory stays as it is."""

from __future__ import annotations

import select
import threading
from pathlib import Path

import pytest

from acuity import _native

COMMANDS = 100_000
DEPTH = 64
PER_BOUNDARY = 4
LONG = 30.0  # seconds; only a failing test takes them

UNKNOWN, REFUSED, ACCEPTED, ANSWERED = range(4)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class Measuring(threading.Thread):
    """Boundary after boundary, with no more commands at each than it may take."""

    def __init__(self, bridge: _native.Bridge) -> None:
        super().__init__()
        self.bridge = bridge
        self.over = threading.Event()
        self.boundaries = 0
        self.most = 0  # at one boundary

    def run(self) -> None:
        while not self.over.is_set():
            self.boundaries += 1
            if self.bridge.publish(self.boundaries):
                self.most = max(self.most, self.drain())

    def drain(self) -> int:
        for taken in range(PER_BOUNDARY):
            command = self.bridge.take()
            if command is None:
                return taken
            ticket, kind, payload = command
            self.bridge.answer(ticket, kind + 1, payload)
        return PER_BOUNDARY


class Flood:
    """The server's side: as many commands as it can send, and what became of each."""

    def __init__(self, bridge: _native.Bridge) -> None:
        self.bridge = bridge
        self.fate = bytearray(COMMANDS)

    def send(self, ticket: int) -> bool:
        accepted = self.bridge.send(ticket, ticket % 5, b"%d" % ticket)
        self.fate[ticket] = ACCEPTED if accepted else REFUSED
        return accepted

    def collect(self) -> None:
        for ticket, kind, payload in self.bridge.replies():
            assert (kind, payload) == (ticket % 5 + 1, b"%d" % ticket)
            assert self.fate[ticket] == ACCEPTED, "answered twice, or never accepted"
            self.fate[ticket] = ANSWERED

    def wait_and_collect(self) -> None:
        assert select.select([self.bridge.fileno()], [], [], LONG)[0], "a reply was lost"
        self.collect()


@pytest.mark.usefixtures("quick_switches")
@pytest.mark.parametrize("patient", [False, True])
def test_a_flood_is_answered_or_refused_and_memory_stays_flat(patient: bool) -> None:
    bridge = _native.Bridge(DEPTH)
    measuring, flood = Measuring(bridge), Flood(bridge)
    resident = 0
    measuring.start()
    try:
        for ticket in range(COMMANDS):
            accepted = flood.send(ticket)
            if patient and not accepted:
                flood.wait_and_collect()
            elif ticket % 100 == 0:
                flood.collect()
            if ticket == COMMANDS // 10:
                resident = resident_bytes()
        while bridge.outstanding:
            flood.wait_and_collect()
        grown = resident_bytes() - resident
    finally:
        measuring.over.set()
        measuring.join()

    assert set(flood.fate) == {REFUSED, ANSWERED}
    assert flood.fate.count(REFUSED) == bridge.refused
    assert flood.fate.count(ANSWERED) > (COMMANDS // 2 if patient else DEPTH)
    assert measuring.most <= PER_BOUNDARY
    assert grown < 1 << 20  # sixteen bytes lost with each command would be more

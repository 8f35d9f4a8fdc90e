"""Turns that several processes take: slots and a fair line of tickets, as files of one folder.

    slot-0, slot-1, …    one for each job that may run at once; taken: locked by the process that runs it
    line/…               an empty file for each job that waits: ROUND-TIME-CLIENT-PROCESS-NUMBER
    processes/           a locked file for each process (acuity.jobs.instances)
    lock                 locked while somebody looks at the line or changes it

The system releases the locks of a process that ends, for whatever reason: its slots are free at once, and its
tickets are removed by the next that sees them. A ticket's round makes the line fair: the first job of a
client joins the round that is served now, each further one the round after the one before it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2s
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from acuity.errors import JobError
from acuity.jobs.instances import Instance
from acuity.jobs.queue import line_full, share_full

logger: Final = logging.getLogger(__name__)

Item = TypeVar("Item")

_POLL: Final = 0.05  # seconds


class _Ticket(NamedTuple):
    """The place of one waiting job; tickets compare in the order in which they are served."""

    round: int
    time: int  # of the machine's monotonic clock, which all its processes share
    client: str
    process: str
    number: int

    @classmethod
    def parse(cls, name: str) -> _Ticket:
        round, time, client, process, number = name.split("-")
        return cls(int(round), int(time), client, process, int(number))

    @property
    def name(self) -> str:
        return "-".join(map(str, self))


class SharedTurns(Generic[Item]):
    """The turns of this process among those that use the folder, all with the same number of slots."""

    poll: float | None = _POLL

    def __init__(self, folder: Path, slots: int, limit: int, each: int | None) -> None:
        self._folder = folder
        self._slots = slots
        self._limit = limit
        self._each = limit if each is None else each
        self._line = folder / "line"
        self._waiting: dict[_Ticket, Item] = {}
        self._running: dict[Item, int] = {}  # the descriptors that hold their slots
        self._instance: Instance | None = None
        self._lock = -1
        self._number = 0

    def open(self) -> None:
        try:
            self._line.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _opened(self._folder / "lock")
            self._instance = Instance(self._folder / "processes")
            self._instance.tidy()
        except OSError as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        self.clear()
        for item in tuple(self._running):
            self.leave(item)
        if self._instance is not None:
            self._instance.close()
            self._instance = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self, client: str, item: Item) -> bool:
        try:
            with self._alone() as process:
                line = self._tickets()
                if not line and (slot := self._free_slot()) is not None:
                    self._running[item] = slot
                    return True
                self._waiting[
                    self._join(line, blake2s(client.encode(), digest_size=8).hexdigest(), process)
                ] = item
        except OSError as error:
            raise self._unusable(error) from error
        return False

    def next(self) -> Item | None:
        if not self._waiting:
            return None
        try:
            with self._alone():
                first = self._tickets()[0]
                if first not in self._waiting or (slot := self._free_slot()) is None:
                    return None
                (self._line / first.name).unlink(missing_ok=True)
        except OSError as error:  # it is asked again soon
            logger.warning("%s", self._unusable(error))
            return None
        item = self._waiting.pop(first)
        self._running[item] = slot
        return item

    def leave(self, item: Item) -> None:
        slot = self._running.pop(item, None)
        if slot is not None:
            # A child that was just forked has the descriptor until it runs its program.
            fcntl.flock(slot, fcntl.LOCK_UN)
            os.close(slot)

    def remove(self, client: str, item: Item) -> bool:
        for ticket, waiting in self._waiting.items():
            if waiting is item:
                del self._waiting[ticket]
                with suppress(OSError):
                    (self._line / ticket.name).unlink(missing_ok=True)
                return True
        return False

    def clear(self) -> list[Item]:
        items = [self._waiting[ticket] for ticket in sorted(self._waiting)]
        for item in items:
            self.remove("", item)
        return items

    def positions(self) -> Iterator[tuple[Item, int]]:
        if not self._waiting:
            return
        try:
            with self._alone():
                line = self._tickets()
        except OSError as error:
            logger.warning("%s", self._unusable(error))
            return
        for place, ticket in enumerate(line, start=1):
            if ticket in self._waiting:
                yield self._waiting[ticket], place

    @contextmanager
    def _alone(self) -> Iterator[str]:
        """While no other process looks at the line; yields this process's name."""
        if self._instance is None:
            raise JobError("the server is stopping and takes no more work: try again when it is back")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield self._instance.id
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _tickets(self) -> list[_Ticket]:
        """Those of running processes, in the order of their turns."""
        assert self._instance is not None
        found = set(self._waiting)  # even if somebody removed their files
        alive: dict[str, bool] = {}
        for name in os.listdir(self._line):
            try:
                ticket = _Ticket.parse(name)
            except ValueError:
                continue  # not one of ours
            process = ticket.process
            if process not in alive:
                alive[process] = self._instance.alive(process)
            if alive[process]:
                found.add(ticket)
            else:
                (self._line / name).unlink(missing_ok=True)
        return sorted(found)

    def _join(self, line: list[_Ticket], client: str, process: str) -> _Ticket:
        """A new ticket; raises QueueFull."""
        if len(line) >= self._limit:
            raise line_full(self._limit)
        rounds = [ticket.round for ticket in line if ticket.client == client]
        if len(rounds) >= self._each:
            raise share_full(self._each)
        served = line[0].round if line else 0
        round = max(served, max(rounds) + 1) if rounds else served
        self._number += 1
        ticket = _Ticket(round, time.monotonic_ns(), client, process, self._number)
        os.close(_opened(self._line / ticket.name))
        return ticket

    def _free_slot(self) -> int | None:
        """The descriptor of a slot that is locked from now on; None: all are taken."""
        for number in range(self._slots):
            slot = _opened(self._folder / f"slot-{number}")
            try:
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(slot)
                continue
            return slot
        return None

    def _unusable(self, error: OSError) -> JobError:
        return JobError(
            f"the folder '{self._folder}', by which the server's processes take turns, can't be used "
            f"({error.strerror}): restart the server"
        )


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

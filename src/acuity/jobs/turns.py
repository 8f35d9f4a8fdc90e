"""Turns: which waiting job may run next, and how many may run at once.

Jobs of any kind share a number of places, of which one client gets all but one at most; one more place is for
short jobs only. A job that stays too long in that has to leave it: see dispatch.py. So a short job waits only
for other short ones, however much long work there is.

The next job is that of the client with the fewest running jobs. Where several have as few, rounds decide: the
first job of a client joins the round that is served now, later by as many rounds as the client has jobs
running, and each further one the round after the one before it. So a client with many jobs doesn't delay the
others, and no job is passed over for ever.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2s
from typing import Generic, NamedTuple, TypeVar

from acuity.errors import QueueFull


class Ticket(NamedTuple):
    """The place of one waiting job. Tickets compare by their rounds, then by when they came."""

    round: int
    time: int  # of the machine's monotonic clock, which all its processes share
    client: str  # a digest of its name
    short: int  # 1: may take the place for short work
    process: str
    number: int

    @classmethod
    def parse(cls, name: str) -> Ticket:
        """The ticket of that name; raises ValueError."""
        round, time, client, short, process, number = name.split("-")
        return cls(int(round), int(time), client, int(short), process, int(number))

    @property
    def name(self) -> str:
        return "-".join(map(str, self))


def in_order(line: Iterable[Ticket], running: Counter[str]) -> list[Ticket]:
    """The tickets in the order of their turns, if no running job ends before."""
    ahead = Counter(running)
    turns = []
    for ticket in sorted(line):
        turns.append((ahead[ticket.client], ticket))
        ahead[ticket.client] += 1
    return [ticket for _, ticket in sorted(turns)]


Item = TypeVar("Item")


class JobLane(NamedTuple):
    """Where a job runs."""

    client: str
    short: bool  # the place for short work
    descriptor: int = -1  # where a locked file stands for it


class Turns(Generic[Item]):
    """The turns of a process that is alone. Nothing here waits."""

    poll: float | None = None  # seconds after which a waiting item should ask again; None: leave() frees all

    def __init__(self, places: int, limit: int, each: int | None = None, most: int | None = None) -> None:
        """`limit` items may wait, `each` of one client; `most` of one client may run, short ones aside."""
        self._kinds = (*[False] * places, True)
        self._limit = limit
        self._each = limit if each is None else each
        self._most = max(1, places - 1) if most is None else most
        self._waiting: dict[Ticket, Item] = {}
        self._running: dict[Item, JobLane] = {}
        self._number = 0

    def open(self) -> None:
        """Called before all else; raises JobError."""

    def close(self) -> None:
        """Give back all places and forget who waits. May be called again."""
        self.clear()
        for item in tuple(self._running):
            self.leave(item)

    def __len__(self) -> int:
        """The number of items of this process that wait."""
        return len(self._waiting)

    def enter(self, client: str, item: Item, *, short: bool = False, again: bool = False) -> bool:
        """Give the item a place (True) or let it wait (False); raises JobError, such as QueueFull.

        One that waits `again` is not refused.
        """
        key = blake2s(client.encode(), digest_size=8).hexdigest()
        with self._alone() as process:
            line = self._line()
            with self._places() as (free, running):
                self._number += 1
                served = min((ticket.round - running[ticket.client] for ticket in line), default=0)
                last = max((ticket.round for ticket in line if ticket.client == key), default=-1)
                round = max(served + running[key], last + 1, 0)
                mine = Ticket(round, time.monotonic_ns(), key, int(short), process, self._number)
                place = self._place_for([mine], [*line, mine], free, running)
                if place is not None:
                    self._running[item] = place[1]
                    return True
            if not again:
                self._check_room(line, key)
            self._write(mine)
            self._waiting[mine] = item
        return False

    def _check_room(self, line: Sequence[Ticket], client: str) -> None:
        """Raise QueueFull if no more of all clients, or of this one, may wait."""
        whose, limit = "the queue", self._limit
        if len(line) < limit:
            whose, limit = "your share of the queue", self._each
            if sum(ticket.client == client for ticket in line) < limit:
                return
        raise QueueFull(f"{whose} is full ({limit} waiting): try again when some are done, or cancel some")

    def next(self) -> Item | None:
        """A waiting item whose turn it is, with its place; None: there is none now."""
        if not self._waiting:
            return None
        with self._alone():
            line = self._line()
            with self._places() as (free, running):
                found = self._place_for(self._waiting, line, free, running)
                if found is None:
                    return None
                ticket, place = found
                self._erase(ticket)
                item = self._waiting.pop(ticket)
                self._running[item] = place
        return item

    def is_short(self, item: Item) -> bool:
        """Whether the item has the place for short work."""
        return self._running[item].short

    def leave(self, item: Item) -> None:
        self._running.pop(item, None)

    def remove(self, item: Item) -> bool:
        """Let an item wait no longer; returns whether it waited."""
        for ticket, waiting in self._waiting.items():
            if waiting is item:
                del self._waiting[ticket]
                self._erase(ticket)
                return True
        return False

    def clear(self) -> list[Item]:
        """Let no item wait any longer; returns them in the order of their tickets."""
        items = [self._waiting[ticket] for ticket in sorted(self._waiting)]
        for item in items:
            self.remove(item)
        return items

    def positions(self) -> Iterator[tuple[Item, int]]:
        """The waiting items of this process and their places among all that wait, 1 is next."""
        if not self._waiting:
            return
        with self._alone(), self._places() as (_, running):
            line = in_order(self._line(), running)
        for place, ticket in enumerate(line, start=1):
            if ticket in self._waiting:
                yield self._waiting[ticket], place

    def _place_for(
        self, mine: Container[Ticket], line: list[Ticket], free: dict[bool, int], running: Counter[str]
    ) -> tuple[Ticket, JobLane] | None:
        """A ticket of mine whose turn it is, and its place, which is then no longer free."""
        for short in sorted(free):
            ordered = in_order(line, running)
            may = [t for t in ordered if (t.short if short else running[t.client] < self._most)]
            if may and (ticket := may[0]) in mine:
                self._take(free[short], ticket)
                return ticket, JobLane(ticket.client, short, free.pop(short))
        return None

    # ---- what several processes do with files -------------------------------------------------------

    @contextmanager
    def _alone(self) -> Iterator[str]:
        """A block in which no other process uses the line; yields this process's name."""
        yield ""

    def _line(self) -> list[Ticket]:
        return [*self._waiting]

    @contextmanager
    def _places(self) -> Iterator[tuple[dict[bool, int], Counter[str]]]:
        """A free place of each kind (True: for short work), and how many of the others each client has."""
        taken = Counter(place.short for place in self._running.values())
        free = {short: -1 for short in self._kinds if taken[short] < self._kinds.count(short)}
        yield free, Counter(place.client for place in self._running.values() if not place.short)

    def _take(self, descriptor: int, ticket: Ticket) -> None:
        """Let others see whose a place is."""

    def _write(self, ticket: Ticket) -> None:
        """Let others see a ticket."""

    def _erase(self, ticket: Ticket) -> None:
        """Let others see it no longer."""

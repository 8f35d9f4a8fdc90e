"""The line of waiting jobs: who is next, and how many may wait.

The next job is that of the client with the fewest running jobs. Where several have as few, rounds decide: the
first job of a client joins the round that is served now, later by as many rounds as the client has jobs
running, and each further one the round after the one before it. So a client with many jobs doesn't delay the
others, and no job is passed over for ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


def next_round(line: Sequence[Ticket], client: str, running: Counter[str]) -> int:
    """The round of a client's next ticket."""
    served = min((ticket.round - running[ticket.client] for ticket in line), default=0)
    last = max((ticket.round for ticket in line if ticket.client == client), default=-1)
    return max(served + running[client], last + 1, 0)


def in_order(line: Iterable[Ticket], running: Counter[str]) -> list[Ticket]:
    """The tickets in the order of their turns, if no running job ends before."""
    ahead = Counter(running)
    turns = []
    for ticket in sorted(line):
        turns.append((ahead[ticket.client], ticket))
        ahead[ticket.client] += 1
    return [ticket for _, ticket in sorted(turns)]


def chosen(line: Iterable[Ticket], running: Counter[str], most: int, *, short: bool) -> Ticket | None:
    """The ticket that gets a free place: one for short work, or one of the others.

    Of those others a client has at most so many.
    """
    for ticket in in_order(line, running):
        if ticket.short if short else running[ticket.client] < most:
            return ticket
    return None


def check_room(line: Sequence[Ticket], client: str, limit: int, each: int) -> None:
    """Raise QueueFull if no more of all clients, or of this one, may wait."""
    if len(line) >= limit:
        raise QueueFull(f"the queue is full ({limit} waiting): try again when some are done, or cancel some")
    if sum(ticket.client == client for ticket in line) >= each:
        raise QueueFull(
            f"your share of the queue is full ({each} waiting): try again when some are done, or cancel some"
        )

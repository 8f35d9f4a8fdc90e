"""Turns: which waiting job may run next, and how many may run at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from acuity.jobs.queue import FairQueue

Item = TypeVar("Item")


class Turns(Protocol[Item]):
    """Gives slots to items, to one of each client in turn. Nothing here waits."""

    poll: float | None  # seconds after which a waiting item should ask again; None: only leave() frees slots

    def open(self) -> None:
        """Called before all else; raises JobError."""
        ...

    def close(self) -> None:
        """Give back all slots and forget who waits. May be called again."""
        ...

    def __len__(self) -> int:
        """The number of items of this process that wait."""
        ...

    def enter(self, client: str, item: Item) -> bool:
        """Give the item a slot (True) or let it wait (False); raises JobError, such as QueueFull."""
        ...

    def next(self) -> Item | None:
        """A waiting item whose turn it is, with its slot; None: there is none now."""
        ...

    def leave(self, item: Item) -> None:
        """Give back an item's slot."""
        ...

    def remove(self, client: str, item: Item) -> bool:
        """Let an item wait no longer; returns whether it waited."""
        ...

    def clear(self) -> list[Item]:
        """Let no item wait any longer; returns them in the order of their turns."""
        ...

    def positions(self) -> Iterator[tuple[Item, int]]:
        """The waiting items of this process and their places among all that wait, 1 is next."""
        ...


class OwnTurns(Generic[Item]):
    """The turns of a process that is alone."""

    poll: float | None = None

    def __init__(self, slots: int, limit: int, each: int | None) -> None:
        self._slots = slots
        self._queue: FairQueue[Item] = FairQueue(limit, each)
        self._taken = 0

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def __len__(self) -> int:
        return len(self._queue)

    def enter(self, client: str, item: Item) -> bool:
        if self._taken < self._slots:
            self._taken += 1
            return True
        self._queue.push(client, item)
        return False

    def next(self) -> Item | None:
        if self._taken >= self._slots or not len(self._queue):
            return None
        self._taken += 1
        return self._queue.pop()

    def leave(self, item: Item) -> None:
        self._taken -= 1

    def remove(self, client: str, item: Item) -> bool:
        return self._queue.remove(client, item)

    def clear(self) -> list[Item]:
        return self._queue.clear()

    def positions(self) -> Iterator[tuple[Item, int]]:
        return ((item, place) for place, item in enumerate(self._queue, start=1))

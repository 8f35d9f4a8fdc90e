"""A bounded queue that serves clients in turn, so that a client with many jobs doesn't delay the others."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from acuity.errors import QueueFull

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """A queue that takes one item of each client in turn, and each client's items in order.

    Clients are kept in the order of their next turn. Served clients and new ones go to the end.
    """

    def __init__(self, limit: int, each: int | None = None) -> None:
        self._limit = limit
        self._each = limit if each is None else each
        self._waiting: OrderedDict[str, deque[Item]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def push(self, client: str, item: Item) -> None:
        """Add an item; raises QueueFull."""
        if self._length >= self._limit:
            raise line_full(self._limit)
        mine = self._waiting.get(client, ())
        if len(mine) >= self._each:
            raise share_full(self._each)
        self._waiting.setdefault(client, deque()).append(item)
        self._length += 1

    def pop(self) -> Item:
        """Remove and return the next item; raises IndexError if the queue is empty."""
        if not self._waiting:
            raise IndexError("the queue is empty")
        client, mine = self._waiting.popitem(last=False)
        item = mine.popleft()
        self._length -= 1
        if mine:
            self._waiting[client] = mine
        return item

    def remove(self, client: str, item: Item) -> bool:
        """Remove an item; returns whether it was in the queue."""
        mine = self._waiting.get(client)
        if mine is None or item not in mine:
            return False
        mine.remove(item)
        self._length -= 1
        if not mine:
            del self._waiting[client]
        return True

    def clear(self) -> list[Item]:
        """Empty the queue; returns its items in the order of their turns."""
        items = list(self)
        self._waiting.clear()
        self._length = 0
        return items

    def __iter__(self) -> Iterator[Item]:
        """The items in the order in which they would be served."""
        rounds = [iter(mine) for mine in self._waiting.values()]
        while rounds:
            still = []
            for items in rounds:
                for item in items:
                    yield item
                    still.append(items)
                    break
            rounds = still


def line_full(waiting: int) -> QueueFull:
    return QueueFull(f"the queue is full ({waiting} waiting): try again when some are done, or cancel some")


def share_full(waiting: int) -> QueueFull:
    return QueueFull(
        f"your share of the queue is full ({waiting} waiting): try again when some are done, or cancel some"
    )

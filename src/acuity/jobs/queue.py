"""Who is next: a bounded queue that goes round the clients, so that one with many jobs holds up nobody."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from acuity.errors import QueueFull

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """First come, first served for each client; one of each client in turn.

    Clients stand in the order of their next turn. Whoever was served goes to the end, whoever is new joins
    there.
    """

    def __init__(self, limit: int, each: int | None = None) -> None:
        self._limit = limit
        self._each = limit if each is None else each
        self._waiting: OrderedDict[str, deque[Item]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def push(self, client: str, item: Item) -> None:
        """Join the queue; raises QueueFull."""
        if self._length >= self._limit:
            raise QueueFull(
                f"the queue is full ({self._limit} waiting): try again when some are done, or cancel some"
            )
        mine = self._waiting.get(client, ())
        if len(mine) >= self._each:
            raise QueueFull(
                f"your share of the queue is full ({self._each} waiting): "
                "try again when some are done, or cancel some"
            )
        self._waiting.setdefault(client, deque()).append(item)
        self._length += 1

    def pop(self) -> Item:
        """Whoever is next; raises IndexError when nobody waits."""
        if not self._waiting:
            raise IndexError("nobody waits")
        client, mine = self._waiting.popitem(last=False)
        item = mine.popleft()
        self._length -= 1
        if mine:
            self._waiting[client] = mine
        return item

    def remove(self, client: str, item: Item) -> bool:
        """Leave the queue; whether it was there."""
        mine = self._waiting.get(client)
        if mine is None or item not in mine:
            return False
        mine.remove(item)
        self._length -= 1
        if not mine:
            del self._waiting[client]
        return True

    def clear(self) -> list[Item]:
        """Empty the queue; who was in it, in the order of their turns."""
        items = list(self)
        self._waiting.clear()
        self._length = 0
        return items

    def __iter__(self) -> Iterator[Item]:
        """In the order of their turns, if nobody else comes."""
        rounds = [iter(mine) for mine in self._waiting.values()]
        while rounds:
            still = []
            for items in rounds:
                for item in items:
                    yield item
                    still.append(items)
                    break
            rounds = still

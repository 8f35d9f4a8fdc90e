"""Page-locked memory in one piece, allocated before it is asked for.

Locking pages takes a third of a second for a gigabyte, and longer in small pieces, which a command would
wait for at its first frames. So an early start does it for those.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from typing import Final

_PAGE: Final = 4096


class PinnedRoom:
    """Gives out parts of such memory, and takes them back; any thread may use it."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all memory: in a process that was forked it belongs to the other one."""
        self._lock = threading.Lock()
        self._next = self._end = 0
        self._returned: defaultdict[int, list[int]] = defaultdict(list)  # by size

    def add(self, address: int, size: int) -> None:
        """Have this memory from now on, which begins with a page and lasts as long as the process."""
        with self._lock:
            self._next, self._end = address, address + size

    def take(self, size: int) -> int | None:
        """The address of so many bytes; None if there is no room for them."""
        whole = _whole_pages(size)
        with self._lock:
            if self._returned[whole]:
                return self._returned[whole].pop()
            if self._end - self._next < whole:
                return None
            self._next += whole
            return self._next - whole

    def give_back(self, address: int, size: int) -> None:
        """Nobody uses these bytes any more."""
        with self._lock:
            self._returned[_whole_pages(size)].append(address)


def _whole_pages(size: int) -> int:
    return max(-(-size // _PAGE), 1) * _PAGE


ROOM: Final = PinnedRoom()  # of this process, for all cards
os.register_at_fork(after_in_child=ROOM.clear)

"""How much of the interpreter reading clients may take from a measurement that runs.

An answer is made under Python's lock, and the measuring thread waits for that lock meanwhile. So the CPU time
of the server's thread is metered and charged to the client it was spent for. A client that spent more than
the share of what measuring takes waits with its next question until it is even again; others are answered at
once. Who steers never waits, and while nothing is measured nobody does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final

SHARE: Final = 0.07  # for all clients that are in debt together
# On a busy machine it is a share of the CPU time that measuring got; but of half of the time at least,
# for measurements that wait for their pictures.
_FLOOR: Final = 0.5
# Seconds of CPU time that a client may owe and still be answered at once: dozens of calls of vmaf.status. Who
# owes more waits until it is about even, so that most answers are the quick ones between two such waits.
TOLERATED: Final = 0.005
_EVEN: Final = 0.001
_MOST: Final = 0.2  # seconds that a client can owe: HTTP clients give up after a few seconds of waiting
_LOOK: Final = 0.1  # seconds between looks at whether the measurement still runs
_LEAST: Final = 0.01  # seconds to sleep: waking up costs something too, which is charged like all else
_LEFT: Final = "(left)"  # what those owe who have disconnected

POSTS: Final = "posts"
# Whose account the present request goes to.
PAYER: Final[ContextVar[str]] = ContextVar("acuity_payer", default=POSTS)


class Budget:
    """CPU time that clients owe, in seconds. For the server's thread."""

    def __init__(
        self,
        running: Callable[[], bool],
        *,
        share: float = SHARE,
        clock: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] = time.process_time,
        used: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        """`running` says whether frames are measured now; `worked` and `used` are the CPU time of the process
        and of the calling thread.
        """
        self._running = running
        self._share = share
        self._clock = clock
        self._worked = worked
        self._used = used
        self._sleep = sleep
        self._debts: dict[str, float] = {}  # of those who owe something
        self._client: str | None = None  # for whom the thread works now, if that is charged
        self._mark = 0.0  # how much of its time is charged already
        self._paid = clock()  # up to when debts were paid off
        self._seen = worked()  # the process's time then

    def enter(self, client: str) -> None:
        """A client has connected: it takes over what those owe who left, who may be itself."""
        owed = self._debts.pop(_LEFT, 0.0)
        if owed:
            self._debts[client] = self._debts.get(client, 0.0) + owed

    def leave(self, client: str) -> None:
        """A client has disconnected."""
        owed = self._debts.pop(client, 0.0)
        if owed:
            self._debts[_LEFT] = self._debts.get(_LEFT, 0.0) + owed
        if self._client == client:
            self._client = _LEFT

    def owed(self, client: str) -> float:
        """Charge what was done so far; from here on the thread works for this client, who owes so much."""
        used, now, worked = self._used(), self._clock(), self._worked()
        debts = self._debts
        if debts:
            elapsed, others = now - self._paid, worked - self._seen - (used - self._mark)
            paid = max(min(elapsed, others), elapsed * _FLOOR) * self._share / len(debts)
            self._debts = debts = {name: owed - paid for name, owed in debts.items() if owed > paid}
        running = self._running()
        if not running:
            debts.clear()
        elif self._client is not None:
            debts[self._client] = min(debts.get(self._client, 0.0) + used - self._mark, _MOST)
        self._mark, self._paid, self._seen = used, now, worked
        self._client = client if running else None
        return debts.get(client, 0.0)

    def admits(self, client: str) -> bool:
        """Whether this client is answered at once."""
        return self.owed(client) <= TOLERATED

    async def turn(self) -> None:
        """Wait until the client of the present request may be answered, or go on being answered."""
        client = PAYER.get()
        if self.admits(client):
            return
        while (owed := self.owed(client)) > _EVEN:
            until_even = (owed - _EVEN) * len(self._debts) / self._share
            await self._sleep(min(max(until_even, _LEAST), _LOOK))

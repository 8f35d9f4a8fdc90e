"""The budget of CPU time that clients may take from a running measurement by reading.

An answer is made under Python's lock, and the measuring thread waits for that lock meanwhile. So the CPU time
of the server's thread is charged to the client it was spent for. A client that spent more than a share of the
measurement's time waits with its next request until its debt is paid off; others are answered at once.
Requests that steer never wait, and while nothing is measured none does.
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
# Seconds of CPU time that a client may owe and still be answered at once: dozens of calls of vmaf.status. One
# that owes more waits until it owes next to nothing, so that most answers come quickly between two waits.
TOLERATED: Final = 0.005
_EVEN: Final = 0.001
_MAX_DEBT: Final = 0.2  # seconds that a client can owe: HTTP clients give up after a few seconds of waiting
_LOOK: Final = 0.1  # seconds between looks at whether the measurement still runs
_MIN_SLEEP: Final = 0.01  # seconds: waking up costs something too, which is charged like all else
_LEFT: Final = "(left)"  # the account of clients that have disconnected

POSTS: Final = "posts"
PAGES: Final = "pages"  # all live pages together: a hundred of them take no more than one client may
# The account of the present request.
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
        self._running, self._share, self._clock, self._worked = running, share, clock, worked
        self._used, self._sleep = used, sleep
        self._debts: dict[str, float] = {}  # of those who owe something
        self._client: str | None = None  # for whom the thread works now, if that is charged
        self._mark = 0.0  # how much of its time is charged already
        self._paid = clock()  # up to when debts were paid off
        self._seen = worked()  # the process's time then

    def enter(self, client: str) -> None:
        """Begin an account; it takes over the debts of clients that left, as it may be one of them."""
        owed = self._debts.pop(_LEFT, 0.0)
        if owed:
            self._debts[client] = self._debts.get(client, 0.0) + owed

    def leave(self, client: str) -> None:
        owed = self._debts.pop(client, 0.0)
        if owed:
            self._debts[_LEFT] = self._debts.get(_LEFT, 0.0) + owed
        if self._client == client:
            self._client = _LEFT

    def owed(self, client: str) -> float:
        """Charge the time since the last call, and work for this client from here on; returns its debt."""
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
            debts[self._client] = min(debts.get(self._client, 0.0) + used - self._mark, _MAX_DEBT)
        self._mark, self._paid, self._seen = used, now, worked
        self._client = client if running else None
        return debts.get(client, 0.0)

    def admits(self, client: str) -> bool:
        """Whether this client is answered at once."""
        return self.owed(client) <= TOLERATED

    def when_admitted(self, client: str, work: Callable[[], object]) -> None:
        """Do some work for a client at once, or as soon as it is admitted. For work that nobody awaits."""
        if self.admits(client):
            work()
        else:
            asyncio.get_running_loop().call_later(_LOOK, self.when_admitted, client, work)

    async def turn(self) -> None:
        """Wait until the client of the present request may be answered, or go on being answered."""
        client = PAYER.get()
        if self.admits(client):
            return
        while (owed := self.owed(client)) > _EVEN:
            until_even = (owed - _EVEN) * len(self._debts) / self._share
            await self._sleep(min(max(until_even, _MIN_SLEEP), _LOOK))

"""The delay of the event loop: by how much timers missed their time, the worst of the last seconds.

Every request waits that long before anything looks at it, so a probe should know.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

TOO_LATE: Final = 2.0  # seconds
WINDOW: Final = 10.0  # seconds that a delay is remembered, and longer where the loop is late
_EVERY: Final = 0.25  # seconds between two looks


class LoopLag:
    """Looks at the clock at fixed times, and remembers how much later it was."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._late: deque[float] = deque(maxlen=round(WINDOW / _EVERY))
        self._due: float | None = None  # None: nobody looks

    @property
    def seconds(self) -> float:
        """The longest delay of the last seconds, the present one included."""
        present = 0.0 if self._due is None else self._clock() - self._due
        return max(present, 0.0, *self._late)

    def problem(self) -> str | None:
        """Why the server should get no more work, in a sentence; None: it is in time."""
        late = self.seconds
        if late <= TOO_LATE:
            return None
        return f"its event loop was {late:.1f} s late within the last {WINDOW:g} s"

    def look(self) -> None:
        """Note how late it is, and when to look again."""
        now = self._clock()
        if self._due is not None:
            self._late.append(now - self._due)
        self._due = now + _EVERY

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Look again and again while the block lasts."""
        task = asyncio.get_running_loop().create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            self._due = None

    async def _watch(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(_EVERY)

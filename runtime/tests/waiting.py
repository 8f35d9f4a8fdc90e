"""How tests wait: for what gives no sign, such as another process, and on a loop whose clock leaps."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable
from inspect import isawaitable
from typing import Any

SOON = 30.0  # seconds, after which a test gives up
_TURNS = 100  # of the loop, in which most of what this process does by itself is done
_PAUSE = 0.005  # seconds between two looks after that


async def until(look: Callable[[], Any], seconds: float = SOON) -> Any:
    """What is looked for, as soon as it is there; where looking means asking, the answer is awaited."""
    async with asyncio.timeout(seconds):
        turns = _TURNS
        while True:
            found = look()
            if isawaitable(found):
                found, turns = await found, 0
            if found:
                return found
            turns -= 1
            await asyncio.sleep(0 if turns > 0 else _PAUSE)


def until_true(look: Callable[[], object], seconds: float = SOON) -> None:
    """The same where no loop runs."""
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end, "it didn't come"
        time.sleep(_PAUSE)


class _Leaping(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class LeapingLoop(asyncio.SelectorEventLoop):
    """Its clock leaps to the next timer as soon as nothing else is to do. Not for I/O, nor for threads."""

    def __init__(self) -> None:
        self._leaping = _Leaping()
        super().__init__(self._leaping)

    def time(self) -> float:
        return self._leaping.now

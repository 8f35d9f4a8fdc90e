"""The pages that are open: a command that serves one ends when the last was closed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Final

PAGE_NAME: Final = "acuity-live-page"  # what the page calls itself in its handshake
# Seconds without a word after which a page counts as closed: browsers let hidden ones speak once a minute.
SILENCE: Final = 100.0


class Watchers:
    """The pages by the connection they have. For the server's loop."""

    def __init__(self, silence: float = SILENCE, clock: Callable[[], float] = time.monotonic) -> None:
        self._silence = silence
        self._clock = clock
        self._heard: dict[Hashable, float] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        begin = self._clock() - self._silence
        return sum(heard >= begin for heard in self._heard.values())

    def heard(self, page: Hashable) -> bool:
        """Note that a page sent something; returns whether it is new."""
        new = page not in self._heard
        self._heard[page] = self._clock()
        return new

    def left(self, page: Hashable) -> None:
        """Note that a page was closed."""
        self._heard.pop(page, None)
        self._changed.set()

    async def everybody_left(self, patience: float = 0.0) -> None:
        """Wait until no page is open; one that is loaded anew gets so many seconds to come back."""
        while True:
            while len(self):
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._silence / 10):
                        await self._changed.wait()
            await asyncio.sleep(patience)
            if not len(self):
                return

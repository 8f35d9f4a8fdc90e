"""Progress on its way to a listener that may be slow: the newest counts, older ones are dropped."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Final

from acuity.jobs.spec import Progress, ProgressListener

logger: Final = logging.getLogger(__name__)

_PATIENCE: Final = 0.5  # seconds that a listener gets for the last one


class Forwarder:
    """Calls a listener one progress at a time. Telling never waits, and holds one progress at most."""

    def __init__(self, listener: ProgressListener) -> None:
        self._listener = listener
        self._newest: Progress | None = None
        self._changed = asyncio.Event()
        self._closed = False
        self._task = asyncio.get_running_loop().create_task(self._forward())

    def tell(self, progress: Progress) -> None:
        self._newest = progress
        self._changed.set()

    def drop(self) -> None:
        """Stop at once."""
        self._task.cancel()

    async def finish(self) -> None:
        """Stop after the last one, or when the listener is too slow for it."""
        self._closed = True
        self._changed.set()
        try:
            await asyncio.wait_for(asyncio.shield(self._task), _PATIENCE)
        except TimeoutError:
            logger.debug("a listener is too slow for the last progress")
        finally:
            self._task.cancel()

    async def _forward(self) -> None:
        # A task that ends with an error keeps its frame, and that one the listener with its whole request.
        with suppress(asyncio.CancelledError):
            await self._forward_all()

    async def _forward_all(self) -> None:
        while True:
            progress, self._newest = self._newest, None
            if progress is not None:
                try:
                    await self._listener(progress)
                except Exception as error:  # whoever listened is gone; the work isn't theirs alone to stop
                    logger.debug("nobody listens to progress any more: %r", error)
                    return
            elif self._closed:
                return
            else:
                self._changed.clear()
                await self._changed.wait()

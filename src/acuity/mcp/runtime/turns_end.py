"""Requests that come in the same turn of the event loop are run together at its end.

A request passes through more code than a processor's cache holds. So one whose turn begins with reading all
that has come, and goes on with running all of it, takes three quarters of the time of one that reads and runs
each request by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context
from typing import Any, Final

from acuity.mcp.runtime.exchange import Exchange

logger: Final = logging.getLogger(__name__)


class TurnsEnd:
    """Runs the first request of a turn at once, since it may be alone, and the others at the turn's end."""

    __slots__ = ("_begun", "_waiting", "gathers")

    def __init__(self) -> None:
        self.gathers = False  # False: all are run at once
        self._begun = False
        self._waiting: list[tuple[Exchange, Context, Callable[..., None], tuple[Any, ...]]] = []

    def run(self, exchange: Exchange, variables: Context, work: Callable[..., None], *given: Any) -> None:
        """Call a function of a request with these variables, now or at the end of the turn."""
        if self._begun:
            self._waiting.append((exchange, variables, work, given))
            return
        if self.gathers:
            self._begun = True
            asyncio.get_running_loop().call_soon(self.end)
        variables.run(work, *given)

    def end(self) -> None:
        """Run what waits; a turn begins."""
        self._begun = False
        waiting, self._waiting = self._waiting, []
        for exchange, variables, work, given in waiting:
            try:
                variables.run(work, *given)
            except Exception:  # the others go on
                logger.exception("the request %r could not be answered", exchange.request_id)
                if not exchange.is_over:
                    exchange.cancelled()

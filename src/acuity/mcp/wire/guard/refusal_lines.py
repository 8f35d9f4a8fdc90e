"""The log lines about refused requests: few, however many requests are refused.

The first refusal of an address for a reason is logged. Further ones within a minute are counted, and a line
says afterwards how many there were. So nobody fills a log, or the terminal of a measurement, by knocking.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Final

from acuity.mcp.rates import Allowances, Rate

logger: Final = logging.getLogger(__name__)

_ONE: Final = Rate(1, 60.0)  # lines about one address and reason
_ALL: Final = Rate(30, 60.0)  # lines about all together: an attacker may have many addresses


class RefusalLines:
    """Logs refusals, and counts those that it leaves out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._told = Allowances(clock)
        self._left_out = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, level: int, place: str, word: str, reason: str, fields: dict[str, Any]) -> None:
        """Log a refusal, or count it."""
        if not logger.isEnabledFor(level):
            return
        one = (place, word)
        if self._told.wait(one, _ONE) > 0 or self._told.wait(None, _ALL) > 0:
            self._left_out += 1
            self._plan()
            return
        self._told.take(one, _ONE)
        self._told.take(None, _ALL)
        self.sum_up()
        logger.log(level, "refused a request: %s", reason, extra=fields)

    def sum_up(self) -> None:
        """Log how many refusals were left out since this was said last."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        count, self._left_out = self._left_out, 0
        if count:
            text = "refused %d more request%s for reasons that were logged before"
            fields = {"event": "http_refused_more", "left_out": count}
            logger.warning(text, count, "s" * (count != 1), extra=fields)

    def _plan(self) -> None:
        if self._timer is None:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:  # the next line says it
                return
            self._timer = loop.call_later(_ONE.seconds, self.sum_up)

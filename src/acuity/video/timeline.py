"""When a player shows the frames that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


class Timeline:
    """Times of the pairs, in seconds of the reference: from its rate, or one by one where that varies."""

    def __init__(self, rate: Fraction | None, start: Fraction | None, *, variable: bool) -> None:
        self._rate = rate  # pairs a second
        self._start = start or 0  # what was skipped
        self._times: list[float | None] | None = [] if variable else None

    def note(self, time: float | None) -> None:
        """Take the presentation time of the next pair; kept only where nothing else tells it."""
        if self._times is not None:
            self._times.append(time)

    def at(self, pair: int) -> float | None:
        """When the pair is shown; None where neither times nor a rate are known."""
        if self._times:
            first, time = self._times[0], self._times[min(pair, len(self._times) - 1)]
            return None if first is None or time is None else time - first
        return None if self._rate is None else float(pair / self._rate + self._start)

"""Presentation times of a pair of videos.

`Clock` checks that both videos advance together; `Timeline` has the time of each pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acuity.errors import PairingError, to_set
from acuity.video.pairs.pair_plan import PairPlan
from acuity.video.picture import Picture

if TYPE_CHECKING:
    from fractions import Fraction


class Clock:
    """Checks that both videos advance by the same time from pair to pair.

    Steps are compared, not times: two videos may start apart and may drift, but a missing or
    doubled frame makes one step differ by a frame.
    """

    def __init__(self, plan: PairPlan) -> None:
        self._plan = plan
        self._offset: float | None = None

    def check(self, ref: Picture, dis: Picture, index: int) -> None:
        slack, one, other = self._plan.time_slack, self._plan.ref.name, self._plan.dis.name
        if slack is None:
            return
        by_time = self._plan.pair_by == "time"
        by_index = to_set("vfr" if by_time else "rate", "by-index")
        if ref.pts is None or dis.pts is None:
            if by_time:
                raise PairingError(
                    f"frame {index} has no presentation time, so the videos cannot be paired by time: pass ",
                    by_index,
                    " to compare frame by frame",
                )
            return
        offset = dis.pts - ref.pts
        before, self._offset = self._offset, offset
        if before is not None and abs(offset - before) > slack:
            raise PairingError(
                f"frame {index} is shown at {ref.pts:.3f} s in {one} but at {dis.pts:.3f} s in {other},"
                " so frames are missing or doubled in one of them: make them the same, or pass ",
                by_index,
                " to compare frame by frame",
            )


class Timeline:
    """The times of the pairs, in seconds of the reference: from its rate, or one by one if that varies."""

    def __init__(self, rate: Fraction | None, start: Fraction | None, *, variable: bool) -> None:
        self._rate = rate  # pairs a second
        self._start = start or 0  # what was skipped
        self._times: list[float | None] | None = [] if variable else None

    def note(self, time: float | None) -> None:
        """Add the presentation time of the next pair; kept only if the rate varies."""
        if self._times is not None:
            self._times.append(time)

    def at(self, pair: int) -> float | None:
        """The time of a pair; None if neither times nor a rate are known."""
        if self._times:
            first, time = self._times[0], self._times[min(pair, len(self._times) - 1)]
            return None if first is None or time is None else time - first
        return None if self._rate is None else float(pair / self._rate + self._start)

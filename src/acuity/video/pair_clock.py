"""Whether two videos keep step, by their presentation times."""

from __future__ import annotations

from acuity.errors import PairingError
from acuity.video.pair_plan import Plan
from acuity.video.picture import Picture


class Clock:
    """Watches that both videos move on by the same time from pair to pair.

    Steps are compared, not times: two clocks may start apart and may drift, but a frame that is
    missing or doubled in one video makes one step differ by a frame.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._offset: float | None = None

    def check(self, ref: Picture, dis: Picture, index: int) -> None:
        slack, one, other = self._plan.time_slack, self._plan.ref.name, self._plan.dis.name
        if slack is None:
            return
        by_time = self._plan.pair_by == "time"
        option = "vfr=by-index" if by_time else "rate=by-index"
        if ref.pts is None or dis.pts is None:
            if by_time:
                raise PairingError(
                    f"frame {index} has no presentation time, so the videos cannot be paired by time:"
                    f" pass {option} to compare frame by frame"
                )
            return
        offset = dis.pts - ref.pts
        before, self._offset = self._offset, offset
        if before is not None and abs(offset - before) > slack:
            raise PairingError(
                f"frame {index} is shown at {ref.pts:.3f} s in {one} but at {dis.pts:.3f} s in {other},"
                " so frames are missing or doubled in one of them:"
                f" make them the same, or pass {option} to compare frame by frame"
            )

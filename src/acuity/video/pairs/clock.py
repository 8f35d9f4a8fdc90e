"""When the frames of two videos are shown: which frame of one belongs to which of the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from acuity.errors import PairingError, Remedy, to_set
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pair_plan import PairPlan
from acuity.video.picture import Picture
from acuity.video.readers.reader import VideoInfo

if TYPE_CHECKING:
    from fractions import Fraction

# Rates this close are the same: 24000/1001 and 23.976 are, 24 and 23.976 are not.
_SAME_RATE: Final = 5000  # as one part in so many
# Steps between the times of two videos of variable rate differ by rounding to milliseconds only.
_EQUAL_TIMES: Final = 0.003
_BY_PICTURES: Final = (to_set("align", "auto"), " to find out by their pictures which frames belong together")
_FOUND: Final = "their pictures tell which frames belong together"
_GIF_TICK: Final = 0.01  # seconds: no GIF has exactly 30 frames a second
_TOGETHER: Final = 0.0005  # seconds within which two videos start together


def match_times(plan: PairPlan, options: PairOptions) -> None:
    """Pair by time if a frame rate varies, otherwise by number."""
    ref, dis = plan.sides
    variable = [side for side in plan.sides if side.info.variable_rate]
    timed = ref.info.kind == dis.info.kind == "container"
    if variable and options.vfr == "by-time":
        if not timed:
            said = f"{variable[0].name} has a variable frame rate and the other video has no times to pair by"
            if options.align != "auto":
                raise PairingError(f"{said}: pass ", *_BY_PICTURES, ", or, ", *_same_frames("vfr"))
            plan.warn("vfr", f"{said}: {_FOUND}")
            return
        plan.pair_by, plan.time_slack = "time", _EQUAL_TIMES
        plan.inform("vfr", f"{variable[0].name} has a variable frame rate: paired by time")
        return
    if variable:
        plan.warn("vfr", f"{variable[0].name} has a variable frame rate: frames are paired by number")
        return
    _match_rates(plan, options)
    if timed and options.rate != "by-index":
        rate = min(filter(None, (ref.info.rate, dis.info.rate)), default=None)
        plan.time_slack = float(1 / rate / 2) if rate else None


def _match_rates(plan: PairPlan, options: PairOptions) -> None:
    ref, dis = plan.sides
    one, other = ref.info.rate, dis.info.rate
    if one is None or other is None or abs(one / other - 1) * _SAME_RATE <= 1:
        return
    if any(_rounds(side.info, one, other) for side in plan.sides):
        return
    said = f"{ref.name} has {_fps(one)} and {dis.name} {_fps(other)} frames a second"
    ratio = max(one, other) / min(one, other)
    whole = round(ratio)
    even = abs(ratio / whole - 1) * _SAME_RATE <= 1
    if options.rate == "match" and even:
        faster = ref if one > other else dis
        faster.stride = whole
        plan.convert("rate", f"{said}: every {_nth(whole)} frame of {faster.name} is compared")
    elif options.align == "auto" and options.rate != "by-index":
        plan.warn("rate", f"{said}: {_FOUND}, and those that one of them repeats or lacks are left out")
    elif options.rate == "by-index" or (options.rate == "refuse" and not plan.container):
        plan.warn("rate", f"{said}: frame n is compared with frame n")
    else:
        every = f" to compare every {_nth(whole)} frame of the faster one, or "
        match = (to_set("rate", "match"), every) if even else ()
        raise PairingError(f"{said}: pass ", *match, *_BY_PICTURES, ", or, ", *_same_frames("rate"))


def _same_frames(option: Literal["rate", "vfr"]) -> tuple[str | Remedy, ...]:
    """The advice to compare by number, with what that takes for granted."""
    return "if frame n of both is the same picture, ", to_set(option, "by-index")


def _rounds(info: VideoInfo, one: Fraction, other: Fraction) -> bool:
    """Whether the video is a GIF, whose frames take as many ticks of its clock at either rate."""
    if info.codec != "gif" or not info.frames:
        return False
    return abs(info.frames / one - info.frames / other) <= _GIF_TICK


def _fps(rate: Fraction) -> str:
    return f"{float(rate):.3f}".rstrip("0").rstrip(".")


def _nth(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")


class Clock:
    """Checks that both videos advance by the same time from pair to pair.

    Steps are compared, not times: two videos may start apart and may drift, but a missing or
    doubled frame makes one step differ by a frame.
    """

    def __init__(self, plan: PairPlan) -> None:
        self._plan = plan
        self._before: tuple[float, float] | None = None  # the times of the pair before, in both
        self._start = 0.0  # how much later the distorted video starts

    def check(self, ref: Picture, dis: Picture, index: int) -> None:
        if (slack := self._plan.time_slack) is None:
            return
        by_time = self._plan.pair_by == "time"
        by_index = _same_frames("vfr" if by_time else "rate")
        if ref.pts is None or dis.pts is None:
            if by_time:
                raise PairingError(
                    f"frame {index} has no presentation time, so the videos cannot be paired by time: pass ",
                    to_set("align", "auto"),
                    ", or, ",
                    *by_index,
                )
            return
        before, self._before = self._before, (ref.pts, dis.pts)
        if before is None:
            self._start = dis.pts - ref.pts
            return
        if abs((dis.pts - ref.pts) - (before[1] - before[0])) > slack:
            steps = ref.pts - before[0], dis.pts - before[1]
            raise PairingError(
                f"frame {index} {self._difference(self._before, steps)}, so frames are missing or "
                "doubled in one of them: pass ",
                to_set("align", "auto"),
                " to leave out what the other lacks, or, ",
                *by_index,
                " whatever the times say",
            )

    def _difference(self, times: tuple[float, float], steps: tuple[float, float]) -> str:
        """When a frame is shown in both; as steps from the frame before where the videos start apart."""
        one, other = self._plan.ref.name, self._plan.dis.name
        if abs(self._start) < _TOGETHER:
            first, second = _apart(*times)
            if first != second:
                return f"is shown at {first} s in {one} but at {second} s in {other}"
        first, second = _apart(*steps)
        return f"comes {first} s after the one before it in {one} but {second} s after it in {other}"


def _apart(first: float, second: float) -> tuple[str, str]:
    """Both times in milliseconds, or with as many more digits as it takes to tell them apart."""
    texts = ((f"{first:.{digits}f}", f"{second:.{digits}f}") for digits in (3, 4, 5, 6))
    return next((pair for pair in texts if pair[0] != pair[1]), (f"{first:.3f}", f"{second:.3f}"))


class PairTimes:
    """The times of the pairs, in seconds of the reference: from its rate, or one by one if that varies."""

    def __init__(self, rate: Fraction | None, start: Fraction | None, *, variable: bool) -> None:
        self._rate = rate  # pairs a second
        self._start = start or 0  # seconds that were skipped
        self._times: list[float | None] | None = [] if variable else None

    @property
    def varies(self) -> bool:
        """Whether times are noted one by one, and none is known before."""
        return self._times is not None

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

    def to_document(self) -> dict[str, Any]:
        """All times as JSON can hold them; from_document() makes the same timeline of it."""
        rate = None if self._rate is None else str(self._rate)
        return {"rate": rate, "start": str(self._start), "times": self._times}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> PairTimes:
        """The timeline from its document; raises KeyError, TypeError or ValueError."""
        from fractions import Fraction

        rate, times = document["rate"], document["times"]
        found = cls(rate and Fraction(rate), Fraction(document["start"]), variable=times is not None)
        for time in times or ():
            found.note(time)
        return found

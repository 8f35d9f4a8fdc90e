"""Decisions about when frames are shown: which frame of one video belongs to which of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from acuity.errors import PairingError, Remedy, to_set
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pair_plan import PairPlan
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


def match_times(plan: PairPlan, options: PairOptions) -> None:
    """Pair by time if a frame rate varies, otherwise by number."""
    ref, dis = plan.sides
    variable = [side for side in plan.sides if side.info.variable_rate]
    timed = ref.info.kind == dis.info.kind == "container"
    if variable and options.vfr == "by-time":
        if not timed:
            said = f"{variable[0].name} has a variable frame rate and the other video has no times to pair by"
            if options.align != "auto":
                raise PairingError(f"{said}: pass ", *_BY_PICTURES, ", or, ", *same_frames("vfr"))
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
        raise PairingError(f"{said}: pass ", *match, *_BY_PICTURES, ", or, ", *same_frames("rate"))


def same_frames(option: Literal["rate", "vfr"]) -> tuple[str | Remedy, ...]:
    """The advice to compare by number, with what that takes for granted."""
    return "if frame n of both is the same picture, ", to_set(option, "by-index")


def _rounds(info: VideoInfo, one: Fraction, other: Fraction) -> bool:
    """Whether it is a GIF, whose frames take as many ticks of its clock at either rate."""
    if info.codec != "gif" or not info.frames:
        return False
    return abs(info.frames / one - info.frames / other) <= _GIF_TICK


def _fps(rate: Fraction) -> str:
    return f"{float(rate):.3f}".rstrip("0").rstrip(".")


def _nth(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")

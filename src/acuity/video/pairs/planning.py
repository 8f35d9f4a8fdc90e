"""make_plan(): how two videos will be compared, decided from what is known about them before it begins.

No I/O here: two VideoInfos and the options go in, a PairPlan or a PairingError comes out.
"""

from __future__ import annotations

from typing import Final

from acuity.errors import to_set
from acuity.video.pairs.clock import match_times
from acuity.video.pairs.colour import match_matrix, match_rgb, match_transfer
from acuity.video.pairs.pair_options import PairOptions, Rectangle
from acuity.video.pairs.pair_plan import PairPlan, Side
from acuity.video.pairs.samples import match_samples
from acuity.video.pairs.shape import check_shape, crop, turn
from acuity.video.readers.reader import VideoInfo


def make_plan(
    ref: VideoInfo,
    dis: VideoInfo,
    options: PairOptions,
    active: tuple[Rectangle | None, Rectangle | None] = (None, None),
) -> PairPlan:
    """Take the decisions in order; `active` is the rectangle between black bars, if those were looked for."""
    plan = PairPlan(Side.of(ref, active[0]), Side.of(dis, active[1]))
    for decide in _DECISIONS:
        decide(plan, options)
    return plan


def _deinterlace(plan: PairPlan, options: PairOptions) -> None:
    for side in plan.sides:
        if not side.info.interlaced:
            continue
        if options.deinterlace == "warn":
            plan.warn(
                "interlaced",
                f"{side.name} is interlaced, and VMAF is made for progressive video: pass ",
                to_set("deinterlace", "bwdif"),
            )
        elif options.deinterlace == "off":
            plan.inform("interlaced", f"{side.name} is interlaced, and compared as it is")
        else:
            side.deinterlace = options.deinterlace
            text = f"{side.name} is deinterlaced with the filter {options.deinterlace}"
            plan.convert("deinterlaced", text)


# Each accepts the pair, adds a step that the notes name, or refuses with the option that settles it.
_DECISIONS: Final = (
    match_transfer,
    _deinterlace,
    match_rgb,
    turn,
    crop,
    check_shape,
    match_matrix,
    match_samples,
    match_times,
)

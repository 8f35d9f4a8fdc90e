"""make_plan(): how two videos will be compared, decided from what is known about them before it begins.

No I/O here: two VideoInfos and the options go in, a PairPlan or a PairingError comes out.
"""

from __future__ import annotations

from typing import Final

from acuity.errors import PairingError, to_set
from acuity.video.pairs.clock import match_times
from acuity.video.pairs.colour import match_matrix, match_rgb, match_transfer, range_differs
from acuity.video.pairs.pair_options import PairOptions, Rectangle
from acuity.video.pairs.pair_plan import PairPlan, Side
from acuity.video.pairs.shape import check_shape, common_size, crop, turn
from acuity.video.picture import PixelFormat
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


# Depths FFmpeg has formats for.
_SCALABLE: Final = (8, 9, 10, 12, 14, 16)


def match_samples(plan: PairPlan, options: PairOptions) -> None:
    """Take both videos to one size and depth, the distorted one to the reference's layout and range."""
    ref, dis = plan.sides
    _check_allowed(plan, options)
    to_full = ref.full_range if range_differs(plan, options) else dis.full_range
    size = common_size(plan, options)
    depth = max(ref.format.depth, dis.format.depth)
    target = PixelFormat(ref.format.layout, depth)
    _fit(plan, ref, size, target, ref.full_range, options.filter)
    _fit(plan, dis, size, target, to_full, options.filter)


def _check_allowed(plan: PairPlan, options: PairOptions) -> None:
    ref, dis = plan.sides
    if options.convert == "force" or (options.convert != "never" and plan.container):
        return
    remedy = "convert one of them, or pass ", to_set("convert", "force")
    if ref.format.layout != dis.format.layout:
        said = f"{ref.name} is {ref.format.layout} and {dis.name} is {dis.format.layout}"
        raise PairingError(f"pixel formats do not match: {said}, so ", *remedy)
    if ref.format.depth != dis.format.depth and options.convert != "depth":
        said = f"{ref.name} has {ref.format.depth} and {dis.name} has {dis.format.depth}"
        raise PairingError(f"bit depths do not match: {said}, so ", *remedy)


def _fit(
    plan: PairPlan, side: Side, size: tuple[int, int], target: PixelFormat, to_full: bool, filter: str
) -> None:
    before = side.format
    scaled = (side.width, side.height) != size
    ranged = side.full_range != to_full
    if not (scaled or ranged) and before == target:
        return
    from acuity.video.pairs.convert import Deepen, Fit, Resample  # most pairs need none of them

    if scaled:
        new = "x".join(map(str, size))
        plan.convert("scaled", f"{side.name} is scaled from {side.size} to {new} with a {filter} filter")
    if before.depth != target.depth:
        plan.convert("bit-depth", f"{side.name} is taken from {before.depth} to {target.depth} bit")
    if before.layout != target.layout != side.info.format.layout:
        text = f"the chroma of {side.name} is taken from {side.info.format.layout} to {target.layout}"
        plan.convert("chroma-layout", text)
    if ranged:
        names = ("limited", "full")
        text = f"{side.name} is taken from {names[side.full_range]} to {names[to_full]} range"
        plan.convert("range", text)
    if scaled or ranged or before.layout != target.layout:
        for odd in {before.depth, target.depth}.difference(_SCALABLE):
            raise PairingError(
                f"video of {odd} bit cannot be converted here: make it 8, 10, 12, 14 or 16 bit"
            )
    if scaled or ranged:
        side.steps.append(Fit(*size, target, side.full_range, to_full, filter))
    else:
        if before.depth != target.depth:
            side.steps.append(Deepen(target.depth, side.full_range))
        if before.layout != target.layout:
            side.steps.append(Resample(target, side.full_range))
    side.width, side.height = size
    side.format, side.full_range = target, to_full


# Each accepts the pair, adds a step that the notes name, or refuses with the option that settles it.
_DECISIONS: Final = (
    match_transfer, _deinterlace, match_rgb, turn, crop, check_shape, match_matrix, match_samples,
    match_times,
)  # fmt: skip

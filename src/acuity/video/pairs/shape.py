"""Decisions about the size and shape of pictures: turning, cropping, scaling, and the display they fill."""

from __future__ import annotations

from typing import Final

from acuity.errors import PairingError, Remedy, to_set
from acuity.video.display import fill, nearest_display
from acuity.video.pairs.pair_options import AUTO, PairOptions, Rectangle
from acuity.video.pairs.pair_plan import PairPlan, Side
from acuity.video.picture import LAYOUTS, PixelFormat

# Shapes this close are the same, so that 854x480 passes for 16:9; aspects of samples are rounded more.
_SAME_SHAPE: Final = 0.01
_SAME_ANAMORPHIC: Final = 0.03
_ROUNDING: Final = 2  # pixels by which any size may be off
# Pixels by which the bars of two videos may seem to differ, since encoding blurs their edge.
_SAME_EDGE: Final = 8


def turn(plan: PairPlan, _: PairOptions) -> None:
    """Turn both pictures upright, if only one is stored so."""
    if len({side.info.extra.get("flipped") for side in plan.sides}) > 1:
        mirrored = next(side for side in plan.sides if "flipped" in side.info.extra)
        raise PairingError(
            f"{mirrored.name} is to be shown mirrored and the other video is not:"
            " encode it mirrored, or remove the mark from its container"
        )
    if plan.ref.info.rotation != plan.dis.info.rotation:
        for side in plan.sides:
            upright(plan, side)


def upright(plan: PairPlan, side: Side) -> None:
    """Turn the pictures of one video as its container says."""
    degrees = side.info.rotation
    if degrees == 0:
        return
    from acuity.video.pairs.convert import Resample, Turn

    side.active = side.active and _turned(side.active, degrees, side.width, side.height)
    if degrees % 180:
        if side.format.layout == "422":  # a quarter turn would leave 4:4:0, which is not supported
            side.format = PixelFormat("444", side.format.depth)
            side.steps.append(Resample(side.format, side.full_range))
        side.width, side.height, side.aspect = side.height, side.width, 1 / side.aspect
    side.steps.append(Turn(degrees))
    plan.convert("rotation", f"{side.name} is turned {degrees} degrees clockwise, as players show it")


def _turned(part: Rectangle, degrees: int, width: int, height: int) -> Rectangle:
    for _ in range(degrees // 90):
        part = Rectangle(part.height, part.width, height - part.top - part.height, part.left)
        width, height = height, width
    return part


def crop(plan: PairPlan, options: PairOptions) -> None:
    """Cut both pictures alike, to the part that was asked for or that lies between black bars."""
    if options.crop is None:
        return
    named = options.rectangle
    parts = (named, _of_distorted(plan, named)) if named is not None else _between_bars(plan)
    for side, part in zip(plan.sides, parts, strict=True):
        _cut(plan, side, part)
    plan.crop = parts[0]


def _of_distorted(plan: PairPlan, part: Rectangle) -> Rectangle:
    """The part of the distorted video that belongs to `part` of the reference."""
    ref, dis = plan.sides
    if (ref.width, ref.height) == (dis.width, dis.height):
        return part
    sizes = zip(part, (dis.width, dis.height) * 2, (ref.width, ref.height) * 2, strict=True)
    scaled = [edge * size / whole for edge, size, whole in sizes]
    if _same_shape(ref, dis):
        if all(edge.is_integer() for edge in scaled):
            return Rectangle(*map(int, scaled))
        raise PairingError(
            to_set("crop", str(part)),
            f" falls between the pixels of {dis.name} ({dis.size} against {ref.size}):"
            " choose numbers that scale to whole ones",
        )
    return Rectangle(dis.width, dis.height, 0, 0)  # it is cropped already; its shape is checked later


def _between_bars(plan: PairPlan) -> tuple[Rectangle, Rectangle]:
    """The part between the black bars of each; if their shapes differ, the part between the bars of both."""
    ref, dis = plan.sides
    one, other = (side.active or Rectangle(side.width, side.height, 0, 0) for side in plan.sides)
    both = _common(one, other)
    same_size = (ref.width, ref.height) == (dis.width, dis.height)
    if same_size and max(abs(a - b) for a, b in zip(_edges(one), _edges(other), strict=True)) <= _SAME_EDGE:
        return both, both
    if other == (dis.width, dis.height, 0, 0):
        one = _snapped(one, ref, dis)
    elif one == (ref.width, ref.height, 0, 0):
        other = _snapped(other, dis, ref)
    shapes = [
        part.width * side.aspect / part.height for part, side in zip((one, other), plan.sides, strict=True)
    ]
    if abs(shapes[0] / shapes[1] - 1) <= _SAME_SHAPE or not same_size:
        return one, other
    return both, both


def _snapped(part: Rectangle, side: Side, other: Side) -> Rectangle:
    """The part with the exact size of the other video, if that is what it was cropped to."""
    extra = part.width - other.width, part.height - other.height
    if max(map(abs, extra)) > _SAME_EDGE or other.width > side.width or other.height > side.height:
        return part
    left, top = (
        2 * round((edge + more / 2) / 2) for edge, more in zip((part.left, part.top), extra, strict=True)
    )
    left, top = min(max(left, 0), side.width - other.width), min(max(top, 0), side.height - other.height)
    return Rectangle(other.width, other.height, left, top)


def _edges(part: Rectangle) -> tuple[int, int, int, int]:
    return part.left, part.top, part.left + part.width, part.top + part.height


def _common(one: Rectangle, other: Rectangle) -> Rectangle:
    lefts, tops, rights, bottoms = zip(_edges(one), _edges(other), strict=True)
    left, top = max(lefts), max(tops)
    return Rectangle(min(rights) - left, min(bottoms) - top, left, top)


def _cut(plan: PairPlan, side: Side, part: Rectangle) -> None:
    if part == (side.width, side.height, 0, 0):
        return
    if part.left + part.width > side.width or part.top + part.height > side.height:
        raise PairingError(
            to_set("crop", str(part)),
            f" reaches beyond the {side.size} of {side.name}: choose a smaller part",
        )
    across, down = (1 << shift for shift in LAYOUTS[side.format.layout] or (0, 0))
    if any(edge % across for edge in _edges(part)[::2]) or any(edge % down for edge in _edges(part)[1::2]):
        raise PairingError(
            to_set("crop", str(part)),
            f" cuts between the chroma samples of {side.name} ({side.format.layout}): use even numbers",
        )
    from acuity.video.pairs.convert import Cut

    text = f"{side.name} is cut from {side.size} to {part.width}x{part.height} at {part.left},{part.top}"
    plan.convert("crop", text)
    side.steps.append(Cut(part.left, part.top, part.width, part.height))
    side.width, side.height = part.width, part.height


def check_shape(plan: PairPlan, options: PairOptions) -> None:
    """Refuse pictures of another size where libvmaf does, and of another shape everywhere."""
    ref, dis = plan.sides
    same_size = (ref.width, ref.height) == (dis.width, dis.height)
    if same_size and (None in (ref.info.aspect, dis.info.aspect) or _same_shape(ref, dis)):
        return
    if same_size:
        plan.warn(
            "shape",
            f"{ref.name} has samples of {ref.aspect:.4g}:1 and {dis.name} of {dis.aspect:.4g}:1, so players"
            " show them in other shapes: sample is compared with sample",
        )
        return
    if options.scale == "never" or (options.scale == "auto" and not plan.container):
        raise PairingError(
            f"dimensions do not match: {ref.name} is {ref.size} and {dis.name} is {dis.size}, so pass ",
            to_set("scale", "force"),
            " to scale the distorted video to the reference",
        )
    if _same_shape(ref, dis):
        return
    turned = abs(ref.shape * dis.shape - 1) <= _SAME_SHAPE and options.scale != "force"
    what = "is turned on its side beside" if turned else "has another shape than"
    said = f"{dis.name} ({_described(dis)}) {what} {ref.name} ({_described(ref)})"
    if options.scale == "force":
        plan.warn("shape", f"{said}: it is stretched, so the score means little")
        return
    raise PairingError(
        f"{said}: ", *_advice(ref, dis, turned=turned), to_set("scale", "force"), " to stretch it"
    )


def _advice(ref: Side, dis: Side, *, turned: bool) -> tuple[str | Remedy, ...]:
    if turned:
        return ("turn one of them, or pass ",)
    inner = dis.width <= ref.width and dis.height <= ref.height
    if inner and (dis.width == ref.width or dis.height == ref.height):
        left, top = (2 * round((a - b) / 4) for a, b in ((ref.width, dis.width), (ref.height, dis.height)))
        part = Rectangle(dis.width, dis.height, left, top)
        return ("if it is cropped, pass ", to_set("crop", str(part)), ", if not, ")
    return ("if one has black bars, pass ", to_set("crop", AUTO), ", if not, ")


def _described(side: Side) -> str:
    return side.size if side.aspect == 1 else f"{side.size} with samples of {side.aspect:.4g}:1"


def _same_shape(ref: Side, dis: Side) -> bool:
    """Whether both are shown in one shape, or are stored in one where a player isn't told how to show it."""
    unsaid = None in (ref.info.aspect, dis.info.aspect)
    stored = _near(ref, dis, ref.width / ref.height, dis.width / dis.height, _SAME_SHAPE)
    square = ref.aspect == dis.aspect == 1
    return (unsaid and stored) or _near(
        ref, dis, ref.shape, dis.shape, _SAME_SHAPE if square else _SAME_ANAMORPHIC
    )


def _near(ref: Side, dis: Side, one: float, other: float, limit: float) -> bool:
    rounded = _ROUNDING / min(ref.width, ref.height, dis.width, dis.height)
    return abs(one / other - 1) <= max(limit, rounded)


def common_size(plan: PairPlan, options: PairOptions) -> tuple[int, int]:
    """The size that both videos are compared at."""
    ref = plan.ref
    display: str = options.display or plan.display
    if display == AUTO:
        display = nearest_display(ref.width, ref.height)
    plan.display = display
    if display == "native":
        return ref.width, ref.height
    size = fill(display, ref.width, ref.height, ref.aspect)
    ref.aspect = plan.dis.aspect = 1.0
    return size

"""Decides how two videos will be compared, from their descriptions, before a frame is read.

No I/O here: two VideoInfos and the options go in, a PairPlan or a PairingError comes out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from acuity.errors import PairingError, to_set
from acuity.video import notes
from acuity.video.notes import Note
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.picture import PixelFormat
from acuity.video.readers.reader import VideoInfo

if TYPE_CHECKING:
    from fractions import Fraction

    from acuity.video.pairs.convert import Step

# Rates this close are the same: 24000/1001 and 23.976 are, 24 and 23.976 are not.
_SAME_RATE: Final = 5000  # as one part in so many
# Shapes this close are the same, so that 854x480 passes for 16:9.
_SAME_SHAPE: Final = 0.01
# Depths FFmpeg has formats for.
_SCALABLE: Final = (8, 9, 10, 12, 14, 16)
# Steps between the times of two videos of variable rate differ by rounding to milliseconds only.
_EQUAL_TIMES: Final = 0.003


@dataclass(slots=True)
class Side:
    """One of the videos, as it will be after its conversions so far."""

    info: VideoInfo
    width: int
    height: int
    format: PixelFormat
    steps: list[Step] = field(default_factory=list)
    stride: int = 1  # every so many of its frames are compared

    @classmethod
    def of(cls, info: VideoInfo) -> Side:
        return cls(info, info.width, info.height, info.format)

    @property
    def name(self) -> str:
        return f"'{self.info.path}'"

    @property
    def size(self) -> str:
        return f"{self.width}x{self.height}"

    @property
    def full_range(self) -> bool:
        """Video that does not say its range is limited."""
        return bool(self.info.full_range)


@dataclass(slots=True)
class PairPlan:
    """The conversions and the pairing of two videos. `conversions` are sentences for the report."""

    ref: Side
    dis: Side
    pair_by: Literal["index", "time"] = "index"
    time_slack: float | None = None  # seconds a step may differ; None: times are not compared
    notes: list[Note] = field(default_factory=list)
    conversions: list[str] = field(default_factory=list)

    @property
    def container(self) -> bool:
        """Whether a container is involved; raw and Y4M pairs are held to libvmaf's rules."""
        return "container" in (self.ref.info.kind, self.dis.info.kind)

    def convert(self, code: str, text: str) -> None:
        self.conversions.append(text)
        self.notes.append(notes.info(code, text))

    def warn(self, code: str, text: str) -> None:
        self.notes.append(notes.warning(code, text))


def make_plan(ref: VideoInfo, dis: VideoInfo, options: PairOptions) -> PairPlan:
    plan = PairPlan(Side.of(ref), Side.of(dis))
    for decide in _DECISIONS:
        decide(plan, options)
    return plan


def _rotation(plan: PairPlan, _: PairOptions) -> None:
    sides = (plan.ref, plan.dis)
    if len({side.info.extra.get("flipped") for side in sides}) > 1:
        mirrored = next(side for side in sides if "flipped" in side.info.extra)
        raise PairingError(
            f"{mirrored.name} is to be shown mirrored and the other video is not:"
            " encode it mirrored, or remove the mark from its container"
        )
    if plan.ref.info.rotation == plan.dis.info.rotation:
        return
    from acuity.video.pairs.convert import Resample, Turn

    for side in sides:
        degrees = side.info.rotation
        if degrees == 0:
            continue
        if degrees % 180:
            if side.format.layout == "422":  # a quarter turn would leave 4:4:0, which is not supported
                side.format = PixelFormat("444", side.format.depth)
                side.steps.append(Resample(side.format, side.full_range))
            side.width, side.height = side.height, side.width
        side.steps.append(Turn(degrees))
        plan.convert("rotation", f"{side.name} is turned {degrees} degrees clockwise, as players show it")


def _transfer(plan: PairPlan, options: PairOptions) -> None:
    ref, dis = plan.ref, plan.dis
    if not (ref.info.hdr or dis.info.hdr):
        return
    if ref.info.transfer == dis.info.transfer:
        plan.warn("hdr", "both videos are HDR, and VMAF's models were made for SDR: compare scores with care")
        return
    said = f"{ref.name} is {_transfer_name(ref.info)} and {dis.name} is {_transfer_name(dis.info)}"
    known = ref.info.kind == dis.info.kind == "container"
    if known and options.hdr == "refuse":
        raise PairingError(
            f"{said}: convert one of them, or pass ",
            to_set("hdr", "ignore"),
            " to compare the samples as they are",
        )
    plan.warn("hdr", f"{said}: the samples are compared as they are")


def _transfer_name(info: VideoInfo) -> str:
    kind = "HDR" if info.hdr else "SDR" if info.transfer else "not marked as HDR"
    return f"{kind} ({info.transfer})" if info.transfer else kind


def _size(plan: PairPlan, options: PairOptions) -> None:
    ref, dis = plan.ref, plan.dis
    if (ref.width, ref.height) == (dis.width, dis.height):
        return
    if options.scale == "never" or (options.scale == "auto" and not plan.container):
        raise PairingError(
            f"dimensions do not match: {ref.name} is {ref.size} and {dis.name} is {dis.size}, so pass ",
            to_set("scale", "force"),
            " to scale the distorted video to the reference",
        )
    if abs(ref.width * dis.height / (ref.height * dis.width) - 1) > _SAME_SHAPE:
        plan.warn(
            "shape",
            f"{dis.name} ({dis.size}) has another shape than {ref.name} ({ref.size}):"
            " if it is cropped or has black bars, the score means little",
        )


def _samples(plan: PairPlan, options: PairOptions) -> None:
    """Depth, layout, range and size are brought together in as few steps as possible."""
    ref, dis = plan.ref, plan.dis
    _allow_samples(plan, options)
    range_differs = _range_differs(plan, options)
    scaled = (ref.width, ref.height) != (dis.width, dis.height)
    if not (scaled or range_differs) and ref.format == dis.format:
        return
    from acuity.video.pairs.convert import Deepen, Fit, Resample  # most pairs need none of them

    depth = max(ref.format.depth, dis.format.depth)
    if ref.format.depth < depth:
        plan.convert("bit-depth", f"{ref.name} is taken from {ref.format.depth} to {depth} bit")
        ref.format = PixelFormat(ref.format.layout, depth)
        ref.steps.append(Deepen(depth, ref.full_range))
    before, target = dis.format, PixelFormat(ref.format.layout, depth)
    if scaled:
        plan.convert("scaled", f"{dis.name} is scaled from {dis.size} to {ref.size} with a bicubic filter")
    if before.depth != depth:
        plan.convert("bit-depth", f"{dis.name} is taken from {before.depth} to {depth} bit")
    if before.layout != target.layout:
        text = f"the chroma of {dis.name} is taken from {before.layout} to {target.layout}"
        plan.convert("chroma-layout", text)
    if range_differs:
        names = ("limited", "full")
        text = f"{dis.name} is taken from {names[dis.full_range]} to {names[ref.full_range]} range"
        plan.convert("range", text)
    if scaled or range_differs or before.layout != target.layout:
        for odd in {before.depth, depth}.difference(_SCALABLE):
            raise PairingError(
                f"video of {odd} bit cannot be converted here: make it 8, 10, 12, 14 or 16 bit"
            )
    if scaled or range_differs:
        to_full = ref.full_range if range_differs else dis.full_range
        dis.steps.append(Fit(ref.width, ref.height, target, dis.full_range, to_full))
    else:
        if before.depth != depth:
            dis.steps.append(Deepen(depth, dis.full_range))
        if before.layout != target.layout:
            dis.steps.append(Resample(target, dis.full_range))
    dis.width, dis.height, dis.format = ref.width, ref.height, target


def _allow_samples(plan: PairPlan, options: PairOptions) -> None:
    ref, dis = plan.ref, plan.dis
    if options.convert == "force" or (options.convert != "never" and plan.container):
        return
    remedy = "convert one of them, or pass ", to_set("convert", "force")
    if ref.format.layout != dis.format.layout:
        said = f"{ref.name} is {ref.format.layout} and {dis.name} is {dis.format.layout}"
        raise PairingError(f"pixel formats do not match: {said}, so ", *remedy)
    if ref.format.depth != dis.format.depth and options.convert != "depth":
        said = f"{ref.name} has {ref.format.depth} and {dis.name} has {dis.format.depth}"
        raise PairingError(f"bit depths do not match: {said}, so ", *remedy)


def _range_differs(plan: PairPlan, options: PairOptions) -> bool:
    """Whether the distorted video has to be converted to the reference's range."""
    ref, dis = plan.ref, plan.dis
    if ref.full_range == dis.full_range:
        return False
    said = f"{ref.name} is {_range_name(ref)} and {dis.name} is {_range_name(dis)}"
    # A container that says nothing is limited by all conventions; a raw or Y4M file may be anything.
    certain = all(side.info.full_range is not None or side.info.kind == "container" for side in (ref, dis))
    if options.convert == "never":
        raise PairingError(f"{said}: convert one of them, or pass ", to_set("convert", "auto"))
    if certain and (options.convert == "force" or plan.container):
        return True
    plan.warn("range", f"{said}: the samples are compared as they are")
    return False


def _range_name(side: Side) -> str:
    if side.info.full_range is None and side.info.kind != "container":
        return "of unknown range"
    return "full range" if side.full_range else "limited range"


def _colour(plan: PairPlan, _: PairOptions) -> None:
    ref, dis = plan.ref.info, plan.dis.info
    for what, one, other in (("matrix", ref.matrix, dis.matrix), ("primaries", ref.primaries, dis.primaries)):
        if one and other and one != other:
            text = f"colour {what} differ ({one} and {other}): the samples are compared as they are"
            plan.warn(what, text)


def _interlaced(plan: PairPlan, _: PairOptions) -> None:
    for side in (plan.ref, plan.dis):
        if side.info.interlaced:
            plan.warn("interlaced", f"{side.name} is interlaced, and VMAF is made for progressive video")


def _times(plan: PairPlan, options: PairOptions) -> None:
    ref, dis = plan.ref, plan.dis
    variable = [side for side in (ref, dis) if side.info.variable_rate]
    timed = ref.info.kind == dis.info.kind == "container"
    if variable and options.vfr == "by-time":
        if not timed:
            raise PairingError(
                f"{variable[0].name} has a variable frame rate and the other video has no times to pair by:"
                " pass ",
                to_set("vfr", "by-index"),
                " to compare frame by frame",
            )
        plan.pair_by, plan.time_slack = "time", _EQUAL_TIMES
        plan.notes.append(notes.info("vfr", f"{variable[0].name} has a variable frame rate: paired by time"))
        return
    if variable:
        plan.warn("vfr", f"{variable[0].name} has a variable frame rate: frames are paired by number")
        return
    _rates(plan, options)
    if timed and options.rate != "by-index":
        rate = min(filter(None, (ref.info.rate, dis.info.rate)), default=None)
        plan.time_slack = float(1 / rate / 2) if rate else None


def _rates(plan: PairPlan, options: PairOptions) -> None:
    ref, dis = plan.ref, plan.dis
    one, other = ref.info.rate, dis.info.rate
    if one is None or other is None or abs(one / other - 1) * _SAME_RATE <= 1:
        return
    said = f"{ref.name} has {_fps(one)} and {dis.name} {_fps(other)} frames a second"
    ratio = max(one, other) / min(one, other)
    whole = round(ratio)
    even = abs(ratio / whole - 1) * _SAME_RATE <= 1
    if options.rate == "match" and even:
        faster = ref if one > other else dis
        faster.stride = whole
        plan.convert("rate", f"{said}: every {_nth(whole)} frame of {faster.name} is compared")
    elif options.rate == "by-index" or (options.rate == "refuse" and not plan.container):
        plan.warn("rate", f"{said}: frame n is compared with frame n")
    else:
        every = f" to compare every {_nth(whole)} frame of the faster one, or "
        match = ("pass ", to_set("rate", "match"), every) if even else ("convert one of them, or pass ",)
        index = to_set("rate", "by-index"), " to compare frame n with frame n"
        raise PairingError(f"{said}: ", *match, *index)


def _fps(rate: Fraction) -> str:
    return f"{float(rate):.3f}".rstrip("0").rstrip(".")


def _nth(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")


_DECISIONS: Final = (_rotation, _transfer, _size, _samples, _colour, _interlaced, _times)

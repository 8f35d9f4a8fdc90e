"""Decisions about colour: transfer, RGB, matrix, primaries and range, by what the two videos say.

A tag that one of them lacks is taken for the other's: encoders often lose tags, and leave the samples alone.
Where RGB meets video without a matrix, the size decides, as in players: BT.709 for HD, BT.601 below.
"""

from __future__ import annotations

from typing import Final

from acuity.errors import PairingError, to_set
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pair_plan import PairPlan, Side
from acuity.video.picture import ColourTags, PixelFormat
from acuity.video.readers.reader import RgbTarget, VideoInfo
from acuity.video.rgb import MATRIX_NAMES, NARROW_PRIMARIES, SRGB, WEIGHTS, usual_matrix

# The primaries that a matrix implies where none are named.
_IMPLIED: Final = {"bt2020nc": "bt2020", "bt709": "bt709", "bt470bg": "bt709", "smpte170m": "bt709"}
_RANGES: Final = ("limited", "full")


def colour_tags(
    info_ref: VideoInfo | None, info_dis: VideoInfo | None, pair_matrix: str | None, pair_range: bool | None
) -> ColourTags:
    """The tags of the samples as they are compared: the reference's, or else the other video's.

    Images, and RGB in general, are sRGB unless they say something else.
    """
    videos = [video for video in (info_ref, info_dis) if video is not None]
    ref, dis = videos[0], videos[-1]
    transfer = ref.transfer or dis.transfer
    if transfer is None and any(video.rgb or video.image for video in videos):
        transfer = SRGB
    # The range that raw video can't say is the other's, whose samples it is compared with as they are.
    mute = ref.full_range is None and not ref.tagged
    full_range = dis.full_range if mute and not dis.rgb else pair_range
    said = any(video.full_range is not None for video in videos)
    primaries = ref.primaries or (dis.primaries if dis.matrix in (None, pair_matrix) else None)
    primaries = primaries or _IMPLIED.get(str(pair_matrix))
    return ColourTags(pair_matrix, full_range if said else None, transfer, primaries)


def match_transfer(plan: PairPlan, options: PairOptions) -> None:
    """Refuse HDR against SDR, which no arithmetic of samples settles."""
    ref, dis = plan.sides
    if not (ref.info.hdr or dis.info.hdr):
        return
    if ref.info.transfer == dis.info.transfer:
        plan.warn("hdr", "both videos are HDR, and VMAF's models were made for SDR: compare scores with care")
        return
    said = f"{ref.name} is {_transfer_name(ref.info)} and {dis.name} is {_transfer_name(dis.info)}"
    known = ref.info.tagged and dis.info.tagged
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


def match_rgb(plan: PairPlan, _: PairOptions) -> None:
    """Let the readers turn RGB into YUV, once, with the matrix and range of the other video."""
    rgb = [side for side in plan.sides if side.info.rgb]
    if len(rgb) == 2:
        target = RgbTarget()
        plan.convert("rgb", f"both videos are taken from RGB to {_target_name(target)}")
    elif rgb:
        other = plan.dis if rgb[0] is plan.ref else plan.ref
        matrix = other.matrix
        if matrix is None:
            matrix = _guessed_matrix(other)
            if other.format.layout != "400":  # the luma of gray is gray with any matrix
                name = MATRIX_NAMES[matrix]
                text = f"{other.name} ({other.size}) does not say its matrix: taken for {name}, as in players"
                plan.warn("matrix", text)
        if matrix not in MATRIX_NAMES:
            raise PairingError(
                f"{rgb[0].name} is RGB and {other.name} has the matrix {matrix}, which it cannot be taken to"
                " here: convert one of them"
            )
        target = RgbTarget(matrix, other.full_range)
        text = f"{rgb[0].name} is taken from RGB to {_target_name(target)}, for {other.name}"
        plan.convert("rgb", text)
    for side in rgb:
        side.rgb_target, side.matrix, side.full_range = target, *target


def _target_name(target: RgbTarget) -> str:
    return f"{MATRIX_NAMES[target.matrix]} in {_RANGES[target.full_range]} range"


def _assume_matrix(plan: PairPlan, matrix: str) -> None:
    """Say that a video without a matrix is taken for the other's.

    Encoders keep the samples and may lose the tag. But an encode that says more than its reference was
    probably converted, so there is a warning if players would take the reference for something else.
    """
    name = MATRIX_NAMES.get(matrix, matrix)
    for side in plan.sides:
        if side.matrix is None:
            guess = MATRIX_NAMES[_guessed_matrix(side)]
            text = f"{side.name} does not say its matrix: it is taken for {name}, the other video's"
            if guess == name or side is plan.dis:
                plan.inform("matrix", text)
            else:
                plan.warn("matrix", f"{text}, though players take {side.size} for {guess}: tag it")


def _guessed_matrix(side: Side) -> str:
    """The matrix that players assume for a video that doesn't say its own."""
    return usual_matrix(side.width, side.height)


def match_matrix(plan: PairPlan, options: PairOptions) -> None:
    """Take the distorted video through its own matrix and back through the reference's, as a player would."""
    ref, dis = plan.sides
    if "400" in (ref.format.layout, dis.format.layout):
        return  # the luma of gray is gray with any matrix
    one, other = ref.matrix or dis.matrix, dis.matrix or ref.matrix
    if one is not None and not any(side.info.rgb for side in plan.sides):
        _assume_matrix(plan, one)
    wide = _gamuts(plan, one, other)
    if one == other or MATRIX_NAMES.get(str(one), one) == MATRIX_NAMES.get(str(other), other):
        said = f"{ref.name} has the primaries {wide[0]} and {dis.name} {wide[1]}" if wide else ""
    else:
        said = f"{ref.name} has the matrix {one} and {dis.name} {other}"
    if not said:
        return
    code = "matrix" if "matrix" in said else "primaries"
    if options.colour == "ignore" or (ref.info.transfer != dis.info.transfer and _hdr(plan)):
        plan.warn(code, f"{said}: the samples are compared as they are")
        return
    if options.convert == "never":
        raise PairingError(f"{said}: convert one of them, or pass ", to_set("convert", "auto"))
    if not _convertible(plan, one, other, wide):
        raise PairingError(
            f"{said}, which cannot be converted here: convert one of them, or pass ",
            to_set("colour", "ignore"),
            " to compare the samples as they are",
        )
    how = " in linear light" if wide else ""
    plan.convert(code, f"{said}: {dis.name} is converted{how}, as players show it")
    if dis.full_range != ref.full_range:
        names = _RANGES[dis.full_range], _RANGES[ref.full_range]
        plan.convert("range", f"{dis.name} is taken from {names[0]} to {names[1]} range")
    if dis.format.depth < ref.format.depth:
        text = f"{dis.name} is taken from {dis.format.depth} to {ref.format.depth} bit"
        plan.convert("bit-depth", text)
    _recolour(plan, str(one), str(other), wide)


def _hdr(plan: PairPlan) -> bool:
    return plan.ref.info.hdr or plan.dis.info.hdr


def _gamuts(plan: PairPlan, one: str | None, other: str | None) -> tuple[str, str] | None:
    """The primaries of both, if they are too far apart to be shown alike."""
    said = plan.ref.info.primaries, plan.dis.info.primaries
    if None in said and one != other:  # a player goes by the matrix then
        said = (said[0] or _IMPLIED.get(str(one)), said[1] or _IMPLIED.get(str(other)))
    ref, dis = said
    if ref is None or dis is None or ref == dis or NARROW_PRIMARIES.issuperset((ref, dis)):
        return None
    return ref, dis


def _convertible(plan: PairPlan, one: str | None, other: str | None, wide: tuple[str, str] | None) -> bool:
    from acuity.video.pairs.recolour import CHROMATICITIES

    # Linear light is known of SDR only.
    gamuts = wide is None or (CHROMATICITIES.keys() >= set(wide) and not _hdr(plan))
    return gamuts and all(matrix is None or matrix in WEIGHTS for matrix in (one, other))


def _recolour(plan: PairPlan, one: str, other: str, wide: tuple[str, str] | None) -> None:
    """The steps of the distorted video, which end with the reference's range and the greater depth."""
    from acuity.video.pairs.convert import Resample
    from acuity.video.pairs.recolour import ColourSpace, Recolour

    ref, dis = plan.sides
    if one not in MATRIX_NAMES:  # neither video says it, and primaries need one
        one = other = "bt709"
    if dis.format.layout != "444":
        dis.steps.append(Resample(PixelFormat("444", dis.format.depth), dis.full_range))
    depth = max(ref.format.depth, dis.format.depth)
    primaries = wide or (None, None)
    source = ColourSpace(other, dis.full_range, dis.format.depth, primaries[1])
    target = ColourSpace(one, ref.full_range, depth, primaries[0])
    dis.steps.append(Recolour(source, target))
    dis.format, dis.matrix, dis.full_range = PixelFormat("444", depth), one, ref.full_range
    dis.needs_chroma = True


def range_differs(plan: PairPlan, options: PairOptions) -> bool:
    """Whether the distorted video has to be converted to the reference's range."""
    ref, dis = plan.sides
    if ref.full_range == dis.full_range:
        return False
    said = f"{ref.name} is {_range_name(ref)} and {dis.name} is {_range_name(dis)}"
    certain = all(side.range_known for side in plan.sides)
    tags_count = options.colour == "convert" or options.convert == "force" or plan.container
    if options.convert == "never" and options.colour != "ignore":
        raise PairingError(f"{said}: convert one of them, or pass ", to_set("convert", "auto"))
    if certain and tags_count and options.colour != "ignore":
        return True
    plan.warn("range", f"{said}: the samples are compared as they are")
    return False


def _range_name(side: Side) -> str:
    if not side.range_known:
        return "of unknown range"
    return "full range" if side.full_range else "limited range"

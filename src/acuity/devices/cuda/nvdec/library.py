"""The decoding library that is a part of NVIDIA's driver: its functions, and what cards decode."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from acuity import _native
from acuity.devices.cuda.hardware.driver import LIBRARY as CUDA
from acuity.errors import BackendError, to_set

if TYPE_CHECKING:
    from acuity.devices.cuda.hardware.card import Card
    from acuity.video.picture import PixelFormat

LIBRARY: Final = "libnvcuvid.so.1"
_PREFIX: Final = "cuvid"  # of its functions; others are those of CUDA's driver

_MACROBLOCK: Final = 16  # pixels of a side

Functions = Mapping[str, int]  # addresses by name


class Codec(NamedTuple):
    """How a codec is decoded on cards."""

    number: int  # the driver's
    filter: str | None  # FFmpeg's, which makes packets as the decoder reads them
    tells_damage: bool
    profiles: tuple[str, ...] | None = None  # that are decoded as FFmpeg does, by its names; None: all


# By FFmpeg's names. The lossless frames of H.264's High 4:4:4 Predictive are decoded, too, but otherwise than
# it says.
CODECS: Final = {
    "h264": Codec(4, "h264_mp4toannexb", True,
        ("Constrained Baseline", "Baseline", "Main", "High", "High 10")),
    "hevc": Codec(8, "hevc_mp4toannexb", True, ("Main", "Main 10", "Main Still Picture", "Rext")),
    "vp9": Codec(10, None, False),
    "av1": Codec(11, None, False),
}  # fmt: skip


class Abilities(NamedTuple):
    """What a card can do with one kind of video."""

    engines: int  # decoders that work side by side
    problem: str | None  # why it can't decode it


def load_functions() -> Functions:
    """The addresses of the driver's functions; raises BackendError if the library isn't there."""
    try:
        found = {True: ctypes.CDLL(LIBRARY), False: ctypes.CDLL(CUDA)}
        names = _native.DECODER_FUNCTIONS
        return {name: _address(getattr(found[name.startswith(_PREFIX)], name)) for name in names}
    except (OSError, AttributeError) as error:
        raise BackendError(
            f"the driver's library {LIBRARY} can't be loaded ({error}): start a container with the driver's "
            "video part, as NVIDIA_DRIVER_CAPABILITIES=compute,utility,video",
            ", or pass ",
            to_set("decoder", "cpu"),
        ) from error


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def abilities(
    functions: Functions, card: Card, codec: str, format: PixelFormat, width: int, height: int
) -> Abilities:
    """What the card's decoders can do with video of this codec, format and size."""
    described = f"{codec.upper()} of {format.layout} and {format.depth} bit"
    with card.in_place():
        found = _native.decoder_abilities(dict(functions), CODECS[codec].number, format.depth)
    engines = max(1, found["engines"])
    if found["status"] or not found["supported"]:
        return Abilities(engines, f"the card doesn't decode {described}")
    blocks = -(-width // _MACROBLOCK) * -(-height // _MACROBLOCK)
    least, most = (found["least_width"], found["least_height"]), (found["most_width"], found["most_height"])
    fits = least[0] <= width <= most[0] and least[1] <= height <= most[1] and blocks <= found["most_blocks"]
    if not fits:
        bounds = f"{least[0]}x{least[1]} to {most[0]}x{most[1]}"
        return Abilities(engines, f"the card decodes {described} of {bounds}, and it is {width}x{height}")
    return Abilities(engines, None)

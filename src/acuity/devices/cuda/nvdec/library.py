"""PyNvVideoCodec, as far as Acuity uses it: whether it is there, and what the card's decoders can do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple, Protocol

from acuity.errors import BackendError, to_set
from acuity.video.picture import PixelFormat

PACKAGE: Final = "PyNvVideoCodec"
INSTALL: Final = "pip install 'acuity[nvdec]'"
INSTEAD: Final = (", or pass ", to_set("decoder", "cpu"))

# FFmpeg's names of the codecs that cards decode, the library's, and the filter that makes packets as the
# decoder reads them.
CODECS: Final[dict[str, tuple[str, str | None]]] = {
    "h264": ("H264", "h264_mp4toannexb"),
    "hevc": ("HEVC", "hevc_mp4toannexb"),
    "vp9": ("VP9", None),
    "av1": ("AV1", None),
}
_CHROMA: Final = 1  # the library's number of 4:2:0
_MACROBLOCK: Final = 16  # pixels of a side


class DecodedFrame(Protocol):
    """A picture on a surface of the decoder, which is used anew by the next call."""

    @property
    def timestamp(self) -> int: ...

    def GetPtrToPlane(self, plane: int, /) -> int: ...  # noqa: N802  # the library's name


class NvDecoder(Protocol):
    """One decoder of the library. Its methods raise RuntimeError and the like."""

    def Decode(self, packet: Any, /) -> Sequence[DecodedFrame]: ...  # noqa: N802
    def GetWidth(self) -> int: ...  # noqa: N802
    def GetHeight(self) -> int: ...  # noqa: N802


class Library(Protocol):
    """The module, as far as it is used."""

    PacketData: Callable[[], Any]
    cudaVideoCodec: Any  # noqa: N815
    cudaVideoChromaFormat: Any  # noqa: N815

    def CreateDecoder(self, **settings: Any) -> NvDecoder: ...  # noqa: N802
    def GetDecoderCaps(self, **settings: Any) -> Mapping[str, int]: ...  # noqa: N802


class Abilities(NamedTuple):
    """What a card can do with one kind of video."""

    engines: int  # decoders that work side by side
    problem: str | None  # why it can't decode it


def is_installed() -> bool:
    """Whether the package is there; imports nothing."""
    try:
        return find_spec(PACKAGE) is not None
    except (ImportError, ValueError):
        return False


def load_library() -> Library:
    """The module; raises BackendError if it isn't there or doesn't start."""
    if not is_installed():
        raise BackendError(f"{PACKAGE} is not installed: {INSTALL}", *INSTEAD)
    logger = logging.getLogger(PACKAGE)  # which tells of drivers and modules as it is imported
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    try:
        module: Any = import_module(PACKAGE)
    except Exception as error:  # the library raises whatever its parts do
        raise BackendError(
            f"{PACKAGE} can't start ({_first_line(error)}): start a container with the driver's video part, "
            "as NVIDIA_DRIVER_CAPABILITIES=compute,utility,video",
            *INSTEAD,
        ) from error
    library: Library = module
    return library


def abilities(
    library: Library, card: int, codec: str, format: PixelFormat, width: int, height: int
) -> Abilities:
    """What the card's decoders can do with video of this codec, format and size."""
    name, _ = CODECS[codec]
    described = f"{name} of {format.layout} and {format.depth} bit"
    try:
        found = library.GetDecoderCaps(
            gpuid=card,
            codec=getattr(library.cudaVideoCodec, name),
            chromaformat=library.cudaVideoChromaFormat(_CHROMA),
            bitdepth=format.depth,
        )
    except Exception as error:  # the library raises whatever its parts do
        return Abilities(1, f"the card doesn't decode {described} ({_first_line(error)})")
    engines = max(1, found.get("num_decoder_engines", 1))
    widest, tallest = found.get("width_max", 0), found.get("height_max", 0)
    if not found.get("supported", 1) or not widest or not tallest:
        return Abilities(engines, f"the card doesn't decode {described}")
    blocks = -(-width // _MACROBLOCK) * -(-height // _MACROBLOCK)
    small = width < found.get("width_min", 0) or height < found.get("height_min", 0)
    if width > widest or height > tallest or blocks > found.get("mb_num_max", blocks) or small:
        bounds = f"{found.get('width_min', 0)}x{found.get('height_min', 0)} to {widest}x{tallest}"
        return Abilities(engines, f"the card decodes {described} of {bounds}, and it is {width}x{height}")
    return Abilities(engines, None)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

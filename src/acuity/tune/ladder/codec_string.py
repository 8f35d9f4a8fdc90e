"""The name of a stream's codec, profile and level for players (RFC 6381), read from the stream itself.

    H.264   avc1.PPCCLL            profile, constraints and level of the sequence parameter set
    HEVC    hvc1.P.C.TLL.B…        profile, compatibility, tier and level, constraints
    AV1     av01.P.LLT.DD          profile, level and tier, bit depth; colour where it isn't BT.709
    VP9     vp09.PP.LL.DD          profile and bit depth; the level is that of size, rate and bits

A player that is told a wrong name refuses a stream that it could play, or tries one that it can't.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final, NamedTuple

from acuity.errors import EncodeFailed, TuneError
from acuity.tune.clip import Clip
from acuity.tune.encoders.encode import PictureForm, open_encoding
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.video.coded_headers import Bits, av1_sequence


class EncodedStream(NamedTuple):
    """The facts about an encoded stream: the bytes of its head, and how it is shown."""

    codec: str  # "h264", "hevc", "av1", "vp9"
    extradata: bytes  # of the encoder; may be empty
    first_packet: bytes
    width: int
    height: int
    rate: Fraction
    bitrate_kbps: float
    # Primaries, transfer and matrix by their numbers in ITU-T H.273; 2 is "not said".
    colour: tuple[int, int, int] = (2, 2, 2)
    full_range: bool = False


def codec_string(stream: EncodedStream) -> str:
    """The value of CODECS for a stream; raises TuneError if its bytes can't be read."""
    reader = _READERS.get(stream.codec)
    if reader is None:
        known = ", ".join(_READERS)
        raise TuneError(f"playlists have no name for {stream.codec}: use an encoder of {known}")
    try:
        return reader(stream)
    except (IndexError, StopIteration, ValueError):
        raise TuneError(
            f"the {stream.codec} stream of {stream.width}x{stream.height} doesn't begin with its parameters, "
            "so playlists can't name its profile and level"
        ) from None


# H.264 and HEVC ---------------------------------------------------------------------------------------------


def _h264(stream: EncodedStream) -> str:
    if stream.extradata[:1] == b"\x01":  # an avcC record has the three bytes at its head
        profile = stream.extradata[1:4]
    else:
        sps = next(unit for unit in _units(stream.extradata + stream.first_packet) if unit[0] & 0x1F == 7)
        profile = sps[1:4]
    if len(profile) < 3:
        raise IndexError
    return f"avc1.{profile.hex()}"


def _hevc(stream: EncodedStream) -> str:
    if stream.extradata[:1] == b"\x01":  # an hvcC record
        head = stream.extradata[1:13]
    else:
        data = stream.extradata + stream.first_packet
        sps = next(unit for unit in _units(data) if unit[0] >> 1 & 0x3F == 33)
        plain = sps[:32].replace(b"\x00\x00\x03", b"\x00\x00")  # without what keeps start codes out of it
        head = plain[3:15]  # after the unit's header and a byte of identifiers
    first, compatible, constraints, level = head[0], head[1:5], head[5:11], head[11]
    space = ("", "A", "B", "C")[first >> 6]
    tier = "H" if first & 0x20 else "L"
    # The flags are written with the first one lowest, and without leading zeros.
    flags = int(f"{int.from_bytes(compatible, 'big'):032b}"[::-1], 2)
    tail = "".join(f".{byte:X}" for byte in constraints.rstrip(b"\x00"))
    return f"hvc1.{space}{first & 0x1F}.{flags:X}.{tier}{level}{tail}"


def _units(data: bytes) -> Iterator[bytes]:
    """The units between start codes (00 00 01)."""
    at = data.find(b"\x00\x00\x01")
    while at >= 0:
        end = data.find(b"\x00\x00\x01", at + 3)
        unit = data[at + 3 : end if end >= 0 else len(data)]
        if unit:
            yield unit
        at = end


# AV1 --------------------------------------------------------------------------------------------------------


def _av1(stream: EncodedStream) -> str:
    extradata = stream.extradata
    if extradata[:1] == b"\x81":  # an av1C record; the units follow
        extradata = extradata[4:]
    found = av1_sequence(extradata + stream.first_packet)
    if found is None:
        raise ValueError
    tier = "H" if found.high_tier else "M"
    name = f"av01.{found.profile}.{found.level:02d}{tier}.{found.depth:02d}"
    across, down = found.halved
    chroma = f"{across:d}{down:d}{found.position % 3}"
    colour = found.colour or (1, 1, 1)
    if not found.mono and chroma == "110" and colour in ((1, 1, 1), (2, 2, 2)) and not found.full_range:
        return name  # what players take for granted
    numbers = ".".join(f"{number:02d}" for number in colour)
    return f"{name}.{found.mono:d}.{chroma}.{numbers}.{found.full_range:d}"


# VP9 --------------------------------------------------------------------------------------------------------


# The most that each level of VP9 allows: samples a second, samples, kbit/s, and pixels of a side.
_VP9_LEVELS: Final = {
    10: (829_440, 36_864, 200, 512),
    11: (2_764_800, 73_728, 800, 768),
    20: (4_608_000, 122_880, 1_800, 960),
    21: (9_216_000, 245_760, 3_600, 1_344),
    30: (20_736_000, 552_960, 7_200, 2_048),
    31: (36_864_000, 983_040, 12_000, 2_752),
    40: (83_558_400, 2_228_224, 18_000, 4_160),
    41: (160_432_128, 2_228_224, 30_000, 4_160),
    50: (311_951_360, 8_912_896, 60_000, 8_384),
    51: (588_251_136, 8_912_896, 120_000, 8_384),
    52: (1_176_502_272, 8_912_896, 180_000, 8_384),
    60: (1_176_502_272, 35_651_584, 180_000, 16_832),
    61: (2_353_004_544, 35_651_584, 240_000, 16_832),
    62: (4_706_009_088, 35_651_584, 480_000, 16_832),
}


def _vp9(stream: EncodedStream) -> str:
    bits = Bits(stream.first_packet)
    if bits.take(2) != 2:
        raise IndexError
    profile = bits.take(1) | bits.take(1) << 1
    if profile == 3:
        bits.take(1)
    if bits.flag() or bits.flag():  # a frame shown again, or not a keyframe
        raise IndexError
    bits.take(2)
    if bits.take(24) != 0x498342:
        raise IndexError
    depth = (12 if bits.flag() else 10) if profile >= 2 else 8
    name = f"vp09.{profile:02d}.{_vp9_level(stream):02d}.{depth:02d}"
    if set(stream.colour) <= {1, 2} and not stream.full_range and profile % 2 == 0:
        return name
    chroma = "01"  # halved both ways
    if profile % 2 == 1:
        rgb = bits.take(3) == 7
        # A range, then whether chroma is halved in width.
        chroma = "03" if rgb or bits.take(2) & 1 == 0 else "02"
    colour = ".".join(f"{number:02d}" for number in stream.colour)
    return f"{name}.{chroma}.{colour}.{stream.full_range:02d}"


def _vp9_level(stream: EncodedStream) -> int:
    """The lowest level that allows the stream's size, rate and bits: VP9 doesn't write it down."""
    samples, longer = stream.width * stream.height, max(stream.width, stream.height)
    needed: tuple[float | Fraction, ...] = samples * stream.rate, samples, stream.bitrate_kbps, longer
    fitting = (
        number
        for number, most in _VP9_LEVELS.items()
        if all(one <= limit for one, limit in zip(needed, most, strict=True))
    )
    return next(fitting, max(_VP9_LEVELS))


_Reader = Callable[[EncodedStream], str]
_READERS: Final[Mapping[str, _Reader]] = {"h264": _h264, "hevc": _hevc, "av1": _av1, "vp9": _vp9}


# ---- the head of a stream --------------------------------------------------------------------------


def stream_of(
    settings: EncoderSettings, form: PictureForm, extradata: bytes, packet: bytes, rate: Fraction, kbps: float
) -> EncodedStream:
    codec, colours, full = settings.encoder.codec, form.colours, bool(form.full_range)
    return EncodedStream(codec, extradata, packet, form.width, form.height, rate, kbps, colours, full)


def stream_head(clip: Clip, settings: EncoderSettings, quality: float, bitrate_kbps: float) -> EncodedStream:
    """The head of the stream that these settings make of a clip: the encoder encodes one frame.

    Profile, level, bit depth and headers don't depend on how many frames follow.
    """
    form = PictureForm.of(clip, settings)
    with clip.reader() as reader:
        picture = reader.read()
        if picture is None:
            raise EncodeFailed(f"'{clip.path}' has no first frame to encode")
        for step in form.steps(clip.info):
            picture = step(picture)
        encoding = open_encoding(settings, quality, form)
        try:
            encoding.send(picture)
            encoding.finish()
            packets = list(iter(encoding.receive, None))
            if not packets:
                label = settings.label(quality)
                raise EncodeFailed(f"{label} made no packet of the first frame of '{clip.path}'")
            head = bytes(packets[0])
            return stream_of(settings, form, encoding.extradata, head, clip.rate, bitrate_kbps)
        finally:
            encoding.close()
            encoding.dispose()

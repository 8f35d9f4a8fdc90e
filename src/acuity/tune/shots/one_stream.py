"""Makes encodes of several shots one stream: settings, one codec configuration, and times that go on.

A decoder gets its configuration (H.264's and H.265's parameter sets, AV1's sequence header) once, at the
beginning of a file. So it must be the same in all shots, whatever their quality. It then holds for every
packet, which is how MP4 and Matroska define it, and hardware decoders are not set up again in mid-stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from acuity.errors import EncodeFailed, TuneError
from acuity.tune.encoders import Encoder, Options
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.encoding import Packet

# Options with which an encoder writes the same configuration at every quality. By itself x264 adapts its
# picture parameters to the quality.
_SAME_CONFIGURATION: Final[Mapping[str, Options]] = {"libx264": (("x264-params", "stitchable=1"),)}

# The best quality that has the configuration of all others: libx264's crf 0 is lossless, another profile.
_BEST: Final[Mapping[str, int]] = {"libx264": 1}

# Frames by which decoding is ahead of showing, at most: the levels of the B-frames' pyramid. Codecs that are
# not here hide frames in the packets of others, so that packets are in the order of showing.
_REORDERED: Final[Mapping[str, int]] = {"h264": 2, "hevc": 2, "vvc": 6}

# NAL units that are no part of a configuration: supplemental information, as the encoder's settings in words.
_REMARKS: Final[Mapping[str, tuple[int, int, frozenset[int]]]] = {
    # codec: how a unit's type is found in its first byte (shift, mask), and the types
    "h264": (0, 0x1F, frozenset({6})),
    "hevc": (1, 0x3F, frozenset({39, 40})),
}


def for_stitching(settings: EncoderSettings) -> EncoderSettings:
    """The settings with the options that give the encodes of all qualities one configuration."""
    wanted = _SAME_CONFIGURATION.get(settings.encoder.name, ())
    return replace(settings, options=settings.options + tuple(o for o in wanted if o not in settings.options))


def stitchable_range(encoder: Encoder, asked: tuple[float, float] | None) -> tuple[float, float]:
    """The range of qualities without those that need a configuration of their own."""
    low, high = asked or (encoder.best, encoder.worst)
    for value in (low, high):
        encoder.check_quality(value)
    first = encoder.step(_BEST.get(encoder.name, encoder.best))
    steps = sorted(max(encoder.step(value), first) for value in (low, high))
    return encoder.quality(steps[0]), encoder.quality(steps[1])


def check_one_configuration(settings: EncoderSettings, configurations: Mapping[float, bytes]) -> None:
    """Raise TuneError if the encodes of these qualities have unlike configurations."""
    kinds: dict[bytes, float] = {}
    for quality, extradata in configurations.items():
        kinds.setdefault(essential(settings.encoder.codec, extradata), quality)
    if len(kinds) > 1:
        one, other, *_ = kinds.values()
        raise TuneError(
            f"{settings.label(one)} and {settings.label(other)} can't be in one stream, as their headers "
            "are unlike: leave out the options that depend on the quality, or narrow its range"
        )


def essential(codec: str, extradata: bytes) -> bytes:
    """The configuration without units of supplemental information."""
    if codec not in _REMARKS:
        return extradata
    shift, mask, remarks = _REMARKS[codec]
    units = [unit.rstrip(b"\0") for unit in extradata.split(b"\0\0\1")]
    return b"\0\0\1".join(unit for unit in units if unit and (unit[0] >> shift) & mask not in remarks)


def delay(codec: str) -> int:
    """Frames by which the first packet's time of decoding precedes that of showing."""
    return _REORDERED.get(codec, 0)


def retime(packet: Packet, settings: EncoderSettings, start: int, number: int) -> None:
    """Give a packet of a shot the times that it has in the whole stream, in frames.

    `start` is the shot's first frame and `number` the packet's, both counted in the stream. All frames take
    equally long, so the nth packet is decoded at the nth frame's time, less the delay. What encoders say is
    not used: x265 says nonsense for a shot of one frame, and x264 has less delay in a short one.
    """
    lead = delay(settings.encoder.codec)
    if packet.pts is None:
        raise EncodeFailed(f"{settings.encoder.name} made a packet without a time")
    packet.pts += start
    packet.dts = number - lead
    if packet.dts > packet.pts:
        raise EncodeFailed(
            f"{settings.encoder.name} reorders more than {lead} frames, which can't be stitched: use fewer "
            "B-frames"
        )

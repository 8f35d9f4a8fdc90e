"""Packets as the card's decoder reads them, and where decoding may begin anew.

Headers are read for that: of AV1, whether a frame begins anew; of H.264, fields and missing reference frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import av
from av.bitstream import BitStreamFilterContext

from acuity.devices.cuda.nvdec.library import CODECS
from acuity.video.coded_headers import Bits, av1_sequence, av1_units

_BOX: Final = 4  # bytes before the units of AV1 in a container's own header
_START: Final = b"\0\0\1"
_HEAD: Final = 512  # bytes that hold the parameter sets and the start of the first slice, or are tried first
_SLICE: Final = 80  # bytes that hold a slice's start code and header
_H264_SLICES: Final = frozenset(byte for byte in range(256) if byte & 31 in range(1, 6))  # first bytes
_H264_KEY, _H264_SEQUENCE = 5, 7
_HEVC_SLICES: Final = frozenset(byte for byte in range(256) if byte >> 1 & 63 < 32)
_HEVC_KEYS: Final = frozenset((19, 20))


class Doubt(Exception):
    """The card may show something else than the CPU's decoder would: the CPU reads from here on."""


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet in the form that the decoder reads, with what the demuxer knows of it."""

    data: Any  # the object that has the bytes
    address: int
    size: int
    pts: int
    duration: int
    hidden: bool  # by an edit list: decoded for others, but not shown


class PacketStream:
    """Turns a demuxer's packets into the decoder's; Doubt about those that it may decode differently."""

    def __init__(self, stream: av.VideoStream, codec: str) -> None:
        name = CODECS[codec].filter
        self._filter = BitStreamFilterContext(name, stream) if name else None
        self._looks: Callable[[memoryview, bool], bool] = {
            "h264": self._looks_at_h264,
            "hevc": self._looks_at_hevc,
            "vp9": self._looks_at_vp9,
            "av1": self._looks_at_av1,
        }[codec]
        self._references = References()
        extra = stream.codec_context.extradata or b""
        # The units of a container's own header, of which some have bytes of their own before them.
        units = extra[_BOX:] if extra[:1] == b"\x81" else extra
        self._first = units if codec == "av1" else b""

    def convert(self, packet: av.Packet[av.VideoStream]) -> tuple[Packet, bool]:
        """The packet for the decoder, and whether decoding may begin with it."""
        if packet.pts is None or packet.is_corrupt:
            raise Doubt("a packet is damaged, or has no time")
        # Read before the filter, which empties the packet.
        pts, duration, hidden, key = packet.pts, packet.duration or 0, packet.is_discard, packet.is_keyframe
        data: Any = packet
        if self._filter is not None:
            try:
                made = self._filter.filter(packet)
            except av.FFmpegError as error:
                raise Doubt(f"a packet can't be read: {error.strerror}") from error
            if len(made) != 1:
                raise Doubt("a packet holds more or less than one picture")
            data = made[0]
        try:
            anew = self._looks(memoryview(data), key)
        except (ValueError, IndexError) as error:
            raise Doubt(f"a header can't be read: {error}") from error
        if anew and self._first:
            data = av.Packet(self._first + bytes(data))
        return Packet(data, data.buffer_ptr, data.buffer_size, pts, duration, hidden), anew

    def _looks_at_h264(self, data: memoryview, key: bool) -> bool:
        for unit in _units(data, _H264_SLICES):
            kind = unit[0] & 31
            if kind == _H264_SEQUENCE:
                self._references.learn(unit)
            if unit[0] in _H264_SLICES:
                if not self._references.follows(unit):
                    raise Doubt("a frame that others refer to is missing")
                if self._references.sequence is None or not self._references.sequence.frames_only:
                    raise Doubt("frames may be fields")
                return kind == _H264_KEY
        raise Doubt("a packet has no picture")

    def _looks_at_hevc(self, data: memoryview, key: bool) -> bool:
        for unit in _units(data, _HEVC_SLICES):
            if unit[0] in _HEVC_SLICES:
                return unit[0] >> 1 & 63 in _HEVC_KEYS
        raise Doubt("a packet has no picture")

    def _looks_at_vp9(self, data: memoryview, key: bool) -> bool:
        # Two bits of a mark, two of the profile; then: shown again, no key frame, shown.
        return key and data[0] >> 6 == 2 and data[0] & 0x30 != 0x30 and data[0] & 0x0E == 0x02

    def _looks_at_av1(self, data: memoryview, key: bool) -> bool:
        whole = bytes(data) if key else b""
        anew = key and begins_anew(whole)
        sequence = av1_sequence(self._first + whole) if anew else None
        if sequence is not None and sequence.film_grain:
            raise Doubt("it has film grain")
        return anew


def _units(packet: memoryview, slices: frozenset[int]) -> Iterator[bytes]:
    """The NAL units of a packet; a slice, by its first byte, may be cut off after its header.

    The first slice begins near the start of most packets, of which the rest is not looked at.
    """
    whole = len(packet) <= _HEAD
    data = bytes(packet[:_HEAD])
    place = data.find(_START)
    while True:
        after = data.find(_START, place + 3) if place >= 0 else -1
        if after < 0 and not whole and not (0 <= place < len(data) - _SLICE and data[place + 3] in slices):
            whole, data = True, bytes(packet)
            place = data.find(_START, max(place, 0))
            continue
        if place < 0:
            return
        yield data[place + 3 : after if after >= 0 else len(data)]
        place = after


_FRAMES: Final = frozenset((3, 6))  # a frame's header, and a whole frame


def begins_anew(data: bytes) -> bool:
    """Whether the first frame is a key frame that is shown."""
    for kind, payload in av1_units(data):
        if kind in _FRAMES:
            return payload[:1] != b"" and payload[0] & 0xF0 == 0x10
    return False


# Profiles whose parameter sets say more: with chroma formats and scaling matrices.
_HIGH: Final = frozenset((100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135))
_HEADER: Final = 64  # bytes at a slice's start that its number lies in


class SequenceHeader(NamedTuple):
    """A sequence parameter set, as far as it matters here."""

    profile: int
    frames_only: bool  # never fields
    number_bits: int  # of frame numbers
    separate_planes: bool


def _bits_of(data: bytes) -> Bits:
    """The payload of a NAL unit, without the bytes that keep start codes out of it."""
    return Bits(data.replace(b"\0\0\3", b"\0\0"))


def read_sequence(unit: bytes) -> SequenceHeader:
    """A sequence parameter set from its NAL unit; ValueError if it is cut off."""
    bits = _bits_of(unit[1:])
    profile = bits.take(8)
    bits.take(16)
    bits.golomb()
    separate = False
    if profile in _HIGH:
        chroma = bits.golomb()
        if chroma == 3:
            separate = bits.flag()
        bits.golomb()
        bits.golomb()
        bits.flag()
        if bits.flag():
            for number in range(12 if chroma == 3 else 8):
                if bits.flag():
                    _skip_scaling(bits, 16 if number < 6 else 64)
    number_bits = bits.golomb() + 4
    order = bits.golomb()
    if order == 0:
        bits.golomb()
    elif order == 1:
        bits.flag()
        bits.signed_golomb()
        bits.signed_golomb()
        for _ in range(bits.golomb()):
            bits.signed_golomb()
    bits.golomb()  # reference frames
    bits.flag()  # whether gaps are allowed
    bits.golomb()
    bits.golomb()
    return SequenceHeader(profile, bits.flag(), number_bits, separate)


def _skip_scaling(bits: Bits, size: int) -> None:
    last = after = 8
    for _ in range(size):
        if after:
            after = (last + bits.signed_golomb()) % 256
        last = after or last


class References:
    """Follows the numbers of frames; a jump means that a frame which others may refer to is missing."""

    def __init__(self) -> None:
        self._unit = b""
        self.sequence: SequenceHeader | None = None
        self._last: int | None = None  # the number of the last frame that others may refer to

    def learn(self, unit: bytes) -> None:
        """Take in a sequence parameter set; ValueError if it is of another profile than the one before."""
        if unit == self._unit:
            return
        before, self._unit, self.sequence = self.sequence, unit, read_sequence(unit)
        if before is not None and before.profile != self.sequence.profile:
            raise ValueError("the profile changes")

    def follows(self, unit: bytes) -> bool:
        """Whether the frame of this slice follows the one before; ValueError if it can't be read."""
        if self.sequence is None:
            raise ValueError("a slice without a parameter set")
        bits = _bits_of(unit[1:_HEADER])
        for _ in range(3):
            bits.golomb()
        if self.sequence.separate_planes:
            bits.take(2)
        number = bits.take(self.sequence.number_bits)
        key, reference = unit[0] & 31 == 5, bool(unit[0] & 0x60)
        last, most = self._last, 1 << self.sequence.number_bits
        if reference:
            self._last = number
        return key or last is None or number in (last, (last + 1) % most)

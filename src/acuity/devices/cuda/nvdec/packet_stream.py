"""Packets as the card's decoder reads them, and where decoding may begin anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import av
from av.bitstream import BitStreamFilterContext

from acuity.devices.cuda.nvdec.headers import References, begins_anew
from acuity.devices.cuda.nvdec.library import CODECS
from acuity.video.coded_headers import av1_sequence

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

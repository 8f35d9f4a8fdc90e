"""Reads headers for decoding on a card.

Of AV1: whether a frame begins anew. Of H.264: fields, and reference frames that are missing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from acuity.video.coded_headers import Bits, av1_units

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


class Sequence(NamedTuple):
    """A sequence parameter set, as far as it matters here."""

    profile: int
    frames_only: bool  # never fields
    number_bits: int  # of frame numbers
    separate_planes: bool


def unescaped(data: bytes) -> bytes:
    """The payload of a NAL unit without the bytes that keep start codes out of it."""
    return data.replace(b"\0\0\3", b"\0\0")


def read_sequence(unit: bytes) -> Sequence:
    """A sequence parameter set from its NAL unit; ValueError if it is cut off."""
    bits = Bits(unescaped(unit[1:]))
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
    return Sequence(profile, bits.flag(), number_bits, separate)


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
        self.sequence: Sequence | None = None
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
        bits = Bits(unescaped(unit[1:_HEADER]))
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

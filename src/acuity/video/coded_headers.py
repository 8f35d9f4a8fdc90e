"""Headers of coded video: numbers of bits, and the units and sequence headers of AV1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

_SEQUENCE: Final = 1  # the kind of unit that has a sequence header
_RGB: Final = (1, 13, 0)


class Bits:
    """Reads numbers of so many bits from bytes, the highest bit first; raises ValueError at their end."""

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "big")
        self._left = 8 * len(data)

    def take(self, count: int) -> int:
        """The next bits as a number, the first one the highest."""
        if count > self._left:
            raise ValueError("a header ends early")
        self._left -= count
        return (self._value >> self._left) & ((1 << count) - 1)

    def flag(self) -> bool:
        return bool(self.take(1))

    def golomb(self) -> int:
        """A number in Exp-Golomb code: H.264's ue(v) and AV1's uvlc."""
        rest = self._value & ((1 << self._left) - 1)
        zeros = self._left - rest.bit_length()
        if zeros > 32:
            raise ValueError("a number of more than 32 bits")
        return self.take(2 * zeros + 1) - 1

    def signed_golomb(self) -> int:
        code = self.golomb()
        return (code + 1) // 2 if code % 2 else -(code // 2)


def av1_units(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The kind and payload of each unit (OBU); one without a length goes to the end. Raises ValueError."""
    place = 0
    while place < len(data):
        head = data[place]
        place += 2 if head & 4 else 1
        length = len(data) - place
        if head & 2:
            length = shift = 0
            while True:
                if place >= len(data):
                    raise ValueError("a unit ends early")
                length |= (data[place] & 127) << shift
                shift += 7
                place += 1
                if not data[place - 1] & 128:
                    break
        if place + length > len(data):
            raise ValueError("a unit ends early")
        yield head >> 3 & 15, data[place : place + length]
        place += length


class Av1Sequence(NamedTuple):
    """The contents of a sequence header of AV1."""

    profile: int
    level: int  # and tier, of the first operating point
    high_tier: bool
    depth: int
    mono: bool
    colour: tuple[int, int, int] | None  # primaries, transfer and matrix by their numbers; None: not said
    full_range: bool
    halved: tuple[bool, bool]  # whether chroma is, in width and in height
    position: int  # of chroma's samples
    film_grain: bool


def av1_sequence(data: bytes) -> Av1Sequence | None:
    """The first sequence header among units of AV1; None if there is none. Raises ValueError."""
    for kind, payload in av1_units(data):
        if kind == _SEQUENCE:
            return _sequence(Bits(payload))
    return None


def _sequence(bits: Bits) -> Av1Sequence:
    profile = bits.take(3)
    bits.take(1)
    reduced = bits.flag()
    level, high_tier = (bits.take(5), False) if reduced else _operating_point(bits)
    across, down = bits.take(4) + 1, bits.take(4) + 1
    bits.take(across + down)
    if not reduced and bits.flag():  # frame numbers
        bits.take(7)
    bits.take(3)
    if not reduced:
        bits.take(4)
        if order_hints := bits.flag():
            bits.take(2)
        screen_content = bits.flag() or bits.flag()  # chosen by the frame, or forced on
        if screen_content and not bits.flag():
            bits.take(1)
        if order_hints:
            bits.take(3)
    bits.take(3)
    deep = bits.flag()
    depth = (12 if bits.flag() else 10) if profile == 2 and deep else 10 if deep else 8
    mono = profile != 1 and bits.flag()
    colour = (bits.take(8), bits.take(8), bits.take(8)) if bits.flag() else None
    full, halved, position = True, (True, True), 0
    if mono:
        full = bits.flag()
    elif colour == _RGB:
        halved = False, False
    else:
        full = bits.flag()
        if profile:
            across_too = profile == 2 and (depth < 12 or bits.flag())
            halved = across_too, across_too and depth == 12 and bits.flag()
        position = bits.take(2) if halved == (True, True) else 0
    if not mono:
        bits.take(1)
    film_grain = bits.flag()
    return Av1Sequence(profile, level, high_tier, depth, mono, colour, full, halved, position, film_grain)


def _operating_point(bits: Bits) -> tuple[int, bool]:
    """The level of the first operating point, and whether its tier is high; all of them are read."""
    delay_bits = 0
    if bits.flag():  # timing
        bits.take(64)
        if bits.flag():
            bits.golomb()
        if bits.flag():  # decoder model
            delay_bits = bits.take(5) + 1
            bits.take(42)
    display_delay = bits.flag()
    found: list[tuple[int, bool]] = []
    for _ in range(bits.take(5) + 1):
        bits.take(12)
        level = bits.take(5)
        found.append((level, bits.flag() if level > 7 else False))
        if delay_bits and bits.flag():
            bits.take(2 * delay_bits + 1)
        if display_delay and bits.flag():
            bits.take(4)
    return found[0]

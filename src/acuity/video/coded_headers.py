"""Headers of coded video: numbers of bits, and the units of AV1."""

from __future__ import annotations

from collections.abc import Iterator


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

"""Reads the headers of coded video bit by bit."""

from __future__ import annotations


class Bits:
    """A position in bytes; IndexError or ValueError past their end."""

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
        """A number in Exp-Golomb code, as H.264 has it."""
        rest = self._value & ((1 << self._left) - 1)
        zeros = self._left - rest.bit_length()
        if zeros > 32:
            raise ValueError("a number of more than 32 bits")
        return self.take(2 * zeros + 1) - 1

    def signed_golomb(self) -> int:
        code = self.golomb()
        return (code + 1) // 2 if code % 2 else -(code // 2)

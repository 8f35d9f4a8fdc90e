"""What AV1's headers say about decoding on a card: film grain, and whether a frame begins anew."""

from __future__ import annotations

from typing import Final

from acuity.video.coded_headers import Bits, av1_units

_SEQUENCE: Final = 1
_FRAMES: Final = frozenset((3, 6))  # a frame's header, and a whole frame
_BOX: Final = 4  # bytes before the units in a container's own header
_SELECT: Final = 2  # a choice that frames make


def configuration(extra: bytes) -> bytes:
    """The units of a container's own header."""
    return extra[_BOX:] if extra[:1] == b"\x81" else extra


def has_film_grain(data: bytes) -> bool | None:
    """Whether frames may have film grain, by the first sequence header; None if there is none."""
    for kind, payload in av1_units(data):
        if kind == _SEQUENCE:
            return _film_grain(Bits(payload))
    return None


def begins_anew(data: bytes) -> bool:
    """Whether the first frame is a key frame that is shown."""
    for kind, payload in av1_units(data):
        if kind in _FRAMES:
            return payload[:1] != b"" and payload[0] & 0xF0 == 0x10
    return False


def _film_grain(bits: Bits) -> bool:
    profile = bits.take(3)
    bits.flag()
    reduced = bits.flag()
    if reduced:
        bits.take(5)
    else:
        _skip_operating_points(bits)
    across, down = bits.take(4) + 1, bits.take(4) + 1
    bits.take(across + down)
    if not reduced and bits.flag():  # frame numbers
        bits.take(7)
    bits.take(3)
    if not reduced:
        bits.take(4)
        if bits.flag():  # order hints
            bits.take(2)
            hints = True
        else:
            hints = False
        tools = _SELECT if bits.flag() else bits.take(1)
        if tools and not bits.flag():
            bits.take(1)
        if hints:
            bits.take(3)
    bits.take(3)
    _skip_colours(bits, profile)
    return bits.flag()


def _skip_operating_points(bits: Bits) -> None:
    model, delay = False, 0
    if bits.flag():  # timing
        bits.take(64)
        if bits.flag():
            _skip_long(bits)
        model = bits.flag()
        if model:
            delay = bits.take(5) + 1
            bits.take(32)
            bits.take(10)
    initial = bits.flag()
    for _ in range(bits.take(5) + 1):
        bits.take(12)
        if bits.take(5) > 7:
            bits.take(1)
        if model and bits.flag():
            bits.take(2 * delay + 1)
        if initial and bits.flag():
            bits.take(4)


def _skip_long(bits: Bits) -> None:
    zeros = 0
    while zeros < 32 and not bits.flag():
        zeros += 1
    bits.take(zeros if zeros < 32 else 0)


def _skip_colours(bits: Bits, profile: int) -> None:
    deep = bits.flag()
    deepest = profile == 2 and deep and bits.flag()
    grey = profile != 1 and bits.flag()
    described = (bits.take(8), bits.take(8), bits.take(8)) if bits.flag() else (2, 2, 2)
    if grey:
        bits.take(1)
        return
    if described == (1, 13, 0):  # RGB
        across = down = False
    else:
        bits.take(1)
        across = down = profile == 0
        if profile == 2:
            across = bits.flag() if deepest else True
            down = bits.flag() if deepest and across else False
        if across and down:
            bits.take(2)
    bits.take(1)

"""Headers of coded video: what was written is read again, and what is cut off is a ValueError."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.video.coded_headers import Bits, av1_units


def leb128(value: int) -> bytes:
    low, high = value & 127, value >> 7
    return bytes([low | 128]) + leb128(high) if high else bytes([low])


def unit(kind: int, payload: bytes, *, extended: bool = False, sized: bool = True) -> bytes:
    head = bytes([kind << 3 | extended << 2 | sized << 1]) + b"\x20" * extended
    return head + (leb128(len(payload)) if sized else b"") + payload


UNITS = st.lists(st.tuples(st.integers(0, 15), st.binary(max_size=300), st.booleans()), max_size=5)


@given(UNITS)
def test_units_of_av1(units: list[tuple[int, bytes, bool]]) -> None:
    data = b"".join(unit(kind, payload, extended=extended) for kind, payload, extended in units)
    assert list(av1_units(data)) == [(kind, payload) for kind, payload, _ in units]


def test_a_unit_without_a_length_goes_to_the_end() -> None:
    data = unit(1, bytes(200)) + unit(6, b"a frame", sized=False)
    assert list(av1_units(data)) == [(1, bytes(200)), (6, b"a frame")]


@pytest.mark.parametrize("cut", [1, 2, 3, 150])
def test_a_unit_that_is_cut_off(cut: int) -> None:
    with pytest.raises(ValueError, match="ends early"):
        list(av1_units(unit(1, bytes(200))[:cut]))


@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=8))
def test_numbers_in_exp_golomb_code(numbers: list[int]) -> None:
    text = "".join("0" * ((number + 1).bit_length() - 1) + f"{number + 1:b}" for number in numbers)
    text += "0" * (-len(text) % 8)
    bits = Bits(int(text, 2).to_bytes(len(text) // 8, "big"))
    assert [bits.golomb() for _ in numbers] == numbers


def test_numbers_of_bits() -> None:
    bits = Bits(b"\xa5\x0f")
    assert (bits.take(3), bits.flag(), bits.take(8), bits.take(4)) == (5, False, 0x50, 15)
    with pytest.raises(ValueError, match="ends early"):
        bits.flag()
    with pytest.raises(ValueError, match="32 bits"):
        Bits(bytes(9)).golomb()

"""libvmaf's rule for printing small fractions."""

from __future__ import annotations

import math

from hypothesis import example, given
from hypothesis import strategies as st

from acuity.report.precision import LEGACY, is_small_fraction, parse_precision


def decimals(value: float) -> int:
    """libvmaf's rule, one number and one step at a time."""
    magnitude = abs(value)
    if not magnitude < 2**31:
        return 6
    fraction = magnitude - int(magnitude)
    steps = 0
    while fraction != 0 and fraction < 1.0:
        fraction *= 10
        steps += 1
    return 6 if steps <= 6 else 16


@given(
    st.floats(allow_nan=False)
    | st.floats(0, 1e-5)
    | st.builds(lambda a, b: a + b, st.integers(0, 200), st.floats(0, 3e-6))
)
@example(1e-6)
@example(math.nextafter(1e-6, 0))
@example(math.nextafter(1e-6, 1))
@example(-0.0)
@example(5e-324)
@example(2.0**31 + 2.0**-21)
@example(math.inf)
@example(-math.inf)
def test_rule(value: float) -> None:
    assert LEGACY.format(value) == f"{value:.{decimals(value)}f}"
    assert is_small_fraction(value) == (decimals(value) == 16)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_full_precision_brings_the_number_back(value: float) -> None:
    assert float(parse_precision("max").format(value)) == value
    assert parse_precision(17).format(value) == parse_precision("full").format(value)

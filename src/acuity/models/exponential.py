"""exp() of numbers up to 0, within 0.51 units of the last place and the same on every machine.

numpy's exp() differs by up to one unit from the C library's, which libvmaf calls, and between machines (it
chooses an implementation by instruction set); a score would show that in the twelfth decimal. Python's
math.exp agrees with libvmaf but takes one number at a time. This function needs only additions and
multiplications, which IEEE 754 defines to the bit:

    exp(x) = 2^e * 2^(j/128) * exp(r)    with 128 e + j = k = x * 128/ln 2, rounded, and |r| < ln 2 / 256

2^(j/128) comes from a table of two doubles each, exp(r) from its Taylor series.
"""

import functools
import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_STEPS = 128
_BITS = 200  # of the fixed-point numbers the constants are made from
_LN2_DIGITS = 693147180559945309417232121458176568075500134360255254120680
_STEP = (_LN2_DIGITS << _BITS) // (10**60 * _STEPS)  # ln 2 / 128
_LOWEST = -746.0  # exp() of anything lower is 0


def exp(values: Array) -> Array:
    """e to the power of each value; values must not exceed 0, NaN stays NaN."""
    high, low = _table()
    coarse, fine = _split(_STEP, keep=33)
    r = np.maximum(values, _LOWEST)
    k = np.rint(r * (1.0 / (coarse + fine)))
    r -= k * coarse  # exact: k has 18 bits and coarse 33
    r -= k * fine
    whole = np.fmin(k, 0.0, out=k).astype(np.intp)  # fmin gives a NaN some integer, which r overrules
    j = whole & (_STEPS - 1)
    series = r * (1 / 120)
    for term in (1 / 24, 1 / 6, 0.5):  # r + r^2 (1/2 + r (1/6 + r (1/24 + r/120)))
        series += term
        series *= r
    series *= r
    series += r
    top = high.take(j)
    series *= top
    series += low.take(j)
    series += top
    whole >>= 7
    return np.ldexp(series, whole, out=series)


@functools.cache
def _table() -> tuple[Array, Array]:
    """2^(j/128) for j from 0 to 127, each as the nearest double and the nearest double to the rest."""
    root = 2 << _BITS
    for _ in range(7):
        root = math.isqrt(root << _BITS)
    power, powers = 1 << _BITS, []
    for _ in range(_STEPS):
        powers.append(_split(power, keep=53))
        power = power * root >> _BITS
    high, low = zip(*powers, strict=True)
    return np.array(high), np.array(low)


def _split(number: int, keep: int) -> tuple[float, float]:
    """A fixed-point number as a double of `keep` bits and a double for the rest."""
    shift = number.bit_length() - keep
    head = (number + (1 << (shift - 1))) >> shift << shift
    return head / (1 << _BITS), (number - head) / (1 << _BITS)

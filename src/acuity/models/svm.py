"""The nu-SVR with an RBF kernel: libsvm's text format, and prediction over all frames at once.

native/models computes: sums run in libsvm's order (features within a distance, then support vectors as the
file lists them), because floating-point addition in any other order gives other digits.

exp() of numbers up to 0 is made there, within 0.51 units of the last place and the same on every machine. The
C library's differs between machines and versions by up to one unit; a score would show that in the twelfth
decimal. This function needs only additions and multiplications, which IEEE 754 defines to the bit:

    exp(x) = 2^e * 2^(j/128) * exp(r)    with 128 e + j = k = x * 128/ln 2, rounded, and |r| < ln 2 / 256

2^(j/128) comes from a table of two doubles each, which is made here, exp(r) from its Taylor series.
"""

from __future__ import annotations

import functools
import math
import re
from array import array
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from acuity.errors import ModelError
from acuity.records import NamedTuple
from acuity.text import quoted

if TYPE_CHECKING:
    from acuity._native import Exponential

Doubles: TypeAlias = Any  # an array of Python's, which native code takes

_STEPS = 128
_BITS = 200  # of the fixed-point numbers the constants are made from
_LN2_DIGITS = 693147180559945309417232121458176568075500134360255254120680
_STEP = (_LN2_DIGITS << _BITS) // (10**60 * _STEPS)  # ln 2 / 128


def doubles(values: Iterable[float]) -> Doubles:
    return array("d", values)


@functools.cache
def exponential() -> Exponential:
    """The function exp()."""
    from acuity import _native

    root = 2 << _BITS
    for _ in range(7):
        root = math.isqrt(root << _BITS)
    power, powers = 1 << _BITS, []
    for _ in range(_STEPS):
        powers.append(_split(power, keep=53))
        power = power * root >> _BITS
    high, low = (doubles(values) for values in zip(*powers, strict=True))
    return _native.Exponential(high, low, *_split(_STEP, keep=33))


def _split(number: int, keep: int) -> tuple[float, float]:
    """A fixed-point number as a double of `keep` bits and a double for the rest."""
    shift = number.bit_length() - keep
    head = (number + (1 << (shift - 1))) >> shift << shift
    return head / (1 << _BITS), (number - head) / (1 << _BITS)


MAX_SUPPORT_VECTORS = 100_000

_IGNORED = frozenset(("degree", "coef0", "label", "probA", "probB", "nr_sv"))
_READ = frozenset(("svm_type", "kernel_type", "nr_class", "gamma", "rho", "total_sv"))
_EXPECTED = {"svm_type": "nu_svr", "kernel_type": "rbf", "nr_class": "2"}
# Refuses what float() accepts and libsvm doesn't: nan, inf, underscores, digits of other scripts.
_NUMERIC_TEXT = r"(?a)[-+.0-9eE:\s]*"

Fail = Callable[[str], ModelError]


class SupportVectorRegression(NamedTuple):
    """A trained nu-SVR; `vectors` has the support vectors one after the other."""

    gamma: float
    rho: float
    coefficients: Doubles
    vectors: Doubles

    def predict(self, columns: Iterable[Iterable[float]]) -> list[float]:
        """The decision value of each frame, from one column a feature; a NaN makes it NaN."""
        from acuity import _native

        svr = _native.Svr(self.coefficients, self.vectors, self.gamma, self.rho)
        return svr.decide([*map(doubles, columns)], exponential())


def parse_libsvm(text: str, features: int, fail: Fail) -> SupportVectorRegression:
    """Read libsvm's model text; fail turns a problem into the error to raise."""
    lines = text.split("\n")
    header, first = _parse_header(lines, fail)
    gamma = _header_number(header, "gamma", fail)
    rho = _header_number(header, "rho", fail)
    if gamma < 0:
        raise fail(f"gamma is {gamma:g}, but it cannot be negative")
    rows = [line for line in lines[first:] if line.strip()]
    total = _header_number(header, "total_sv", fail)
    if not (total.is_integer() and 1 <= total <= MAX_SUPPORT_VECTORS):
        raise fail(f"total_sv must be between 1 and {MAX_SUPPORT_VECTORS}, but it is {total:g}")
    if len(rows) != total:
        raise fail(f"it announces {total:.0f} support vectors but lists {len(rows)}")
    coefficients, vectors = _parse_vectors(rows, features, fail)
    return SupportVectorRegression(gamma, rho, coefficients, vectors)


def _parse_header(lines: list[str], fail: Fail) -> tuple[dict[str, str], int]:
    """The header's keys and values, and the index of the first line after it."""
    header: dict[str, str] = {}
    for line in lines:
        key, _, value = line.strip().partition(" ")
        if key == "SV":
            break
        if key not in _READ | _IGNORED:
            raise fail(f"the libsvm text has an unknown header line {quoted(line)}")
        if key in header:
            raise fail(f"the libsvm text gives {key} twice")
        header[key] = value.strip()
    else:
        raise fail("the libsvm text has no SV section")
    for key, expected in _EXPECTED.items():
        found = header.get(key)
        if found != expected:
            given = "missing" if found is None else quoted(found)
            raise fail(f"{key} must be {expected}, but it is {given}")
    return header, lines.index(line) + 1


def _header_number(header: dict[str, str], key: str, fail: Fail) -> float:
    value = header.get(key)
    if value is None:
        raise fail(f"the libsvm text has no {key}")
    try:
        number = float(value) if re.fullmatch(_NUMERIC_TEXT, value) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise fail(f"{key} must be a finite number, but it is {quoted(value)}")
    return number


def _parse_vectors(rows: list[str], features: int, fail: Fail) -> tuple[Doubles, Doubles]:
    coefficients = array("d", bytes(8 * len(rows)))
    vectors = array("d", bytes(8 * len(rows) * features))
    for number, row in enumerate(rows):
        try:
            if not re.fullmatch(_NUMERIC_TEXT, row):
                raise ValueError
            coefficient, *entries = row.split()
            coefficients[number] = float(coefficient)
            previous = 0
            for entry in entries:
                position, _, value = entry.partition(":")
                index = int(position)
                if not previous < index <= features:
                    raise fail(
                        f"support vector {number + 1} has index {index}, but indices must rise "
                        f"from 1 to at most {features}, the number of features"
                    )
                vectors[number * features + index - 1] = float(value)
                previous = index
        except ModelError:
            raise
        except ValueError:
            raise fail(f"support vector {number + 1} cannot be read: {quoted(row)}") from None
    if not (all(map(math.isfinite, coefficients)) and all(map(math.isfinite, vectors))):
        raise fail("a support vector holds a number that is not finite")
    return coefficients, vectors

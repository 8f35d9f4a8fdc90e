"""The nu-SVR with an RBF kernel: libsvm's text format, and prediction over all frames at once.

Sums run in libsvm's order (features within a distance, then support vectors as the file lists them), because
floating-point addition in any other order gives other digits. numpy's sum() is pairwise, so it is not used.

exp() of numbers up to 0 is made here, within 0.51 units of the last place and the same on every machine.
numpy's exp() differs by up to one unit from the C library's, which libvmaf calls, and between machines (it
chooses an implementation by instruction set); a score would show that in the twelfth decimal. Python's
math.exp agrees with libvmaf but takes one number at a time. This function needs only additions and
multiplications, which IEEE 754 defines to the bit:

    exp(x) = 2^e * 2^(j/128) * exp(r)    with 128 e + j = k = x * 128/ln 2, rounded, and |r| < ln 2 / 256

2^(j/128) comes from a table of two doubles each, exp(r) from its Taylor series.
"""

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acuity.errors import ModelError
from acuity.text import quoted

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


MAX_SUPPORT_VECTORS = 100_000
# Kernel values computed at once, few enough to stay in a core's cache.
_CHUNK_VALUES = 1 << 13

_IGNORED = frozenset(("degree", "coef0", "label", "probA", "probB", "nr_sv"))
_READ = frozenset(("svm_type", "kernel_type", "nr_class", "gamma", "rho", "total_sv"))
_EXPECTED = {"svm_type": "nu_svr", "kernel_type": "rbf", "nr_class": "2"}
# Refuses what float() accepts and libsvm doesn't: nan, inf, underscores, digits of other scripts.
_NUMERIC_TEXT = re.compile(r"[-+.0-9eE:\s]*", re.ASCII)

Fail = Callable[[str], ModelError]


@dataclass(frozen=True, eq=False)
class SupportVectorRegression:
    """A trained nu-SVR; vectors has one row per support vector and one column per feature."""

    gamma: float
    rho: float
    coefficients: NDArray[np.float64]
    vectors: NDArray[np.float64]

    def predict(self, nodes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The decision value of each row of nodes (frames x features); a NaN makes its row NaN."""
        frames = nodes.shape[0]
        decisions = np.empty(frames)
        chunk = max(1, _CHUNK_VALUES // max(1, len(self.coefficients)))
        columns = np.ascontiguousarray(self.vectors.T)
        with np.errstate(all="ignore"):
            for start in range(0, frames, chunk):
                decisions[start : start + chunk] = self._decide(nodes[start : start + chunk], columns)
        return decisions

    def _decide(self, nodes: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
        distances = np.zeros((nodes.shape[0], columns.shape[1]))
        for feature, column in enumerate(columns):
            difference = nodes[:, feature, np.newaxis] - column
            difference *= difference
            distances += difference
        distances *= -self.gamma
        terms = exp(distances)
        terms *= self.coefficients
        np.add.accumulate(terms, axis=1, out=terms)
        decisions: NDArray[np.float64] = terms[:, -1] - self.rho
        return decisions


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
        number = float(value) if _NUMERIC_TEXT.fullmatch(value) else np.nan
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise fail(f"{key} must be a finite number, but it is {quoted(value)}")
    return number


def _parse_vectors(
    rows: list[str], features: int, fail: Fail
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    coefficients = np.zeros(len(rows))
    vectors = np.zeros((len(rows), features))
    for number, row in enumerate(rows):
        try:
            if not _NUMERIC_TEXT.fullmatch(row):
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
                vectors[number, index - 1] = float(value)
                previous = index
        except ModelError:
            raise
        except ValueError:
            raise fail(f"support vector {number + 1} cannot be read: {quoted(row)}") from None
    if not (np.isfinite(coefficients).all() and np.isfinite(vectors).all()):
        raise fail("a support vector holds a number that is not finite")
    return coefficients, vectors

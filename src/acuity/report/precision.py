"""The formats of numbers in reports: libvmaf's six decimals, or a number of significant digits.

    legacy      six decimals; sixteen if six would show a fraction as zeros
    max, full   17 significant digits, from which the exact number can be read
    1 .. 17     that many significant digits

legacy is libvmaf's own rule.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.errors import OutputError

_DIGITS = {"max": 17, "full": 17, **{str(digits): digits for digits in range(1, 18)}}
# libvmaf takes the integer part as a 32-bit int; beyond it the rule for small fractions never applies.
_INT_LIMIT = 2.0**31


class Precision(NamedTuple):
    """Two C formats: the usual one, and the one for small fractions (the same unless legacy)."""

    usual: str
    small: str

    @property
    def uniform(self) -> bool:
        return self.usual == self.small

    def format(self, value: float) -> str:
        small = not self.uniform and bool(is_small_fraction(np.array([value], np.float64))[0])
        return (self.small if small else self.usual) % value


LEGACY = Precision("%.6f", "%.16f")


def parse_precision(text: str | int) -> Precision:
    """Read the value of --precision."""
    if text == "legacy":
        return LEGACY
    digits = _DIGITS.get(str(text))
    if digits is None:
        raise OutputError(f"the precision {text!r} is unknown; use legacy, max, full or 1 to 17")
    return Precision(f"%.{digits}g", f"%.{digits}g")


def is_small_fraction(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which fractions are not 0 but stay below 1 when multiplied by ten six times.

    Multiplied repeatedly and not once by a million, so that the rounding at the limit equals libvmaf's.
    """
    magnitude = np.abs(values)
    with np.errstate(invalid="ignore", over="ignore"):
        fraction = magnitude - np.trunc(magnitude)
        scaled = fraction.copy()
        for _ in range(6):
            scaled *= 10.0
    return np.asarray((fraction != 0.0) & (scaled < 1.0) & (magnitude < _INT_LIMIT))

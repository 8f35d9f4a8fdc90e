"""The formats of numbers in reports: libvmaf's six decimals, or a number of significant digits.

    legacy      six decimals; sixteen if six would show a fraction as zeros
    max, full   17 significant digits, from which the exact number can be read
    1 .. 17     that many significant digits

legacy is libvmaf's own rule.
"""

from __future__ import annotations

from acuity.errors import OutputError
from acuity.records import NamedTuple

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
        small = not self.uniform and is_small_fraction(value)
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


def is_small_fraction(value: float) -> bool:
    """Whether the fraction is not 0 but stays below 1 when multiplied by ten six times.

    Multiplied repeatedly and not once by a million, so that the rounding at the limit equals libvmaf's.
    """
    magnitude = abs(value)
    if not magnitude < _INT_LIMIT:
        return False
    fraction = scaled = magnitude - int(magnitude)
    for _ in range(6):
        scaled *= 10.0
    return fraction != 0.0 and scaled < 1.0

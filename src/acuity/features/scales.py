"""What VIF and ADM have in common: four scales, and a look at the fractions behind their figures."""

from __future__ import annotations

from typing import Final

from acuity.features.extractor import Feature
from acuity.features.options import Option

SCALES: Final = range(4)

DEBUG: Final = Option(
    "debug",
    "",
    "bool",
    False,
    named=False,
    widens=True,
    help="also give numerators, denominators and the whole",
)


def debug_features(stem: str) -> tuple[Feature, ...]:
    """What DEBUG adds: the whole, then its fraction, then that of each scale."""
    parts = [f"_{part}_scale{scale}" for scale in SCALES for part in ("num", "den")]
    return tuple(Feature(stem + end, stem + end, only_with="debug") for end in ("", "_num", "_den", *parts))

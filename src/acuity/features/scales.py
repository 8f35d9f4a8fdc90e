"""The common parts of VIF and ADM: four scales, and debug features with numerators and denominators."""

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
    """The features that DEBUG adds: the whole, its fraction, then that of each scale."""
    parts = [f"_{part}_scale{scale}" for scale in SCALES for part in ("num", "den")]
    return tuple(Feature(stem + end, stem + end, only_with="debug") for end in ("", "_num", "_den", *parts))

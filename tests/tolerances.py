"""How far each figure may differ from libvmaf's, with the reason."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

# By the start of a key; the first that fits counts. Features that aren't here are the same doubles.
TOLERANCES: Final = {
    "psnr_": 1e-9,  # log10() differs in its last digit between libraries
    "float_psnr": 1e-9,
    "float_an": 1e-9,  # single precision, in the same order
    # So do exp(), pow() and atan2(), and a rounding to single precision can bring that to light.
    "ciede2000": 1e-9,
    "apsnr_": 1e-9,
    # Single precision: where a library rounds pow() the other way, it shows in the eighth digit.
    "adm": 1e-7,
    "aim": 1e-7,
    # Their means are rounded to single precision, so the order of a sum may show in the last digit, and pow()
    # and log10() make more of it the nearer a figure is to 1. Most are the same doubles.
    "float_ssim": 1e-6,
    "float_ms_ssim": 1e-6,
}
SCORE_TOLERANCE: Final = 1e-11  # scores pass through exp(), whose last digit libraries disagree on


def tolerance(key: str, scores: Set[str] = frozenset()) -> float:
    """The most that a figure of this key may be off."""
    if key in scores:
        return SCORE_TOLERANCE
    return next((limit for start, limit in TOLERANCES.items() if key.startswith(start)), 0.0)

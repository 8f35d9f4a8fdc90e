"""Misaligned: the picture is a good one, at another place or of another moment than the reference."""

from __future__ import annotations

from typing import Final

from acuity.frames.artefacts.combing import is_combed
from acuity.frames.artefacts.frame import ExaminedFrame
from acuity.video.alignment.geometry import LEAST_GAIN, squared_error, transformation

MISALIGNED: Final = "misaligned"
_SMALLEST: Final = 16
_AS_GOOD: Final = 0.5  # of a transformation's gain: a camera that pans shifts pictures, too


def find_misaligned(frame: ExaminedFrame) -> str | None:
    """Where or when the picture is, in words; empty if it is in place; None if it is too small to know."""
    ref, dis = frame.ref.luma, frame.dis.luma
    if min(ref.shape) < _SMALLEST:
        return None
    if is_combed(ref, dis, frame.level):  # a mean of two moments may look like a shift
        return ""
    moved = transformation(ref, dis)
    error = squared_error(ref, dis)
    gains = {number: error / squared_error(luma, dis) for number, luma in frame.neighbours.items()}
    moment = max(gains, key=lambda number: gains[number], default=None)
    if moment is not None and gains[moment] >= max(LEAST_GAIN, _AS_GOOD * moved.gain if moved else 0.0):
        return f"the picture shows another moment, frame {moment} of the reference"
    return "" if moved is None else f"the picture is {moved}"

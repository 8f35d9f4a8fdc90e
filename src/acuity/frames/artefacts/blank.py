"""Blank: the distorted picture is black or of one colour where the reference shows something."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.frame import ExaminedFrame
from acuity.video.picture import Samples

BLANK: Final = "blank"
_ONE_COLOUR: Final = 1.0  # levels of standard deviation that coding leaves in it
_PICTURE: Final = 5.0  # levels of standard deviation of luma from which a reference shows something
_SMALLEST: Final = 16
_BLACK: Final = 24.0  # levels of luma, limited range; in full range 16 fewer
_NEUTRAL: Final = 4.0  # levels of chroma


def find_blank(frame: ExaminedFrame) -> str | None:
    """What a blank picture is, in words; empty if it isn't blank; None if it is too small to know."""
    if min(frame.ref.width, frame.ref.height) < _SMALLEST:
        return None
    if any(_spread(plane, frame.level) > _ONE_COLOUR for plane in frame.dis.planes):
        return ""
    if _spread(frame.ref.luma, frame.level) < _PICTURE:
        return ""
    word = "black" if _is_black(frame) else "of one colour"
    return f"the picture is {word}, the reference isn't"


def _spread(plane: Samples, level: float) -> float:
    return float(np.std(plane, dtype=np.float64)) / level


def _is_black(frame: ExaminedFrame) -> bool:
    luma, *chroma = (float(np.mean(plane)) for plane in frame.dis.planes)
    neutral = 1 << (frame.dis.format.depth - 1)
    darkest = _BLACK - 16 if frame.full_range else _BLACK
    return luma / frame.level <= darkest and all(
        abs(mean - neutral) / frame.level <= _NEUTRAL for mean in chroma
    )

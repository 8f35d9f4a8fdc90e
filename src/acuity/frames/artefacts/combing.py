"""Combing: every second row shows another moment, as fields of interlaced video do that were woven."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.grid import Plane
from acuity.frames.artefacts.measure import Figures, Gathered, Measured
from acuity.frames.artefacts.severity import Anchors, worst
from acuity.frames.artefacts.strip import Strip
from acuity.video.picture import Samples

_UNEVEN: Final = (
    2.5  # times the squared error of the other rows: encoders, scalers and noise treat rows alike
)
_ROUNDING: Final = 0.1  # squared levels that don't count


class Combing:
    name = "combing"
    anchors = Anchors(1.5, 4.0, 10.0, 30.0)  # levels that one half of the rows is off more than the other

    def gather(self, strip: Strip) -> Figures | None:
        if min(strip.grid.width, strip.grid.height) < 16:
            return None
        off = np.square(strip.luma.dis - strip.luma.ref)
        upper, lower = off.copy(), off
        upper[1::2], lower[::2] = 0, 0  # strips begin with an even row
        return strip.means(upper), strip.means(lower)

    def judge(self, gathered: Gathered) -> Measured | None:
        upper, lower = gathered.figures
        if not _uneven(float(upper.mean()), float(lower.mean())):
            return Measured(0.0, np.zeros_like(upper))
        more: Plane = upper - lower if upper.sum() > lower.sum() else lower - upper
        cells = np.sqrt(2 * np.maximum(more, 0))
        return Measured(worst(cells), cells)


def is_combed(ref: Samples, dis: Samples, level: float) -> bool:
    """Whether one half of the rows is like the reference, and the other isn't."""
    off = np.square((dis.astype(np.float32) - ref) / np.float32(level))
    return _uneven(float(off[::2].mean()), float(off[1::2].mean()))


def _uneven(one: float, other: float) -> bool:
    return max(one, other) > _UNEVEN * (min(one, other) + _ROUNDING)

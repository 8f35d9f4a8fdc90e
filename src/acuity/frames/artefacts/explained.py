"""What one artefact explains of another, so that it isn't counted twice."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from acuity.frames.artefacts.banding import Banding
from acuity.frames.artefacts.blocking import Blocking
from acuity.frames.artefacts.combing import Combing
from acuity.frames.artefacts.grid import Plane, smoothed
from acuity.frames.artefacts.measure import Measured
from acuity.frames.artefacts.noise import Noise


class Explanation(NamedTuple):
    """A cause takes a share of an effect away, where its figure is large enough, and less elsewhere."""

    cause: str
    effect: str
    enough: float
    share: float


EXPLANATIONS: Final = (
    *(
        Explanation("combing", effect, Combing.anchors.just_visible, 1.0)  # rows of another moment
        for effect in ("blocking", "blur", "ringing", "banding", "noise", "colour shift", "brightness shift")
    ),
    Explanation("blocking", "banding", Blocking.anchors.visible, 1.0),  # steps between blocks of a gradient
    Explanation("blocking", "noise", Blocking.anchors.visible, 0.7),  # small blocks have borders everywhere
    Explanation("blocking", "blur", Blocking.anchors.severe, 0.35),  # blocks are flat inside
    Explanation("banding", "blur", Banding.anchors.visible, 0.8),  # and so are bands
    Explanation("noise", "ringing", Noise.anchors.visible, 0.6),  # noise beside edges
)


def explained(results: dict[str, Measured]) -> dict[str, Measured]:
    """The results without what others explain."""
    left = dict(results)
    for cause, effect, enough, share in EXPLANATIONS:
        if cause in left and effect in left:
            taken = np.minimum(smoothed(left[cause].cells) / np.float32(enough), 1) * np.float32(share)
            left[effect] = _reduced(left[effect], 1 - taken)
    return left


def _reduced(measured: Measured, kept: Plane) -> Measured:
    cells = measured.cells * kept
    total = float(measured.cells.sum())
    return Measured(measured.figure * float(cells.sum()) / total if total > 0 else 0.0, cells)

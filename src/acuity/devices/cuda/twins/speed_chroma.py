"""SpEED of chroma on the card."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acuity._native import Speed
from acuity.devices.cuda.batch import Batch, Bench
from acuity.devices.cuda.twins.speed import CHROMA, SpeedTwin
from acuity.features.extractor import Frame, Geometry
from acuity.features.speed_chroma import SpeedChroma, SpeedChromaFigures


class SpeedChromaTwin:
    """Compares u with u and v with v."""

    def __init__(self, members: Sequence[SpeedChroma], geometry: Geometry, bench: Bench) -> None:
        self._figures = SpeedChromaFigures(members)
        self._twin = SpeedTwin(members, geometry.chroma or (0, 0), geometry.depth, CHROMA, bench)
        self.words = self._twin.words

    def launch(self, batch: Batch, sums: int) -> None:
        self._twin.launch(batch, sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return self._figures.of(Speed.joined(*self._twin.results(sums)))

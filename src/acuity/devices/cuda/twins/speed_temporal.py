"""SpEED of changes on the card."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.batch import Batch, Bench
from acuity.devices.cuda.twins.speed import CHANGE, CHANGE_TOWARDS_REFERENCE, SpeedTwin
from acuity.features.extractor import Frame, Geometry
from acuity.features.speed_temporal import SpeedTemporal, SpeedTemporalFigures


class SpeedTemporalTwin:
    """Compares what changed in the luma of both pictures."""

    def __init__(self, members: Sequence[SpeedTemporal], geometry: Geometry, bench: Bench) -> None:
        self._figures = SpeedTemporalFigures(members, geometry)
        self._twin: SpeedTwin | None = None
        if self._figures.fits:
            comparison = CHANGE_TOWARDS_REFERENCE if members[0].flag("speed_use_ref_diff") else CHANGE
            plane = geometry.width, geometry.height
            self._twin = SpeedTwin(members, plane, geometry.depth, comparison, bench)
        self.words = self._twin.words if self._twin is not None else 1

    def launch(self, batch: Batch, sums: int) -> None:
        if self._twin is not None:
            self._twin.launch(batch, sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        if frame.index == 0:
            return self._figures.of_first()
        if self._twin is None:
            raise self._figures.too_small()
        ((_, scores),) = self._twin.results(sums)
        return self._figures.of(scores)

"""A device that computes wrong digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from acuity.devices.cpu import CpuDevice, CpuLane
from acuity.features.extractor import Extractor, Geometry


class OffLane(CpuLane):
    """Figures are one unit in the last place too large."""

    def runner(self, kind: type[Extractor], members: Sequence[Extractor]) -> Any:
        right = super().runner(kind, members)

        def off(frame: Any) -> dict[str, float]:
            return {key: float(np.nextafter(value, 1e9)) for key, value in right(frame).items()}

        return off


class OffDevice(CpuDevice):
    def lane(self, geometry: Geometry) -> CpuLane:
        return OffLane(geometry, self.instruction_set)

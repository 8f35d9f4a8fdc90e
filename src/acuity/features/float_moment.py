"""Moments: the means of luma and of its square, for both pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry


class FloatMoment(Extractor):
    name = "float_moment"
    summary = "means of luma and of its square, of both pictures"
    options = ()
    features = tuple(
        Feature(f"float_moment_{picture}{order}", f"float_moment_{picture}{order}")
        for order in ("1st", "2nd")
        for picture in ("ref", "dis")
    )
    min_size = 1
    min_size_reason = "it needs a sample"

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> FloatMomentRunner:
        return FloatMomentRunner(geometry, cpu)


class FloatMomentRunner:
    def __init__(self, geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        self._moments = _native.moments
        self._depth = geometry.depth
        self._set = cpu.instruction_set
        self._samples = geometry.width * geometry.height
        unit = 2.0 ** (geometry.depth - 8)  # samples count as those of 8 bits
        self._units = (unit, unit, unit**2, unit**2)

    def run(self, frame: Frame) -> dict[str, float]:
        sums = self._moments(frame.ref.luma, frame.dis.luma, self._depth, self._set)
        keys = (feature.name for feature in FloatMoment.features)
        return {
            key: total / unit / self._samples
            for key, total, unit in zip(keys, sums, self._units, strict=True)
        }

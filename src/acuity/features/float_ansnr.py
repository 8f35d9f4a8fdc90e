"""ANSNR: the signal to noise ratio after a smoothing that removes invisible noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry
from acuity.features.float_psnr import decibels, limit, peak


class FloatAnsnr(Extractor):
    name = "float_ansnr"
    summary = "signal to noise ratio of smoothed luma"
    options = ()
    features = (Feature("float_ansnr", "float_ansnr"), Feature("float_anpsnr", "float_anpsnr"))
    min_size = 3
    min_size_reason = "its smoothing reaches two samples past each edge"

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> FloatAnsnrRunner:
        return FloatAnsnrRunner(geometry, cpu)


class FloatAnsnrRunner:
    def __init__(self, geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        self._kernel = cpu.kernel(_native.Ansnr, geometry)
        self._depth = geometry.depth
        self._power = peak(geometry.depth) ** 2 * geometry.width * geometry.height

    def run(self, frame: Frame) -> dict[str, float]:
        ratio, noise = self._kernel.run(frame.ref.luma, frame.dis.luma)
        ansnr = limit(self._depth)
        if noise:
            ansnr = 10.0 * math.log10(ratio) if ratio else -math.inf  # the reference is all grey
        return {"float_ansnr": ansnr, "float_anpsnr": decibels(self._power, noise, self._depth)}

"""Peak signal to noise ratio of luma, in the arithmetic of the floating-point features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Self

from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry

_LEAST_NOISE: Final = 1e-10  # used if there is no noise


def peak(depth: int) -> float:
    """The largest sample, scaled to the range of 8 bits."""
    return ((1 << depth) - 1) / (1 << (depth - 8))


def decibels(power: float, noise: float, depth: int) -> float:
    """The ratio of peak power to noise in decibels, up to the limit for no noise."""
    return min(10.0 * math.log10(power / max(noise, _LEAST_NOISE)), limit(depth))


def limit(depth: int) -> float:
    """The largest figure."""
    return 6.0 * depth + 12.0


class FloatPsnr(Extractor):
    name = "float_psnr"
    summary = "peak signal to noise ratio of luma, floating point"
    options = ()
    features = (Feature("float_psnr", "float_psnr"),)
    min_size = 1
    min_size_reason = "it needs a sample"

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> FloatPsnrRunner:
        return FloatPsnrRunner(geometry, cpu)


class FloatPsnrRunner:
    def __init__(self, geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        exact = geometry.depth <= 12  # squares of differences fit single precision
        self._error = _native.squared_error if exact else _native.rounded_error
        self._depth = geometry.depth
        self._set = cpu.instruction_set
        self._unit = 4.0 ** (geometry.depth - 8)
        self._samples = geometry.width * geometry.height
        self._power = peak(geometry.depth) ** 2

    def run(self, frame: Frame) -> dict[str, float]:
        error = self._error(frame.ref.luma, frame.dis.luma, self._depth, self._set)
        noise = error / self._unit / self._samples
        return {"float_psnr": decibels(self._power, noise, self._depth)}

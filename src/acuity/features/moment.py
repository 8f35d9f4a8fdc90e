"""Moments: the means of luma and of its square; and Null, without a figure, to time the rest of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from acuity._native import moments
from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry, Run

_KEYS: Final = [f"float_moment_{picture}{order}" for order in ("1st", "2nd") for picture in ("ref", "dis")]


class FloatMoment(Extractor):
    name = "float_moment"
    summary = "means of luma and of its square, of both pictures"
    features = tuple(Feature(key, key) for key in _KEYS)

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        depth, instructions, samples = geometry.depth, cpu.instruction_set, geometry.width * geometry.height
        unit = 2.0 ** (depth - 8)  # samples count as those of 8 bits
        units = (unit, unit, unit**2, unit**2)

        def run(frame: Frame) -> dict[str, float]:
            sums = moments(frame.ref.samples[0], frame.dis.samples[0], depth, instructions)
            return {key: total / each / samples for key, total, each in zip(_KEYS, sums, units, strict=True)}

        return run


class Null(Extractor):
    name = "null"
    summary = "no figure at all, to time what else a run does"
    features = ()

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        return lambda _: {}

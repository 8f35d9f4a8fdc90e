"""Structural similarity, integer arithmetic.

libvmaf has it in its source but not in its program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry


class Ssim(Extractor):
    name = "ssim"
    summary = "structural similarity of luma, every sample's window counting"
    options = ()
    features = (Feature("ssim", "ssim"),)
    min_size = 1
    min_size_reason = "it needs a sample"

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> SsimRunner:
        return SsimRunner(geometry, cpu)


class SsimRunner:
    def __init__(self, geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        self._native = cpu.kernel(_native.Ssim, geometry)

    def run(self, frame: Frame) -> dict[str, float]:
        return {"ssim": self._native.run(frame.ref.luma, frame.dis.luma)}

"""How different the colours look: CIEDE2000 of every pixel, in decibels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Self

from acuity import _native
from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry, Run

# The right shifts of a pixel's column and row that give its chroma sample. They are libvmaf's, which treats
# 4:2:2 as half the rows instead of half the columns; equal figures need the same mistake.
SHIFTS: Final = {"420": (1, 1), "422": (0, 1), "444": (0, 0)}


class Ciede(Extractor):
    name = "ciede"
    summary = "colour difference (CIEDE2000)"
    features = (Feature("ciede2000", "ciede2000"),)
    needs_chroma = True

    def reading(self, geometry: Geometry) -> str | None:
        matrix, full_range, transfer, _ = geometry.colour
        said = [
            *([f"the matrix {matrix}"] if matrix not in (None, "bt709") else []),
            *(["full range"] if full_range else []),
            *([f"the transfer {transfer}"] if transfer in ("smpte2084", "arib-std-b67") else []),
        ]
        if not said:
            return None
        return (
            f"ciede reads all samples as BT.709 in limited range, as libvmaf's does, though these have "
            f"{' and '.join(said)}: compare its figures with those of such videos only"
        )

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        kernel, pixels = cpu.kernel(_native.Ciede, geometry), geometry.width * geometry.height

        def run(frame: Frame) -> dict[str, float]:
            shifts = SHIFTS[frame.ref.format.layout]
            return figures(kernel.run(frame.ref.samples, frame.dis.samples, *shifts), pixels)

        return run


def figures(total: float, pixels: int) -> dict[str, float]:
    """A frame's figure from the sum over its pixels."""
    return {"ciede2000": 45.0 - 20.0 * math.log10(total / pixels) if total else math.inf}

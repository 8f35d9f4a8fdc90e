"""PSNR-HVS: errors of 8x8 blocks, weighted by frequency and by what the picture masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Self

from acuity._native import hvs_errors
from acuity.errors import UnfitPictureError
from acuity.features.extractor import CpuContext, Extractor, Feature, Geometry, Run

_KEYS: Final = ("psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs")
_MOST_BITS: Final = 12


class PsnrHvs(Extractor):
    name = "psnr_hvs"
    summary = "peak signal to visible noise ratio (PSNR-HVS-M), luma, chroma and both"
    features = tuple(Feature(key, key) for key in _KEYS)
    min_size = 8
    min_size_reason = "it looks at blocks of 8x8"
    needs_chroma = True

    def check_size(self, geometry: Geometry) -> None:
        super().check_size(geometry)
        if geometry.chroma is not None and min(geometry.chroma) < self.min_size:
            columns, rows = geometry.chroma
            raise UnfitPictureError(
                f"psnr_hvs needs chroma planes of at least 8x8 samples, because {self.min_size_reason}, and "
                f"these are {columns}x{rows}"
            )
        if geometry.depth > _MOST_BITS:
            raise UnfitPictureError(
                f"psnr_hvs takes up to {_MOST_BITS} bits a sample, and these pictures have {geometry.depth}: "
                "leave it out or convert them"
            )

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        depth, instructions = geometry.depth, cpu.instruction_set
        return lambda frame: figures(*hvs_errors(frame.ref.samples, frame.dis.samples, depth, instructions))


def figures(luma: float, cb: float, cr: float) -> dict[str, float]:
    """A frame's figures from the mean errors of its planes."""
    errors = (luma, cb, cr, luma * 0.8 + 0.1 * (cb + cr))
    decibels = (10.0 * -math.log10(error) if error else math.inf for error in errors)
    return dict(zip(_KEYS, decibels, strict=True))

"""Structural similarity at several scales, single precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from acuity.features.extractor import CpuContext, Feature, Geometry
from acuity.features.similarity import OPTIONS, Similarity

if TYPE_CHECKING:
    from acuity import _native

_SCALES: Final = range(5)


class FloatMsSsim(Similarity):
    name = "float_ms_ssim"
    summary = "structural similarity of luma at five scales"
    options = OPTIONS
    features = (
        Feature("float_ms_ssim", "float_ms_ssim"),
        *(
            Feature(
                f"float_ms_ssim_{term}_scale{s}", f"float_ms_ssim_{term}_scale{s}", only_with="enable_lcs"
            )
            for term in "lcs"
            for s in _SCALES
        ),
    )
    min_size = 176
    min_size_reason = "its coarsest scale is a sixteenth and its window has 11x11 of that"

    def kernel(self, geometry: Geometry, cpu: CpuContext) -> _native.FloatMsSsim:
        from acuity import _native

        return cpu.kernel(_native.FloatMsSsim, geometry)

"""Structural similarity, single precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from acuity.errors import UnfitPictureError
from acuity.features.extractor import CpuContext, Feature, Geometry
from acuity.features.options import Option
from acuity.features.similarity import OPTIONS, Similarity

if TYPE_CHECKING:
    from acuity import _native

_WINDOW: Final = 11  # samples each way
_VIEWED_LINES: Final = 256  # pictures are shrunk to about as many


class FloatSsim(Similarity):
    name = "float_ssim"
    summary = "structural similarity of luma"
    options = (
        *OPTIONS,
        Option(
            "scale",
            "",
            "int",
            0,
            0,
            10,
            named=False,
            help="shrink pictures so many times first; 0: to about 256 lines",
        ),
    )
    features = (
        Feature("float_ssim", "float_ssim"),
        *(Feature(f"float_ssim_{term}", f"float_ssim_{term}", only_with="enable_lcs") for term in "lcs"),
    )
    min_size = _WINDOW
    min_size_reason = f"its window has {_WINDOW}x{_WINDOW}"

    def factor(self, geometry: Geometry) -> int:
        """How many times smaller pictures are made."""
        lines = min(geometry.width, geometry.height)
        return int(self.number("scale")) or max(1, (lines + _VIEWED_LINES // 2) // _VIEWED_LINES)

    def check_size(self, geometry: Geometry) -> None:
        super().check_size(geometry)
        factor = self.factor(geometry)
        if factor == 1:
            return
        shrunk = [side // factor + side % 2 for side in (geometry.width, geometry.height)]
        if min(shrunk) < _WINDOW:
            least = _WINDOW * factor
            raise UnfitPictureError(
                f"float_ssim with scale={factor} needs pictures of at least {least}x{least} samples, because "
                f"its window has {_WINDOW}x{_WINDOW} of those that are left, and these are "
                f"{geometry.width}x{geometry.height}: choose a smaller scale"
            )

    def kernel(self, geometry: Geometry, cpu: CpuContext) -> _native.FloatSsim:
        from acuity import _native

        return cpu.kernel(_native.FloatSsim, geometry, factor=self.factor(geometry))

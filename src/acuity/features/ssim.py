"""Structural similarity: in single precision at one scale or at several, and in integer arithmetic.

libvmaf has the last one in its source but not in its program.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Final, Self

from acuity import _native
from acuity.errors import UnfitPictureError
from acuity.features.extractor import CpuContext, Extractor, Feature, Geometry, Run
from acuity.features.options import number, switch

_OPTIONS: Final = (
    switch("enable_lcs", "", "also give luminance, contrast and structure", widens=True),
    switch("enable_db", "", "give the figure in decibels"),
    switch("clip_db", "", "limit decibels, which have no end otherwise"),
)
_TERMS: Final = "lcs"
_WINDOW: Final = 11  # samples each way
_VIEWED_LINES: Final = 256  # float_ssim shrinks pictures to about as many
_SCALES: Final = range(5)  # of float_ms_ssim


class Similarity(Extractor):
    """An extractor whose kernel gives the figure and then its terms, in the order of its features."""

    @abstractmethod
    def kernel(self, geometry: Geometry, cpu: CpuContext) -> _native.FloatSsim | _native.FloatMsSsim:
        """The native object that computes the figure."""

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        (member,) = members  # exactly one, because no option is part of a name
        figures, kernel = SimilarityFigures(member, geometry), member.kernel(geometry, cpu)
        return lambda frame: figures.of(kernel.run(frame.ref.samples[0], frame.dis.samples[0]))

    def limit(self, geometry: Geometry) -> float:
        """The largest figure in decibels: that of pictures with one sample off by less than a step."""
        if not self.flag("clip_db"):
            return math.inf
        peak = (1 << geometry.depth) - 1
        return math.ceil(10.0 * math.log10(peak * peak / (0.5 / (geometry.width * geometry.height))))


def decibels(figure: float, limit: float) -> float:
    """The distance of a figure from 1 in decibels; the limit for 1 and more, and for NaN."""
    distance = 1.0 - figure
    return min(-10.0 * math.log10(distance), limit) if distance > 0.0 else limit


class SimilarityFigures:
    """Makes a frame's figures from the kernel's output."""

    def __init__(self, member: Similarity, geometry: Geometry) -> None:
        self._keys = member.keys(late=False)
        self._decibels = member.flag("enable_db")
        self._limit = member.limit(geometry)

    def of(self, values: list[float]) -> dict[str, float]:
        if self._decibels:
            values[0] = decibels(values[0], self._limit)
        return dict(zip(self._keys, values, strict=False))  # there may be no keys for the terms


class FloatSsim(Similarity):
    name = "float_ssim"
    summary = "structural similarity of luma"
    options = (
        *_OPTIONS,
        number(
            "scale", "", 0, 0, 10, "shrink pictures so many times first; 0: to about 256 lines", named=False
        ),
    )
    features = (
        Feature("float_ssim", "float_ssim"),
        *(Feature(f"float_ssim_{term}", f"float_ssim_{term}", only_with="enable_lcs") for term in _TERMS),
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
        return cpu.kernel(_native.FloatSsim, geometry, factor=self.factor(geometry))


class FloatMsSsim(Similarity):
    name = "float_ms_ssim"
    summary = "structural similarity of luma at five scales"
    options = _OPTIONS
    features = (
        Feature("float_ms_ssim", "float_ms_ssim"),
        *(
            Feature(name, name, only_with="enable_lcs")
            for name in (f"float_ms_ssim_{term}_scale{scale}" for term in _TERMS for scale in _SCALES)
        ),
    )
    min_size = 176
    min_size_reason = "its coarsest scale is a sixteenth and its window has 11x11 of that"

    def kernel(self, geometry: Geometry, cpu: CpuContext) -> _native.FloatMsSsim:
        return cpu.kernel(_native.FloatMsSsim, geometry)


class Ssim(Extractor):
    name = "ssim"
    summary = "structural similarity of luma, every sample's window counting"
    features = (Feature("ssim", "ssim"),)

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        kernel = cpu.kernel(_native.Ssim, geometry)
        return lambda frame: {"ssim": kernel.run(frame.ref.samples[0], frame.dis.samples[0])}

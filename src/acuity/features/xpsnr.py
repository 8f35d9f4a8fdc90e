"""XPSNR: squared errors weighted by how well the picture masks them, as in FFmpeg's xpsnr filter.

The figures of each frame and of the whole clip equal the filter's, including infinity for equal planes. The
weighted figure averages the errors of the planes: four parts luma, one part of each chroma plane.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self

from acuity import _native
from acuity.arrays import np
from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry, Run
from acuity.features.options import number
from acuity.features.psnr import plane_samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PLANES: Final = ("y", "u", "v")
_WEIGHTS: Final = (4.0, 1.0, 1.0)
_FAST: Final = 32  # frames a second from which on motion is judged by three pictures


class Xpsnr(Extractor):
    name = "xpsnr"
    summary = "PSNR weighted by what the eye sees, luma and chroma"
    options = (
        number("frame_rate", "fps", 30.0, 0.0, 1000.0,
            "frames a second: from 32 on, motion is judged by three frames instead of two", named=False),
    )  # fmt: skip
    features = (
        *(Feature(f"xpsnr_{plane}", f"xpsnr_{plane}") for plane in _PLANES),
        Feature("xpsnr_w", "xpsnr_w"),
        *(Feature(f"xpsnr_root_{plane}", f"xpsnr_root_{plane}", hidden=True) for plane in _PLANES),
    )
    uses_chroma = True

    @property
    def fast(self) -> bool:
        return self.number("frame_rate") >= _FAST

    @property
    def lookback(self) -> int:
        return 2 if self.fast else 1

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        (member,) = members  # exactly one, because no option is part of a name
        lookback, sizes = member.lookback, signal_sizes(geometry)
        native = member.kernel(geometry, cpu.instruction_set)

        def run(frame: Frame) -> dict[str, float]:
            before = [pair.ref.samples[0] for pair in frame.before[:lookback]]
            errors = native.run(list(frame.ref.samples), list(frame.dis.samples), before)
            return frame_figures(errors, sizes)

        return run

    def kernel(self, geometry: Geometry, instruction_set: str = "") -> _native.Xpsnr:
        """The native object that weighs errors."""
        size, chroma = (geometry.width, geometry.height, geometry.depth), geometry.chroma or (0, 0)
        return _native.Xpsnr(*size, chroma=chroma, fast=self.fast, instruction_set=instruction_set)

    def aggregate(self, columns: Mapping[str, NDArray[np.float64]], geometry: Geometry) -> dict[str, float]:
        """The figures that the filter prints at the end, and their weighted average."""
        found = {}
        for plane, size in zip(_PLANES, signal_sizes(geometry), strict=False):
            roots = columns.get(f"xpsnr_root_{plane}")
            if roots is not None and len(roots):
                found[f"axpsnr_{plane}"] = clip_figure(roots, size)
        if found:
            figures = list(found.values())
            found["axpsnr_min"] = min(figures)
            found["axpsnr_w"] = weighted(figures)
        return found


def signal_sizes(geometry: Geometry) -> list[int]:
    """The sum of the largest possible squared errors of each plane."""
    peak = (1 << geometry.depth) - 1
    return [samples * peak * peak for samples in plane_samples(geometry)]


def decibels(root: float, size: int) -> float:
    """Decibels of the root of a weighted squared error; infinite if that is less than one."""
    return 10.0 * math.log10(size / (root * root)) if root >= 1.0 else math.inf


def clip_figure(roots: NDArray[np.float64], size: int) -> float:
    """The mean of roots in decibels; if nearly all frames are equal, the mean of their decibels."""
    mean = float(roots.sum()) / len(roots)
    if mean >= 1.0:
        return decibels(mean, size)
    return math.fsum(decibels(root, size) for root in roots.tolist()) / len(roots)


def weighted(figures: Iterable[float]) -> float:
    """The average of the planes' figures, taken over their errors; infinite if there are none."""
    terms = [(weight, 10.0 ** (-figure / 10.0)) for weight, figure in zip(_WEIGHTS, figures, strict=False)]
    error = sum(weight * term for weight, term in terms) / sum(weight for weight, _ in terms)
    return -10.0 * math.log10(error) if error > 0.0 else math.inf


def frame_figures(errors: Iterable[int], sizes: Iterable[int]) -> dict[str, float]:
    """A frame's figures from the weighted errors of its planes."""
    roots = [math.sqrt(error) for error in errors]
    figures = [decibels(root, size) for root, size in zip(roots, sizes, strict=False)]
    found = {f"xpsnr_{plane}": figure for plane, figure in zip(_PLANES, figures, strict=False)}
    found["xpsnr_w"] = weighted(figures)
    found |= {f"xpsnr_root_{plane}": root for plane, root in zip(_PLANES, roots, strict=False)}
    return found

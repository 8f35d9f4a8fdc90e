"""The common base of the structural similarity extractors: options, and figures in decibels."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol, Self

from acuity.features.extractor import CpuContext, Extractor, Frame, Geometry
from acuity.features.options import Option

if TYPE_CHECKING:
    from acuity.video.picture import Samples

OPTIONS: Final = (
    Option(
        "enable_lcs",
        "",
        "bool",
        False,
        named=False,
        widens=True,
        help="also give luminance, contrast and structure",
    ),
    Option("enable_db", "", "bool", False, named=False, help="give the figure in decibels"),
    Option("clip_db", "", "bool", False, named=False, help="limit decibels, which have no end otherwise"),
)


class Kernel(Protocol):
    """A native object that compares two pictures."""

    def run(self, ref: Samples, dis: Samples) -> list[float]: ...


class Similarity(Extractor):
    """An extractor whose kernel gives the figure and then its terms, in the order of its features."""

    @abstractmethod
    def kernel(self, geometry: Geometry, cpu: CpuContext) -> Kernel:
        """The native object that computes the figure."""

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> SimilarityRunner:
        (member,) = members  # exactly one, because no option is part of a name
        return SimilarityRunner(member, geometry, member.kernel(geometry, cpu))

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
    """Makes a frame's figures from what the kernel gives."""

    def __init__(self, member: Similarity, geometry: Geometry) -> None:
        self._keys = member.keys(late=False)
        self._decibels = member.flag("enable_db")
        self._limit = member.limit(geometry)

    def of(self, values: list[float]) -> dict[str, float]:
        if self._decibels:
            values[0] = decibels(values[0], self._limit)
        return dict(zip(self._keys, values, strict=False))  # there may be no keys for the terms


class SimilarityRunner:
    def __init__(self, member: Similarity, geometry: Geometry, kernel: Kernel) -> None:
        self._kernel = kernel
        self._figures = SimilarityFigures(member, geometry)

    def run(self, frame: Frame) -> dict[str, float]:
        return self._figures.of(self._kernel.run(frame.ref.luma, frame.dis.luma))

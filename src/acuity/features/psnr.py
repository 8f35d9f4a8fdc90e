"""Peak signal to noise ratios: psnr of each plane, and two features in floating point.

float_psnr has its own arithmetic, and float_ansnr smooths both pictures first, which removes invisible noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self

from acuity import _native
from acuity.arrays import np
from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry, Run
from acuity.features.options import number, switch

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PLANES: Final = ("y", "cb", "cr")
_LEAST_MSE: Final = 1e-16  # used if there is no error
_LEAST_NOISE: Final = 1e-10  # likewise


class Psnr(Extractor):
    name = "psnr"
    sequential = True
    summary = "peak signal to noise ratio, luma and chroma"
    options = (
        switch("enable_chroma", "", "also of the chroma planes", default=True, widens=True),
        switch("enable_mse", "", "also give mean squared errors", widens=True),
        switch("enable_apsnr", "", "also of the clip as a whole", widens=True),
        switch("reduced_hbd_peak", "", "above 8 bits, take 255 scaled up as the peak"),
        number("min_sse", "", 0.0, 0.0, math.inf,
            "smallest squared error of a plane that counts, which limits the figure", named=False),
    )  # fmt: skip
    features = tuple(
        feature
        for plane in _PLANES
        for feature in (
            Feature(f"psnr_{plane}", f"psnr_{plane}"),
            Feature(f"mse_{plane}", f"mse_{plane}", only_with="enable_mse"),
            Feature(f"sse_{plane}", f"sse_{plane}", only_with="enable_apsnr", hidden=True),
        )
    )

    def gives(self, feature: Feature) -> bool:
        return (feature.name.endswith("_y") or self.flag("enable_chroma")) and super().gives(feature)

    @property
    def every_frame(self) -> bool:
        return self.flag("enable_apsnr")  # apsnr is of all frames

    @property
    def uses_chroma(self) -> bool:
        return self.flag("enable_chroma")

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        figures = PsnrFigures(members, geometry)
        error, depth, instructions = _native.squared_error, geometry.depth, cpu.instruction_set

        def run(frame: Frame) -> dict[str, float]:
            pairs = list(zip(frame.ref.samples, frame.dis.samples, strict=False))[: figures.planes]
            return figures.of(error(ref, dis, depth, instructions) for ref, dis in pairs)

        return run

    def peak(self, depth: int) -> int:
        return 255 << (depth - 8) if self.flag("reduced_hbd_peak") else (1 << depth) - 1

    def limit(self, depth: int, samples: int) -> float:
        """The figure of planes that are equal or nearly equal."""
        least = self.number("min_sse")
        if not least:
            return _limit(depth)
        return math.ceil(10.0 * math.log10(self.peak(depth) ** 2 / (least / samples)))

    def aggregate(self, columns: Mapping[str, NDArray[np.float64]], geometry: Geometry) -> dict[str, float]:
        peak = self.peak(geometry.depth) ** 2
        found = {}
        for plane, samples in zip(_PLANES, plane_samples(geometry), strict=False):
            errors = columns.get(f"sse_{plane}")
            if errors is None or not len(errors):
                continue
            total, count = float(errors.sum()), samples * len(errors)
            limit = float(math.ceil(10.0 * math.log10(peak * count * 2)))
            if total:
                figure = 10.0 * (math.log10(peak) + math.log10(count) - math.log10(total))
                limit = min(figure, limit)
            found[f"apsnr_{plane}"] = limit
        return found


def plane_samples(geometry: Geometry) -> list[int]:
    """The number of samples of each plane."""
    columns, rows = geometry.chroma or (0, 0)
    return [geometry.width * geometry.height] + [columns * rows] * (2 if geometry.chroma else 0)


class PsnrFigures:
    """Makes a frame's figures from the squared errors of its planes."""

    def __init__(self, members: Sequence[Psnr], geometry: Geometry) -> None:
        (member,) = members  # exactly one, because no option is part of a name
        samples = plane_samples(geometry)[: 3 if member.flag("enable_chroma") else 1]
        keys = {*member.keys(late=False), *member.hidden_keys()}
        self._peak = member.peak(geometry.depth) ** 2
        limits = [member.limit(geometry.depth, count) for count in samples]
        self._planes = [
            (plane, count, limit, f"mse_{plane}" in keys, f"sse_{plane}" in keys)
            for plane, count, limit in zip(_PLANES, samples, limits, strict=False)
        ]

    @property
    def planes(self) -> int:
        """How many planes are looked at."""
        return len(self._planes)

    def of(self, errors: Iterable[int]) -> dict[str, float]:
        found: dict[str, float] = {}
        for (plane, samples, limit, mse_wanted, sse_wanted), error in zip(self._planes, errors, strict=True):
            mse = error / samples
            found[f"psnr_{plane}"] = min(10.0 * math.log10(self._peak / max(mse, _LEAST_MSE)), limit)
            if mse_wanted:
                found[f"mse_{plane}"] = mse
            if sse_wanted:
                found[f"sse_{plane}"] = float(error)
        return found


class FloatPsnr(Extractor):
    name = "float_psnr"
    summary = "peak signal to noise ratio of luma, floating point"
    features = (Feature("float_psnr", "float_psnr"),)

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        depth, instructions = geometry.depth, cpu.instruction_set
        exact = depth <= 12  # squares of differences fit single precision
        error = _native.squared_error if exact else _native.rounded_error
        unit, samples, power = 4.0 ** (depth - 8), geometry.width * geometry.height, _peak(depth) ** 2

        def run(frame: Frame) -> dict[str, float]:
            noise = error(frame.ref.samples[0], frame.dis.samples[0], depth, instructions) / unit / samples
            return {"float_psnr": _decibels(power, noise, depth)}

        return run


class FloatAnsnr(Extractor):
    name = "float_ansnr"
    summary = "signal to noise ratio of smoothed luma"
    features = (Feature("float_ansnr", "float_ansnr"), Feature("float_anpsnr", "float_anpsnr"))
    min_size = 3
    min_size_reason = "its smoothing reaches two samples past each edge"

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        kernel, depth = cpu.kernel(_native.Ansnr, geometry), geometry.depth
        power = _peak(depth) ** 2 * geometry.width * geometry.height

        def run(frame: Frame) -> dict[str, float]:
            ratio, noise = kernel.run(frame.ref.samples[0], frame.dis.samples[0])
            ansnr = _limit(depth)
            if noise:
                ansnr = 10.0 * math.log10(ratio) if ratio else -math.inf  # the reference is all grey
            return {"float_ansnr": ansnr, "float_anpsnr": _decibels(power, noise, depth)}

        return run


def _peak(depth: int) -> float:
    """The largest sample, scaled to the range of 8 bits."""
    return ((1 << depth) - 1) / (1 << (depth - 8))


def _decibels(power: float, noise: float, depth: int) -> float:
    """The ratio of peak power to noise in decibels, up to the limit for no noise."""
    return min(10.0 * math.log10(power / max(noise, _LEAST_NOISE)), _limit(depth))


def _limit(depth: int) -> float:
    """The largest figure."""
    return 6.0 * depth + 12.0

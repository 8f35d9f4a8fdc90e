"""Peak signal to noise ratio of luma and chroma, and of the whole clip."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry
from acuity.features.options import Option

_PLANES: Final = ("y", "cb", "cr")
_LEAST_MSE: Final = 1e-16  # used if there is no error


class Psnr(Extractor):
    name = "psnr"
    sequential = True
    summary = "peak signal to noise ratio, luma and chroma"
    options = (
        Option("enable_chroma", "", "bool", True, named=False, widens=True, help="also of the chroma planes"),
        Option(
            "enable_mse", "", "bool", False, named=False, widens=True, help="also give mean squared errors"
        ),
        Option(
            "enable_apsnr", "", "bool", False, named=False, widens=True, help="also of the clip as a whole"
        ),
        Option(
            "reduced_hbd_peak",
            "",
            "bool",
            False,
            named=False,
            help="above 8 bits, take 255 scaled up as the peak",
        ),
        Option(
            "min_sse",
            "",
            "float",
            0.0,
            0.0,
            math.inf,
            named=False,
            help="smallest squared error of a plane that counts, which limits the figure",
        ),
    )
    features = tuple(
        feature
        for plane in _PLANES
        for feature in (
            Feature(f"psnr_{plane}", f"psnr_{plane}"),
            Feature(f"mse_{plane}", f"mse_{plane}", only_with="enable_mse"),
            Feature(f"sse_{plane}", f"sse_{plane}", only_with="enable_apsnr", hidden=True),
        )
    )
    min_size = 1
    min_size_reason = "it needs a sample"

    def gives(self, feature: Feature) -> bool:
        if feature.name.endswith("_y") or self.flag("enable_chroma"):
            return super().gives(feature)
        return False

    @property
    def every_frame(self) -> bool:
        return self.flag("enable_apsnr")  # which is of all frames

    @property
    def uses_chroma(self) -> bool:
        return self.flag("enable_chroma")

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> PsnrRunner:
        return PsnrRunner(members, geometry, cpu)

    def peak(self, depth: int) -> int:
        return 255 << (depth - 8) if self.flag("reduced_hbd_peak") else (1 << depth) - 1

    def limit(self, depth: int, samples: int) -> float:
        """The figure of planes that are equal or nearly equal."""
        least = self.number("min_sse")
        if not least:
            return 6.0 * depth + 12.0
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
        self._planes = [
            (
                plane,
                count,
                member.limit(geometry.depth, count),
                f"mse_{plane}" in keys,
                f"sse_{plane}" in keys,
            )
            for plane, count in zip(_PLANES, samples, strict=False)
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


class PsnrRunner:
    def __init__(self, members: Sequence[Psnr], geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        self._squared_error = _native.squared_error
        self._depth = geometry.depth
        self._set = cpu.instruction_set
        self._figures = PsnrFigures(members, geometry)

    def run(self, frame: Frame) -> dict[str, float]:
        pairs = list(zip(frame.ref.planes, frame.dis.planes, strict=False))[: self._figures.planes]
        return self._figures.of(self._squared_error(ref, dis, self._depth, self._set) for ref, dis in pairs)

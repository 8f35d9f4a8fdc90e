"""SpEED of chroma: the difference in entropy of coarse blocks of the chroma planes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Self

from acuity.features.extractor import CpuContext, Feature, Frame, Geometry
from acuity.features.options import Option
from acuity.features.speed import OPTIONS, SpeedExtractor, native_speed, weighings


class SpeedChroma(SpeedExtractor):
    name = "speed_chroma"
    summary = "difference in entropy of the chroma planes"
    options = (
        *OPTIONS,
        Option("speed_max_val", "mxv", "float", 1000.0, 0.0, 1000.0, help="largest figure"),
        Option(
            "speed_weight_var_mode",
            "wvm",
            "int",
            0,
            0,
            6,
            help="variances that weigh entropies: 0 each picture's own, 1 the reference's, 2 the distorted "
            "one's, 3 their mean; 4 to 6: for the distorted picture 1/2, 1/4 or 3/4 of its own",
        ),
    )
    features = tuple(
        Feature(f"Speed_chroma_feature_speed_chroma_{planes}_score", f"speed_chroma_{planes}")
        for planes in ("u", "v", "uv")
    )
    needs_chroma = True

    def check_size(self, geometry: Geometry) -> None:
        if geometry.chroma is None:
            super().check_size(geometry)  # raises the error
            return
        smallest = self.smallest_plane
        if min(geometry.chroma) >= smallest:
            return
        whole = (geometry.width, geometry.height)
        steps = [2 if plane < side else 1 for plane, side in zip(geometry.chroma, whole, strict=True)]
        needed = (smallest * steps[0], smallest * steps[1])
        raise self.too_small("pictures with this chroma format", needed, whole)

    @property
    def weighing(self) -> tuple[float, float, int]:
        return *super().weighing[:2], int(self.number("speed_weight_var_mode"))

    @property
    def sharing(self) -> Hashable:
        return self.reduction

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> SpeedChromaRunner:
        return SpeedChromaRunner(members, geometry, cpu)


class SpeedChromaFigures:
    """Makes figures of the scores of each weighing: those of u, of v and of both."""

    def __init__(self, members: Sequence[SpeedChroma]) -> None:
        self._weighings = weighings(members)
        self._members = [(m.weighing, m.number("speed_max_val"), m.keys(late=False)) for m in members]

    def of(self, scores: Sequence[Sequence[float]]) -> dict[str, float]:
        by_weighing = dict(zip(self._weighings, scores, strict=True))
        found: dict[str, float] = {}
        for weighing, most, keys in self._members:
            for key, score in zip(keys, by_weighing[weighing], strict=True):
                found[key] = score if score < most else most  # NaN counts as large
        return found


class SpeedChromaRunner:
    def __init__(self, members: Sequence[SpeedChroma], geometry: Geometry, cpu: CpuContext) -> None:
        self._native = native_speed(members, geometry.chroma or (0, 0), geometry.depth, cpu)
        self._figures = SpeedChromaFigures(members)

    def run(self, frame: Frame) -> dict[str, float]:
        (_, ref_u, ref_v), (_, dis_u, dis_v) = frame.ref.planes, frame.dis.planes
        return self._figures.of(self._native.chroma(ref_u, ref_v, dis_u, dis_v))

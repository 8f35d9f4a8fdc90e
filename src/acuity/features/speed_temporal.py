"""SpEED of changes: the difference in entropy of coarse blocks of luma changes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Self

from acuity.errors import UnfitPictureError
from acuity.features.extractor import CpuContext, Feature, Frame, Geometry
from acuity.features.options import Option
from acuity.features.speed import OPTIONS, SpeedExtractor, native_speed, weighings

if TYPE_CHECKING:
    from acuity._native import Speed


class SpeedTemporal(SpeedExtractor):
    name = "speed_temporal"
    sequential = True
    summary = "difference in entropy of what changes from frame to frame"
    options = (
        *OPTIONS,
        Option(
            "speed_max_val",
            "mxv",
            "float",
            1000.0,
            0.0,
            1000.0,
            help="figure of changes too even for the arithmetic; others are not limited",
        ),
        Option(
            "speed_use_ref_diff",
            "urd",
            "bool",
            False,
            help="take the distorted picture's change towards the reference",
        ),
    )
    features = (Feature("Speed_temporal_feature_speed_temporal_score", "speed_temporal"),)

    def check_size(self, geometry: Geometry) -> None:
        """Accept any size for a first frame, which has no change yet; see the runner."""

    @property
    def lookback(self) -> int:
        return 1  # the frame before, even if subsampling leaves it out

    @property
    def sharing(self) -> Hashable:
        return self.reduction, self.flag("speed_use_ref_diff")

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> SpeedTemporalRunner:
        return SpeedTemporalRunner(members, geometry, cpu)


class SpeedTemporalFigures:
    """Makes figures of the scores of each weighing."""

    def __init__(self, members: Sequence[SpeedTemporal], geometry: Geometry) -> None:
        self._size = geometry.width, geometry.height
        self._first = members[0]
        self._weighings = weighings(members)
        self._members = [(m.weighing, m.number("speed_max_val"), m.keys(late=False)) for m in members]

    @property
    def fits(self) -> bool:
        """Whether the pictures hold a block. A first frame needs none."""
        return min(self._size) >= self._first.smallest_plane

    def too_small(self) -> UnfitPictureError:
        smallest = self._first.smallest_plane
        return self._first.too_small("pictures", (smallest, smallest), self._size)

    def of_first(self) -> dict[str, float]:
        """Those of the first frame, which has no change."""
        return {key: 0.0 for *_, keys in self._members for key in keys}

    def of(self, scores: Sequence[float]) -> dict[str, float]:
        found = dict(zip(self._weighings, scores, strict=True))
        return {
            key: found[weighing] if math.isfinite(found[weighing]) else most
            for weighing, most, keys in self._members
            for key in keys
        }


class SpeedTemporalRunner:
    def __init__(self, members: Sequence[SpeedTemporal], geometry: Geometry, cpu: CpuContext) -> None:
        self._figures = SpeedTemporalFigures(members, geometry)
        self._towards_reference = members[0].flag("speed_use_ref_diff")
        self._native: Speed | None = None
        if self._figures.fits:
            self._native = native_speed(members, (geometry.width, geometry.height), geometry.depth, cpu)

    def run(self, frame: Frame) -> dict[str, float]:
        if frame.index == 0:
            return self._figures.of_first()
        if self._native is None:
            raise self._figures.too_small()
        before = frame.before[0]
        dis = frame.ref if self._towards_reference else frame.dis
        return self._figures.of(
            self._native.change(before.ref.luma, frame.ref.luma, before.dis.luma, dis.luma)
        )

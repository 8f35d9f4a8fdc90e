"""Motion of the reference, integer arithmetic: what changes from frame to frame hides what encoding did."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Self

from acuity.features.extractor import CpuContext, Feature, Frame, Geometry
from acuity.features.motion_figures import BLEND, FORCE_ZERO, FPS_WEIGHT, MAX_VALUE, MotionExtractor
from acuity.features.options import Option
from acuity.video.picture import Picture


class Motion(MotionExtractor):
    name = "motion"
    summary = "motion between reference frames"
    options = (
        FORCE_ZERO,
        *BLEND,
        FPS_WEIGHT,
        MAX_VALUE,
        Option(
            "motion_five_frame_window", "mffw", "bool", False, help="compare with the frame before the last"
        ),
        Option("motion_moving_average", "mma", "bool", False, help="average motion3 with the frame before"),
        Option("debug", "", "bool", False, named=False, widens=True, help="also give motion"),
    )
    features = (
        Feature("VMAF_integer_feature_motion_sad_score", "VMAF_integer_feature_motion_sad_score"),
        Feature("VMAF_integer_feature_motion_score", "integer_motion", only_with="debug"),
        Feature("VMAF_integer_feature_motion2_score", "integer_motion2", late=True),
        Feature("VMAF_integer_feature_motion3_score", "integer_motion3", late=True),
    )

    @property
    def distance(self) -> int:
        return 2 if self.flag("motion_five_frame_window") else 1

    @property
    def averages(self) -> bool:
        return self.flag("motion_moving_average")

    @property
    def sharing(self) -> Hashable:
        return self.lookback

    def weighted(self, change: float) -> float:
        """The frame's own figure, from the mean change of its samples."""
        return self.limited(change * self.number("motion_fps_weight"))

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> MotionRunner:
        return MotionRunner(members, geometry, cpu)


class MotionRunner:
    def __init__(self, members: Sequence[Motion], geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        self._members = [(member, member.keys(late=False)) for member in members]
        self._lookback = members[0].lookback
        self._native = cpu.kernel(_native.Motion, geometry)

    def run(self, frame: Frame) -> dict[str, float]:
        change = 0.0
        if self._lookback and frame.index >= self._lookback:
            change = self._change(frame.before[self._lookback - 1].ref, frame.ref)
        found: dict[str, float] = {}
        for member, keys in self._members:
            found.update(dict.fromkeys(keys, member.weighted(change)))
        return found

    def _change(self, before: Picture, now: Picture) -> float:
        """The change between two pictures; of pictures that other measurements read too, computed once."""
        if before.kept is None or now.kept is None:
            return self._native.run(before.luma, now.luma)
        key = "motion", before.kept.number
        if (change := now.kept.figures.get(key)) is None:
            change = now.kept.figures[key] = self._native.run(before.luma, now.luma)
        return change

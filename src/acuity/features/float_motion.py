"""Motion of the reference, single precision: what changes from frame to frame hides what encoding did."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, Self

from acuity.errors import UnfitPictureError
from acuity.features.extractor import CpuContext, Feature, Frame, Geometry
from acuity.features.motion_figures import BLEND, FORCE_ZERO, FPS_WEIGHT, MAX_VALUE, MotionExtractor
from acuity.features.options import Option

_BLURS: Final = (1, 3)  # sizes that are used; every other size means 5


class FloatMotion(MotionExtractor):
    name = "float_motion"
    sequential = True
    summary = "motion between reference frames, single precision"
    options = (
        Option("debug", "", "bool", True, named=False, widens=True, help="also give motion"),
        FORCE_ZERO,
        FPS_WEIGHT,
        *BLEND,
        Option("motion_add_scale1", "mdc", "bool", False, help="add the motion of pictures of half the size"),
        Option("motion_filter_size", "mfs", "int", 5, 0, 9, help="size of the blur: 1 none, 3; all others 5"),
        Option("motion_add_uv", "mau", "bool", False, help="add the motion of the chroma planes"),
        MAX_VALUE,
    )
    features = (
        Feature("VMAF_feature_motion2_score", "motion2", late=True, opens=True),
        Feature("VMAF_feature_motion_score", "motion", only_with="debug"),
        Feature("VMAF_feature_motion3_score", "motion3", late=True),
        # The change before motion_max_val limits it, from which the others are derived.
        Feature("float_motion_change", "float_motion_change", hidden=True),
    )

    @property
    def source(self) -> str:
        return self.hidden_keys()[0]

    def motion2(self, change: float) -> float:
        return self.limited(change)

    def listed(self, *, last: bool) -> list[str]:
        if not self.flag("motion_force_zero"):
            return super().listed(last=last)
        # Zeros need no later frame, so libvmaf gives all of them at once.
        return [] if last else [*self.keys(late=True), *self.keys(late=False)]

    @property
    def uses_chroma(self) -> bool:
        return self.flag("motion_add_uv")

    def check_size(self, geometry: Geometry) -> None:
        super().check_size(geometry)
        if not self.flag("motion_add_uv"):
            return
        if geometry.chroma is None:
            raise UnfitPictureError(
                f"{self.name} with motion_add_uv needs chroma, and these pictures are luma alone (4:0:0): "
                "leave the option out or give 4:2:0, 4:2:2 or 4:4:4 video"
            )
        if min(geometry.chroma) < self.min_size:
            width, height = geometry.chroma
            raise UnfitPictureError(
                f"{self.name} with motion_add_uv needs chroma planes of at least "
                f"{self.min_size}x{self.min_size} samples, because {self.min_size_reason}, and these are "
                f"{width}x{height}"
            )

    @property
    def blur(self) -> int:
        size = int(self.settings["motion_filter_size"])
        return size if size in _BLURS else 5

    @property
    def sharing(self) -> Hashable:
        return self.lookback, self.blur, self.flag("motion_add_scale1"), self.flag("motion_add_uv")

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> FloatMotionRunner:
        return FloatMotionRunner(members, geometry, cpu)


class FloatMotionRunner:
    def __init__(self, members: Sequence[FloatMotion], geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        first = members[0]
        planes = [(geometry.width, geometry.height)]
        if first.flag("motion_add_uv") and geometry.chroma is not None:
            planes += [geometry.chroma] * 2
        self._members = [(member, member.source, member.keys(late=False)) for member in members]
        self._lookback = first.lookback
        self._native = _native.FloatMotion(
            cpu.workspace,
            planes,
            geometry.depth,
            filter_size=first.blur,
            add_scale1=first.flag("motion_add_scale1"),
            instruction_set=cpu.instruction_set,
        )

    def run(self, frame: Frame) -> dict[str, float]:
        change = 0.0
        if self._lookback and frame.index >= self._lookback:
            change = self._native.run(frame.before[self._lookback - 1].ref.planes, frame.ref.planes)
        found: dict[str, float] = {}
        for member, source, keys in self._members:
            found[source] = change * member.number("motion_fps_weight")
            found.update(dict.fromkeys(keys, member.limited(found[source])))
        return found

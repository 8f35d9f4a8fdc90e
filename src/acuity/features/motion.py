"""Motion of the reference, integer arithmetic: what changes from frame to frame hides what encoding did."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Self

from acuity.features.extractor import Derivation, Extractor, Feature, Frame, Geometry
from acuity.features.options import Option

if TYPE_CHECKING:
    from acuity._native import Workspace


class Motion(Extractor):
    name = "motion"
    summary = "motion between reference frames"
    options = (
        Option("motion_force_zero", "force_0", "bool", False, help="make all figures zero"),
        Option(
            "motion_blend_factor", "mbf", "float", 1.0, 0.0, 1.0, help="slope of motion3 above the offset"
        ),
        Option(
            "motion_blend_offset", "mbo", "float", 40.0, 0.0, 1000.0, help="where motion3 starts to blend"
        ),
        Option(
            "motion_fps_weight", "mfw", "float", 1.0, 0.0, 5.0, help="factor that corrects for the frame rate"
        ),
        Option("motion_max_val", "mmxv", "float", 10000.0, 0.0, 10000.0, help="largest figure"),
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
    min_size = 3
    min_size_reason = "its blur reaches two samples past each edge"

    @property
    def every_frame(self) -> bool:
        return True

    @property
    def distance(self) -> int:
        """How many frames back it compares with; the first frames have nothing to compare with."""
        return 2 if self.flag("motion_five_frame_window") else 1

    @property
    def lookback(self) -> int:
        return 0 if self.flag("motion_force_zero") else self.distance

    @property
    def lookahead(self) -> int:
        return self.distance  # for the first frame, which takes motion3 from the first change; else 1

    def settled(self, start: int) -> int:
        # The first frames, up to the first change, depend on nothing before them. Later ones need the change
        # `distance - 1` frames back, and to be averaged the same of the frame before.
        if start <= self.distance:
            return start
        return start + self.distance - 1 + self.flag("motion_moving_average")

    @property
    def sharing(self) -> Hashable:
        return self.lookback

    @classmethod
    def runner(
        cls, members: Sequence[Self], geometry: Geometry, workspace: Workspace, instruction_set: str
    ) -> MotionRunner:
        return MotionRunner(members, geometry, workspace, instruction_set)

    def derivation(self, start: int = 0) -> Derivation:
        return MotionDerivation(self, start)

    def limited(self, value: float) -> float:
        return min(value, self.number("motion_max_val"))

    def blended(self, value: float) -> float:
        factor = self.number("motion_blend_factor")
        offset = self.number("motion_blend_offset")
        return self.limited(value * factor + (1 - factor) * min(offset, value))


class MotionRunner:
    def __init__(
        self, members: Sequence[Motion], geometry: Geometry, workspace: Workspace, instruction_set: str
    ) -> None:
        from acuity import _native

        self._members = [(member, member.keys(late=False)) for member in members]
        self._lookback = members[0].lookback
        self._native = _native.Motion(
            workspace, geometry.width, geometry.height, geometry.depth, instruction_set=instruction_set
        )

    def run(self, frame: Frame) -> dict[str, float]:
        change = 0.0
        if self._lookback and frame.index >= self._lookback:
            change = self._native.run(frame.before[self._lookback - 1].ref.luma, frame.ref.luma)
        found: dict[str, float] = {}
        for member, keys in self._members:
            value = member.limited(change * member.number("motion_fps_weight"))
            found.update(dict.fromkeys(keys, value))
        return found


class MotionDerivation:
    """motion2 is the smaller of two neighbouring changes; motion3 blends, limits and averages it.

    A frame's figures are known once the next frame's change is. The first `distance` frames, which have no
    change of their own, take motion3 from the first one that has. A derivation that starts late leaves out
    what depends on changes before its start.
    """

    def __init__(self, extractor: Motion, start: int = 0) -> None:
        self._extractor = extractor
        self._first = extractor.distance
        self._start = start
        self._average = extractor.flag("motion_moving_average")
        self.source = extractor.keys(late=False)[0]
        self._motion2, self._motion3 = extractor.keys(late=True)
        self._changes: list[float] = []  # of the last frames only
        self._count = start
        self._before: float | None = None  # motion3 of the frame before, unaveraged; None where unknown

    def push(self, value: float) -> list[tuple[str, int, float]]:
        index = self._count
        self._count += 1
        self._changes = [*self._changes[-2:], value]
        if index < self._first:
            return [(self._motion2, index, 0.0)]
        if index == self._first:
            return self._open(self._extractor.blended(value))
        # motion2 of the frame before: the change `distance` frames back against this one.
        low = value
        if index >= 2 * self._first:
            if index - self._first < self._start:
                self._before = None
                return []
            low = self._changes[-1 - self._first]
        return self._figures(index - 1, min(low, value))

    def finish(self) -> list[tuple[str, int, float]]:
        if self._count <= self._first:
            return self._open(0.0)
        return self._figures(self._count - 1, self._changes[-1]) if self._changes else []

    def _open(self, stamp: float) -> list[tuple[str, int, float]]:
        self._before = stamp
        return [(self._motion3, index, stamp) for index in range(self._start, min(self._count, self._first))]

    def _figures(self, index: int, motion2: float) -> list[tuple[str, int, float]]:
        blended = self._extractor.blended(motion2)
        before, self._before = self._before, blended
        if index < self._start:
            return []
        found = [(self._motion2, index, motion2)]
        if not self._average:
            found.append((self._motion3, index, blended))
        elif before is not None:
            found.append((self._motion3, index, (blended + before) / 2.0))
        return found

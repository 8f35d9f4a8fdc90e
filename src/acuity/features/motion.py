"""Motion of the reference: changes from frame to frame, which hide coding errors.

In integer arithmetic and in single precision. Both have figures that need the next frame.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Final, Self

from acuity import _native
from acuity.errors import UnfitPictureError
from acuity.features.extractor import CpuContext, Derivation, Extractor, Feature, Frame, Geometry, Run
from acuity.features.options import number, switch
from acuity.video.picture import Picture

_FORCE_ZERO: Final = switch("motion_force_zero", "force_0", "make all figures zero")
_FPS_WEIGHT: Final = number(
    "motion_fps_weight", "mfw", 1.0, 0.0, 5.0, "factor that corrects for the frame rate"
)
_BLEND: Final = (
    number("motion_blend_factor", "mbf", 1.0, 0.0, 1.0, "slope of motion3 above the offset"),
    number("motion_blend_offset", "mbo", 40.0, 0.0, 1000.0, "where motion3 starts to blend"),
)
_MAX_VALUE: Final = number("motion_max_val", "mmxv", 10000.0, 0.0, 10000.0, "largest figure")
_BLURS: Final = (1, 3)  # sizes that float_motion uses; every other size means 5


class MotionExtractor(Extractor):
    """Compares each reference picture with an earlier one; its late features are motion2 and motion3."""

    min_size = 3
    min_size_reason = "its blur reaches two samples past each edge"
    every_frame = True

    @property
    def distance(self) -> int:
        """The distance to the earlier frame; the first frames have none to compare with."""
        return 1

    @property
    def averages(self) -> bool:
        """Whether motion3 is averaged with that of the previous frame."""
        return False

    @property
    def source(self) -> str:
        """The key of the changes that late figures are derived from."""
        return self.keys(late=False)[0]

    @property
    def lookback(self) -> int:
        return 0 if self.flag("motion_force_zero") else self.distance

    @property
    def lookahead(self) -> int:
        return self.distance  # for the first frame, which takes motion3 from the first change; else 1

    def settled(self, start: int) -> int:
        # The first frames, up to the first change, depend on nothing before them. Later ones need the change
        # `distance - 1` frames back and, to be averaged, that of the frame before too.
        if start <= self.distance:
            return start
        return start + self.distance - 1 + self.averages

    def derivation(self, start: int = 0) -> Derivation:
        return MotionDerivation(self, start)

    @cached_property
    def _numbers(self) -> tuple[float, float, float]:
        """The largest figure, and the slope and offset of motion3: each frame needs them."""
        names = "motion_max_val", "motion_blend_factor", "motion_blend_offset"
        most, factor, offset = map(self.number, names)
        return most, factor, offset

    def limited(self, value: float) -> float:
        return min(value, self._numbers[0])

    def motion2(self, change: float) -> float:
        """The figure of the smaller of two neighbouring changes."""
        return change

    def blended(self, value: float) -> float:
        _, factor, offset = self._numbers
        return self.limited(value * factor + (1 - factor) * min(offset, value))


class MotionDerivation:
    """motion2 is the smaller of two neighbouring changes; motion3 blends, limits and averages it.

    A frame's figures are known when the next frame's change is known. The first `distance` frames have no
    change and take motion3 from the first frame that has one. A derivation that starts late leaves out
    figures that depend on changes before its start.
    """

    def __init__(self, extractor: MotionExtractor, start: int = 0) -> None:
        self._extractor = extractor
        self._first = extractor.distance
        self._start = start
        self.source = extractor.source
        self._motion2, self._motion3 = extractor.keys(late=True)
        self._changes: Sequence[float] = ()  # of the last frames only
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

    def _figures(self, index: int, change: float) -> list[tuple[str, int, float]]:
        blended = self._extractor.blended(change)
        before, self._before = self._before, blended
        if index < self._start:
            return []
        found = [(self._motion2, index, self._extractor.motion2(change))]
        if not self._extractor.averages:
            found.append((self._motion3, index, blended))
        elif before is not None:
            found.append((self._motion3, index, (blended + before) / 2.0))
        return found


class Motion(MotionExtractor):
    name = "motion"
    summary = "motion between reference frames"
    options = (
        *(_FORCE_ZERO, *_BLEND, _FPS_WEIGHT, _MAX_VALUE),
        switch("motion_five_frame_window", "mffw", "compare with the frame before the last"),
        switch("motion_moving_average", "mma", "average motion3 with the frame before"),
        switch("debug", "", "also give motion", widens=True),
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
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        all_keys = [(member, member.keys(late=False)) for member in members]
        lookback = members[0].lookback
        native = cpu.kernel(_native.Motion, geometry)

        def change_between(before: Picture, now: Picture) -> float:
            """The change between two pictures; if other measurements read them too, it is computed once."""
            if before.kept is None or now.kept is None:
                return native.run(before.samples[0], now.samples[0])
            key = "motion", before.kept.number
            if (change := now.kept.figures.get(key)) is None:
                change = now.kept.figures[key] = native.run(before.samples[0], now.samples[0])
            return change

        def run(frame: Frame) -> dict[str, float]:
            change = 0.0
            if lookback and frame.index >= lookback:
                change = change_between(frame.before[lookback - 1].ref, frame.ref)
            return {key: member.weighted(change) for member, keys in all_keys for key in keys}

        return run


class FloatMotion(MotionExtractor):
    name = "float_motion"
    sequential = True
    summary = "motion between reference frames, single precision"
    options = (
        switch("debug", "", "also give motion", default=True, widens=True),
        _FORCE_ZERO,
        _FPS_WEIGHT,
        *_BLEND,
        switch("motion_add_scale1", "mdc", "add the motion of pictures of half the size"),
        number("motion_filter_size", "mfs", 5, 0, 9, "size of the blur: 1 none, 3; all others 5"),
        switch("motion_add_uv", "mau", "add the motion of the chroma planes"),
        _MAX_VALUE,
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
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        first = members[0]
        lookback = first.lookback
        planes = [(geometry.width, geometry.height)]
        if first.flag("motion_add_uv") and geometry.chroma is not None:
            planes += [geometry.chroma] * 2
        native = _native.FloatMotion(
            cpu.workspace,
            planes,
            geometry.depth,
            filter_size=first.blur,
            add_scale1=first.flag("motion_add_scale1"),
            instruction_set=cpu.instruction_set,
        )
        all_keys = [(member, member.source, member.keys(late=False)) for member in members]

        def run(frame: Frame) -> dict[str, float]:
            change = 0.0
            if lookback and frame.index >= lookback:
                change = native.run(frame.before[lookback - 1].ref.samples, frame.ref.samples)
            found: dict[str, float] = {}
            for member, source, keys in all_keys:
                found[source] = change * member.number("motion_fps_weight")
                found.update(dict.fromkeys(keys, member.limited(found[source])))
            return found

        return run

"""The common base of both motion extractors: options, and figures that need the next frame."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from acuity.features.extractor import Derivation, Extractor
from acuity.features.options import Option

FORCE_ZERO: Final = Option("motion_force_zero", "force_0", "bool", False, help="make all figures zero")
FPS_WEIGHT: Final = Option(
    "motion_fps_weight", "mfw", "float", 1.0, 0.0, 5.0, help="factor that corrects for the frame rate"
)
BLEND: Final = (
    Option("motion_blend_factor", "mbf", "float", 1.0, 0.0, 1.0, help="slope of motion3 above the offset"),
    Option("motion_blend_offset", "mbo", "float", 40.0, 0.0, 1000.0, help="where motion3 starts to blend"),
)
MAX_VALUE: Final = Option("motion_max_val", "mmxv", "float", 10000.0, 0.0, 10000.0, help="largest figure")


class MotionExtractor(Extractor):
    """Compares each reference picture with an earlier one; its late features are motion2 and motion3."""

    min_size = 3
    min_size_reason = "its blur reaches two samples past each edge"

    @property
    def every_frame(self) -> bool:
        return True

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
        # `distance - 1` frames back, and to be averaged the same of the frame before.
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

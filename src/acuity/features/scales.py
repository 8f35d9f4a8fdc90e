"""The common parts of VIF and ADM: four scales, debug features, and extractors that share a pass."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from acuity.arrays import np
from acuity.features.extractor import Extractor, Feature
from acuity.features.options import switch

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCALES: Final = range(4)

DEBUG: Final = switch("debug", "", "also give numerators, denominators and the whole", widens=True)


def debug_features(stem: str) -> tuple[Feature, ...]:
    """The features that DEBUG adds: the whole, its fraction, then that of each scale."""
    parts = [f"_{part}_scale{scale}" for scale in SCALES for part in ("num", "den")]
    return tuple(Feature(stem + end, stem + end, only_with="debug") for end in ("", "_num", "_den", *parts))


def at_least(value: Any, smallest: float) -> Any:
    """The value, a number or a column of them, or the smallest in place of a smaller one or of NaN."""
    if isinstance(value, float):
        return value if value > smallest else smallest  # max() would keep NaN
    return np.where(value > smallest, value, smallest)


class PassMember(Extractor):
    """An extractor whose figures come from a part of the output of a pass."""

    def figures(self, values: Sequence[Any]) -> Sequence[Any]:
        """Figures in the order of the features, from the part of its setting: numbers or columns."""
        return values


SettingT = TypeVar("SettingT", bound=Hashable)


class SharedPass(Generic[SettingT]):
    """Extractors that share a pass: their distinct settings, and whose figures are where in its output."""

    def __init__(self, members: Sequence[PassMember], own: Sequence[SettingT], width: int) -> None:
        """`own` are the members' settings, and `width` the number of outputs for each."""
        self.settings = list(dict.fromkeys(own))
        self._width = width
        self._places = [
            (member, member.keys(late=False), self.settings.index(mine) * width)
            for member, mine in zip(members, own, strict=True)
        ]

    def figures(self, values: Sequence[Any]) -> dict[str, Any]:
        """Figures by key, from the output of the pass."""
        found: dict[str, Any] = {}
        for member, keys, start in self._places:
            # There are no keys for debug features unless they are requested.
            found.update(zip(keys, member.figures(values[start : start + self._width]), strict=False))
        return found

    def columns(self, values: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Figures of several frames by key, from their outputs, a row for each."""
        return self.figures(list(np.ascontiguousarray(values.T)))

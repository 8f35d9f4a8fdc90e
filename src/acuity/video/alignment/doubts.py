"""Doubts: frames that can't be told apart, and by how much the mean score may be wrong because of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from acuity.arrays import np
from acuity.errors import PairingError, to_set
from acuity.video.alignment.matching import Figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A frame's score falls by about the first figure, in points, where its error is e times as large, and by the
# third at most; errors below the second aren't seen.
_POINTS: Final = 20.0
_UNSEEN: Final = 2.0
_MOST_POINTS: Final = 20.0
# A match that costs this much more is e times less likely.
_ALIKE: Final = 2.0
# Points by which uncertain places of faults make the mean score wrong on average: more than the first is
# worth a warning, with more than the second there is no score. Few scores are off by so many times that.
_DOUBTFUL: Final = 0.01
_UNKNOWN: Final = 0.15
_AT_MOST: Final = 6.0
_LITTLE: Final = 0.05  # points of one frame that are worth no word
_APART: Final = 4  # frames with less doubt between those with more that are told together


def points_apart(one: Figures, other: Figures) -> Figures:
    """About how many points a frame's score differs between two partners, from its error against each."""
    ratio = (one + _UNSEEN) / (other + _UNSEEN)
    return np.minimum(_POINTS * np.abs(np.log(ratio)), _MOST_POINTS)


def doubts(error: Figures, surplus: Figures, path: NDArray[np.intp]) -> Figures:
    """For each frame of a path: by about how many points its score may be wrong.

    That is the mean difference to its scores with other frames of the reference. Each of these counts by how
    likely it is, which depends on how much more the best path through it costs (`surplus`).
    """
    frames = np.flatnonzero(path >= 0)
    own = surplus[frames, path[frames], None]
    likely = np.exp(-np.maximum(surplus[frames] - own, 0.0) / _ALIKE)
    points = points_apart(error[frames], error[frames, path[frames], None])
    doubt = np.zeros(len(path))
    doubt[frames] = (likely * points).sum(axis=1) / likely.sum(axis=1)
    return doubt


class Doubts:
    """Adds up by how many points frames' scores may be wrong, and counts frames that can't be told apart."""

    def __init__(self, dis: str, ref: str) -> None:
        self._names = dis, ref
        self._points = 0.0  # of all frames
        self._most = self._last = (0.0, 0, 0)  # stretches with doubt: points, first frame and last
        self._untold = 0  # frames that nothing tells from those beside them
        self._untold_first = self._untold_last = 0
        self._faults = False  # whether frames are missing or too many among these

    def add(self, frame: int, points: float) -> None:
        self._points += points
        if points >= _LITTLE:
            before, first, last = self._last
            goes_on = before > 0 and frame - last <= _APART
            self._last = (before + points, first, frame) if goes_on else (points, frame, frame)
            self._most = max(self._most, self._last)

    def add_untold(self, frame: int, *, fault: bool) -> None:
        """Count a frame like its neighbours; `fault`: frames before it are missing or too many."""
        self._untold_first, self._untold_last = (self._untold_first if self._untold else frame), frame
        self._untold += 1
        self._faults = self._faults or fault

    def warning(self, pairs: int) -> str:
        """A sentence about the mean score of so many pairs; empty if there is little doubt."""
        doubt = self._points / max(pairs, 1)
        text = "where frames are missing or doubled can't be told to the frame at this quality"
        most = max(_AT_MOST * doubt, 0.1)
        return f"{text}: the mean score may be off by up to {most:.1f}" if doubt > _DOUBTFUL else ""

    def refuse_untold(self, pairs: int, *, ends_apart: bool, too_many: bool) -> None:
        """Refuse videos that have different frames where no picture tells which."""
        if self._faults or too_many or (ends_apart and 2 * self._untold > pairs):
            last = self._untold_last if self._untold else pairs - 1
            raise self._refusal(self._untold_first, last)

    def refuse_doubtful(self, pairs: int) -> None:
        """Refuse pairs whose faults have places so uncertain that the mean score may be wrong."""
        if self._points > _UNKNOWN * pairs:
            raise self._refusal(*self._most[1:])

    def _refusal(self, first: int, last: int) -> PairingError:
        frames = f"frames {first} to {last}" if last > first else f"frame {first}"
        dis, ref = self._names
        return PairingError(
            f"{dis} and {ref} don't have the same frames, and at this quality it can't be told where they"
            f" differ, because {frames} of {dis} match several of {ref} about equally well: compare a"
            " better encode, or pass ",
            to_set("align", "off"),
            " to compare frame n with frame n",
        )

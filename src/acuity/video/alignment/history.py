"""History: signatures of the last pairs, and the evidence in them of which frames match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from acuity.arrays import np
from acuity.records import NamedTuple
from acuity.video.alignment.matching import FLOOR, MOST, Figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows: TypeAlias = "NDArray[np.intp]"

KEPT: Final = 200  # pairs that are remembered at least
REACH: Final = 8  # frames that the videos may be apart to be noticed at once
_TRACED: Final = 100  # frames of the path that are remembered
# Costs of a path through frames that match, in units of evidence. Errors of neighbouring cells and frames are
# alike, so that the evidence of a frame counts a fortieth of what independent errors would be worth.
_ALIKE: Final = 40.0
JUMP: Final = 8.0  # the cost of a step from one lag to another
_FEWEST: Final = 8  # moving frames that can prove anything
_STEADY: Final = 24  # moving frames that prove it where each of them says little
_MOVING: Final = 0.01  # the least mean squared change of a cell between two frames that can be told apart
_STIRRING: Final = 0.002  # the least change that has a direction


class Evidence(NamedTuple):
    """How well frames of the distorted video match other frames than those they are paired with."""

    frames: int  # moving ones, which count
    position: float  # 0: they show the frames they are paired with, 1: the others
    tracking: float  # correlation of their changes with the others' changes
    tracking_paired: float  # and with those of the frames that they are paired with
    gain: float  # how many times smaller the error is
    likeness: float  # share of the others' variance that they show
    ahead: bool

    @property
    def convincing(self) -> bool:
        """Whether the evidence proves a fault: no encoder causes it in frames that are paired rightly.

        At low quality a frame resembles the ones before it, because little of it was coded. So a frame that
        resembles later ones is believed sooner, and earlier ones only if its changes are those of the earlier
        ones too.
        """
        if not 0.65 <= self.position <= 1.25:
            return False
        lead = self.tracking - self.tracking_paired
        if self.gain < 2 or self.tracking < 0.6:
            return self.frames >= _STEADY and self.tracking >= 0.5 and lead >= 0.08 and self.likeness >= 0.75
        if lead >= (0.02 if self.ahead else 0.05):
            return True
        # The changes don't tell a lag, as in fades: encoders let the light change a bit early or late.
        if self.ahead:
            return lead >= -0.02 and self.position >= 0.73 and self.gain >= 2.5
        return lead >= -0.03 and self.position >= (0.85 if self.gain >= 6 else 0.9)


class History:
    """The last pairs of signatures, with figures of each; frames count from the first pair ever added.

    native/alignment's Track does the work of every pair.
    """

    def __init__(self) -> None:
        from acuity import _native

        self.track = _native.Track(
            kept=KEPT, reach=REACH, traced=_TRACED, floor=FLOOR, alike=_ALIKE, most=MOST, jump=JUMP
        )

    def ref(self, start: int, end: int) -> NDArray[np.float32]:
        return self.track.ref[start - self.track.first : end - self.track.first]

    def dis(self, start: int, end: int) -> NDArray[np.float32]:
        return self.track.dis[start - self.track.first : end - self.track.first]

    @property
    def floor(self) -> float:
        """The squared error of a signature that says nothing."""
        return self.track.cells * FLOOR

    def moving(self, start: int, end: int) -> Rows:
        """Rows of the frames of a stretch in which the reference moves visibly."""
        first, last = max(start - self.track.first, 1), end - self.track.first
        return first + np.flatnonzero(self.track.moved_ref[first:last] > self.track.cells * 2 * _MOVING)

    def costs(self, errors: Figures, weight: float) -> Figures:
        """What it costs to match a frame with each of several, from its squared errors against them."""
        out = np.empty(len(errors))
        self.track.costs(np.ascontiguousarray(errors), weight, out)
        return out

    def evidence(self, matches: Sequence[tuple[int, int]]) -> Evidence | None:
        """The evidence that these frames of both videos match; None where there is too little of it."""
        end_dis, end_ref = self.track.end_dis, self.track.end_ref
        known = [(i, j) for i, j in matches if i < end_dis and j < end_ref]
        weight, first = self.track.weight, self.track.first
        kept = [match for match in known if min(match) > first and weight(match[0]) >= 0.2]
        if len(kept) < _FEWEST:
            return None
        dis, other = np.array(kept).T - first
        partner = np.minimum(dis, self.track.end - first - 1)  # the last frame, where there is none
        rows_ref, rows_dis = self.track.ref, self.track.dis
        shown, paired, matched = rows_dis[dis], rows_ref[partner], rows_ref[other]
        way = matched - paired
        apart = np.einsum("ij,ij->i", way, way)
        counts = apart > self.track.cells * _MOVING
        if np.count_nonzero(counts) < _FEWEST:
            return None
        off = shown - paired
        along = np.einsum("ij,ij->i", off, way)
        rest = shown - matched
        variance = float(np.square(matched - matched.mean(axis=1, keepdims=True)).sum()) + self.floor
        power, left = np.einsum("ij,ij->i", off, off), np.einsum("ij,ij->i", rest, rest)
        gain = (power + self.floor) / (left + self.floor)
        # The change that the other frames would have made, from one match to the next.
        follows = np.r_[False, np.diff(dis) == 1]
        before = np.where(follows, np.r_[0, other[:-1]], other - 1)
        change, wanted = shown - rows_dis[dis - 1], matched - rows_ref[before]
        energy = np.einsum("ij,ij->i", change, change), np.einsum("ij,ij->i", wanted, wanted)
        stirs = counts & (np.minimum(*energy) > self.track.cells * _STIRRING)
        if np.count_nonzero(stirs) < _FEWEST - 2:
            return None
        tracking = np.einsum("ij,ij->i", change, wanted)[stirs] / np.sqrt(energy[0][stirs] * energy[1][stirs])
        positions = (along[counts].sum() / apart[counts].sum(), np.median(along[counts] / apart[counts]))
        return Evidence(
            frames=int(np.count_nonzero(counts)),
            position=float(min(positions) if max(positions) <= 1.25 else max(positions)),
            tracking=float(np.median(tracking)),
            tracking_paired=float(np.median(self.track.tracking[partner[stirs]])),
            gain=float(np.median(gain[counts])),
            likeness=1 - float(np.square(rest).sum()) / variance,
            ahead=bool(np.median(other - dis) > 0),
        )

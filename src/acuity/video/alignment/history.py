"""Signatures of the last pairs, and what they say about which frames match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.video.picture import Signature

Rows = NDArray[np.intp]

KEPT: Final = 200  # pairs that are remembered at least
# Variance of a cell, in squared 8-bit steps, that says nothing: rounding, and the encoder's finest noise.
FLOOR: Final = 0.05
_FEWEST: Final = 8  # moving frames that can prove anything
_STEADY: Final = 24  # moving frames that prove it where each of them says little
_MOVING: Final = 0.01  # a cell's mean squared change between two frames that can be told apart
_STIRRING: Final = 0.002  # one that has a direction


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
        """Whether no encoder does this to frames that are paired rightly.

        At low quality a frame resembles the ones before it, because little of it was coded. So a frame that
        resembles later ones is believed sooner, and earlier ones only if its changes are those of the earlier
        ones too.
        """
        if not 0.65 <= self.position <= 1.25:
            return False
        lead = self.tracking - self.tracking_paired
        if self.gain < 2 or self.tracking < 0.6:
            return self.frames >= _STEADY and self.tracking >= 0.5 and lead >= 0.08 and self.likeness >= 0.75
        return lead >= -0.02 if self.ahead else lead >= 0.05 or (lead >= -0.03 and self.position >= 0.85)


class History:
    """The last pairs of signatures, with figures of each; frames count from the first pair ever added."""

    def __init__(self) -> None:
        self.first = 0  # the oldest that is kept
        self.end = 0
        self.end_ref = self.end_dis = 0  # with the frames of the longer video, see add_rest()
        self.cells = 0
        self._ref = self._dis = np.empty((0, 0), np.float32)
        # By row: each video's squared change since the frame before, the correlation of both changes, and the
        # squared error.
        self.moved_ref: list[float] = []
        self.moved_dis: list[float] = []
        self.tracking: list[float] = []
        self.error: list[float] = []

    def extend(self, ref: Sequence[Signature], dis: Sequence[Signature]) -> None:
        """Take in pairs, several at once: each numpy call costs more than its arithmetic."""
        if not self.cells:
            self.cells = ref[0].size
            self._ref, self._dis = (np.empty((2 * KEPT, self.cells), np.float32) for _ in range(2))
        row = self.end - self.first
        if row + len(ref) > 2 * KEPT:
            self._forget(row - KEPT)
            row = KEPT
        end = row + len(ref)
        self._ref[row:end], self._dis[row:end] = ref, dis
        start = max(row - 1, 0)
        change, other = np.diff(self._ref[start:end], axis=0), np.diff(self._dis[start:end], axis=0)
        error = self._dis[row:end] - self._ref[row:end]
        moved_ref, moved_dis = np.einsum("ij,ij->i", change, change), np.einsum("ij,ij->i", other, other)
        tracking = np.einsum("ij,ij->i", change, other) / np.sqrt(moved_ref * moved_dis + 1e-9)
        if row == 0:  # which no frame comes before
            self.moved_ref.append(0.0)
            self.moved_dis.append(0.0)
            self.tracking.append(1.0)
        self.moved_ref += moved_ref.tolist()
        self.moved_dis += moved_dis.tolist()
        self.tracking += tracking.tolist()
        self.error += np.einsum("ij,ij->i", error, error).tolist()
        self.end += len(ref)
        self.end_ref = self.end_dis = self.end

    def add_rest(self, ref: Sequence[Signature], dis: Sequence[Signature]) -> None:
        """Take in frames after the last pair, which one of the videos doesn't have; at most KEPT."""
        if self.end - self.first > KEPT:
            self._forget(self.end - self.first - KEPT)
        row = self.end - self.first
        for array, rest in ((self._ref, ref), (self._dis, dis)):
            if rest:
                array[row : row + len(rest)] = rest
        self.end_ref, self.end_dis = self.end + len(ref), self.end + len(dis)

    def _forget(self, count: int) -> None:
        for array in (self._ref, self._dis):
            array[:KEPT] = array[count : count + KEPT]
        for figures in (self.moved_ref, self.moved_dis, self.tracking, self.error):
            del figures[:count]
        self.first += count

    def ref(self, start: int, end: int) -> NDArray[np.float32]:
        return self._ref[start - self.first : end - self.first]

    def dis(self, start: int, end: int) -> NDArray[np.float32]:
        return self._dis[start - self.first : end - self.first]

    @property
    def floor(self) -> float:
        """The squared error of a signature that says nothing."""
        return self.cells * FLOOR

    def matches(self, start: int) -> bool:
        """Whether the pairs since `start` differ less than frames do from their neighbours."""
        rows = slice(start - self.first, None)
        error = sum(self.error[rows])
        return error <= 0.5 * sum(self.moved_ref[rows]) + len(self.error[rows]) * self.floor

    def weight(self, frame: int) -> float:
        """How much a frame may say, 0 to 1: one that hardly changed says little about which frame it is."""
        row = frame - self.first
        if row < 1 or row >= len(self.moved_dis):
            return 1.0
        usual = sorted(self.moved_ref[max(0, row - 2) : row + 3])
        return min(1.0, self.moved_dis[row] / (0.25 * max(usual[len(usual) // 2], 1e-9)))

    def moving(self, start: int, end: int) -> list[int]:
        """Rows of the frames of a stretch in which the reference moves visibly."""
        rows = range(max(start - self.first, 1), end - self.first)
        return [row for row in rows if self.moved_ref[row] > self.cells * 2 * _MOVING]

    def evidence(self, matches: Sequence[tuple[int, int]]) -> Evidence | None:
        """What speaks for frames of the distorted video being those of the reference; None: too little."""
        known = [(i, j) for i, j in matches if i < self.end_dis and j < self.end_ref]
        kept = [match for match in known if min(match) > self.first and self.weight(match[0]) >= 0.2]
        if len(kept) < _FEWEST:
            return None
        dis, other = np.array(kept).T - self.first
        partner = np.minimum(dis, self.end - self.first - 1)  # the last frame, where there is none
        shown, paired, matched = self._dis[dis], self._ref[partner], self._ref[other]
        way = matched - paired
        apart = np.einsum("ij,ij->i", way, way)
        counts = apart > self.cells * _MOVING
        if np.count_nonzero(counts) < _FEWEST:
            return None
        off = shown - paired
        along = np.einsum("ij,ij->i", off, way)
        rest = shown - matched
        variance = float(np.square(matched - matched.mean(axis=1, keepdims=True)).sum()) + self.floor
        gain = (np.einsum("ij,ij->i", off, off) + self.floor) / (
            np.einsum("ij,ij->i", rest, rest) + self.floor
        )
        # The change that the other frames would have made, from one match to the next.
        follows = np.r_[False, np.diff(dis) == 1]
        before = np.where(follows, np.r_[0, other[:-1]], other - 1)
        change, wanted = shown - self._dis[dis - 1], matched - self._ref[before]
        energy = np.einsum("ij,ij->i", change, change), np.einsum("ij,ij->i", wanted, wanted)
        stirs = counts & (np.minimum(*energy) > self.cells * _STIRRING)
        if np.count_nonzero(stirs) < _FEWEST - 2:
            return None
        tracking = np.einsum("ij,ij->i", change, wanted)[stirs] / np.sqrt(energy[0][stirs] * energy[1][stirs])
        positions = (along[counts].sum() / apart[counts].sum(), np.median(along[counts] / apart[counts]))
        return Evidence(
            frames=int(np.count_nonzero(counts)),
            position=float(min(positions) if max(positions) <= 1.25 else max(positions)),
            tracking=float(np.median(tracking)),
            tracking_paired=float(np.median(np.array(self.tracking)[partner[stirs]])),
            gain=float(np.median(gain[counts])),
            likeness=1 - float(np.square(rest).sum()) / variance,
            ahead=bool(np.median(other - dis) > 0),
        )

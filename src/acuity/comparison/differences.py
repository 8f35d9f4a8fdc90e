"""Frame-by-frame differences of two encodes, and how far their mean can be trusted.

Both encodes show the same frames, so each frame is compared with itself, which takes out what is hard about
the content. Neighbouring frames are alike, though: a thousand frames are not a thousand independent figures.
So whole blocks of about a second are drawn, again and again, and the means of these draws show how much the
mean depends on which seconds the clip happens to have (a moving-block bootstrap; blocks go on at the start
where they reach the end, so that every frame counts equally). The draws are seeded: figures are repeatable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.comparison.row import CompareRow
from acuity.scoring.report import ScoreReport

SEED: Final = 17
DRAWS: Final = 2000
FEWEST: Final = 8  # blocks of a clip: shorter ones are divided into shorter blocks
_USUAL_RATE: Final = 25.0  # frames a second, where none is known
_AT_ONCE: Final = 4_000_000  # blocks that are drawn at once, for the memory
_WORST: Final = 5
_CONFIDENCE: Final = (2.5, 97.5)  # percentiles

Floats = NDArray[np.float64]


class FrameDifference(NamedTuple):
    frame: int
    time: float | None
    difference: float


class Difference(NamedTuple):
    """The figures of `a` less those of `b`, frame by frame."""

    a: str
    b: str
    frames: int  # that both have a figure of
    mean: float  # of a - b
    ci95: tuple[float, float] | None  # the interval of the mean; None: the clip is too short to say
    better_share: float  # of the frames in which a is better
    worse_share: float  # and in which b is; in others they are equal
    block: int  # frames that were drawn together
    worst: list[FrameDifference]  # the greatest, at least a second apart

    @property
    def tie(self) -> bool:
        """Whether the difference may be chance: its interval reaches zero."""
        low, high = self.ci95 or (self.mean, self.mean)
        return low <= 0.0 <= high

    def turned(self) -> Difference:
        return self._replace(
            a=self.b,
            b=self.a,
            mean=-self.mean,
            ci95=None if self.ci95 is None else (-self.ci95[1], -self.ci95[0]),
            better_share=self.worse_share,
            worse_share=self.better_share,
            worst=[entry._replace(difference=-entry.difference) for entry in self.worst],
        )

    def to_document(self) -> dict[str, object]:
        return {
            "a": self.a,
            "b": self.b,
            "frames": self.frames,
            "mean": self.mean,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "tie": self.tie,
            "better_share": self.better_share,
            "worse_share": self.worse_share,
            "block_frames": self.block,
            "worst": [entry._asdict() for entry in self.worst],
        }


def difference(
    a: CompareRow,
    b: CompareRow,
    only: NDArray[np.int64] | None = None,
    *,
    lower_is_better: bool = False,
) -> Difference | None:
    """The difference of two encodes of one reference; None if no frame has a figure of both.

    `only` are the frames that count: those that all encodes have.
    """
    (one, first), (other, second) = a.figures, b.figures
    frames, left, right = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    values = first[left] - second[right]
    if only is not None and len(only) < len(frames):
        there = np.isin(frames, only)
        frames, values = frames[there], values[there]
    if not len(values) or a.report is None:
        return None
    rate = _rate(a.report)
    apart = max(1, round(rate))
    step = int(np.median(np.diff(frames))) if len(frames) > 1 else 1
    block = block_length(len(values), rate / max(step, 1))
    better = -values if lower_is_better else values
    return Difference(
        a.name,
        b.name,
        len(values),
        float(values.mean()),
        interval(values, block) if len(values) >= FEWEST else None,
        float((better > 0).mean()),
        float((better < 0).mean()),
        block,
        [
            FrameDifference(frame, a.report.time_of(frame), value)
            for frame, value in _greatest(frames, values, apart)
        ],
    )


def block_length(count: int, rate: float) -> int:
    """How many figures are drawn together: a second of them, or less where the clip is short."""
    return max(1, min(round(rate), count // FEWEST))


def interval(values: Floats, block: int) -> tuple[float, float]:
    """The 95 % interval of the mean of figures that depend on their neighbours."""
    count = len(values)
    mean = float(values.mean())
    blocks = max(1, round(count / block))
    sums = np.concatenate(([0.0], np.cumsum(np.concatenate((values, values[: block - 1])) - mean)))
    deviations = (sums[block:] - sums[:-block]) / block  # of each block's mean from the mean of all
    random = np.random.default_rng(SEED)
    each = max(1, _AT_ONCE // blocks)
    means: list[Floats] = []
    for first in range(0, DRAWS, each):
        starts = random.integers(0, count, (min(each, DRAWS - first), blocks))
        means.append(deviations[starts].mean(axis=1))
    # Draws of few blocks vary less than clips do, as a sample's variance is less than that of all.
    wider = math.sqrt(blocks / (blocks - 1)) if blocks > 1 else 1.0
    low, high = np.percentile(np.concatenate(means) * wider, _CONFIDENCE)
    return mean + float(low), mean + float(high)


def _rate(report: ScoreReport) -> float:
    frames = report.results.frames
    first, last = (report.time_of(frame) for frame in (frames[0], frames[-1]))
    if first is None or last is None or last <= first:
        return _USUAL_RATE
    return (frames[-1] - frames[0]) / (last - first)


def _greatest(frames: NDArray[np.int64], values: Floats, apart: int) -> Iterator[tuple[int, float]]:
    """The frames with the greatest differences, none within a second of another, by size."""
    left = np.abs(values)
    for _ in range(_WORST):
        if left[row := int(left.argmax())] > 0:
            yield int(frames[row]), float(values[row])
            left[np.abs(frames - frames[row]) < apart] = -1.0

"""Ranks the encodes of one reference on the frames that all of them have.

Means of different frames say nothing about each other: an encode that ends before a difficult scene has the
higher mean and is not the better one. So encodes are ranked on common frames; one that has too few of them,
and a copy of the reference, have no place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from acuity.comparison.report import CompareRow

_LEAST_SHARE: Final = 0.5  # of the most frames that an encode has; with fewer in common there is no place
_COPY: Final = "identical"  # the note on a pair of files with the same content

Frames = NDArray[np.int64]


class Ranked(NamedTuple):
    """The rows of a reference that have a place, the best first, and those that have none."""

    reference: str
    rows: list[CompareRow]
    means: list[float]  # of each row on the common frames
    frames: Frames  # that all rows have a figure of
    most: int  # frames that a row has a figure of
    left_out: list[tuple[CompareRow, str]]  # rows with a score, and why they have no place

    @property
    def some_lack(self) -> bool:
        """Whether rows have frames that others lack."""
        return any(len(_known(row)) != len(self.frames) for row in self.rows)

    @property
    def basis(self) -> str | None:
        """On what the rows are ranked, unless on all that they have."""
        return f"ranked on {len(self.frames):,} common frames" if self.some_lack else None

    def complete(self, row: CompareRow) -> bool:
        """Whether a row has as many frames as any other, of the whole clip."""
        return len(_known(row)) == self.most and not row.partial


def rank(reference: str, rows: Sequence[CompareRow], *, lower_is_better: bool) -> Ranked:
    """Rank the rows of a reference; rows without a score are neither ranked nor left out."""
    scored = [row for row in rows if row.ranked]
    left_out = [
        (row, f"{row.name} is a copy of the reference, and has no place") for row in scored if _is_copy(row)
    ]
    candidates = [row for row in scored if not _is_copy(row)]
    frames = {row.name: _known(row) for row in candidates}
    most = max(map(len, frames.values()), default=0)
    common: Frames | None = None
    kept: set[str] = set()
    # The longest first, so that a short one can't push out others.
    for row in sorted(candidates, key=lambda row: -len(frames[row.name])):
        own = frames[row.name]
        both = own if common is None else np.intersect1d(common, own, assume_unique=True)
        if len(both) < _LEAST_SHARE * most:
            text = f"{row.name} has {len(own):,} of {most:,} frames, too few for a place"
            left_out.append((row, text))
            continue
        common = both
        kept.add(row.name)
    shared = np.empty(0, np.int64) if common is None else common
    sign = 1.0 if lower_is_better else -1.0
    found = [(row, _mean(row, shared)) for row in candidates if row.name in kept]
    found.sort(key=lambda entry: sign * entry[1])
    order = [row.name for row in scored]
    left_out.sort(key=lambda entry: order.index(entry[0].name))
    return Ranked(reference, [row for row, _ in found], [mean for _, mean in found], shared, most, left_out)


def _is_copy(row: CompareRow) -> bool:
    return row.copy or (row.report is not None and any(note.code == _COPY for note in row.report.notes))


def _known(row: CompareRow) -> Frames:
    """The frames that a row has a figure of, in order."""
    if row.report is None or row.column is None:
        return np.empty(0, np.int64)
    results = row.report.results
    frames = np.asarray(results.frames, np.int64)
    return np.sort(frames[np.isfinite(results.columns[row.column])])


def _mean(row: CompareRow, frames: Frames) -> float:
    """The mean of these frames; that of the report where they are all."""
    assert row.report is not None
    assert row.column is not None
    assert row.score is not None
    results = row.report.results
    if len(frames) == len(results.frames):
        return row.score
    there = np.isin(np.asarray(results.frames, np.int64), frames)
    return float(np.asarray(results.columns[row.column], np.float64)[there].mean())

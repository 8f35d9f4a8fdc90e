"""How much each distorted picture differs from its reference: ranks frames where scores can't.

A model clips its scores at its highest, and gives identical pictures less than that where nothing moves.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Final

import numpy as np

from acuity.frames.compared import compared_pairs, reopen
from acuity.frames.pick import Pick
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.video.picture import Picture, Samples

# Identical pictures may score less than the highest, but no less than this.
_MAY_BE_IDENTICAL: Final = 90.0
_ROWS: Final = 256  # of a plane at once


def needs_differences(picks: list[Pick], tied: bool) -> bool:
    """Whether scores don't say which frames are the worst: they tie, or are those of identical pictures."""
    return tied or any(found.score >= _MAY_BE_IDENTICAL for found in picks)


def differences(
    request: Request, report: ScoreReport, passed: Callable[[int], None] | None = None
) -> dict[int, float]:
    """The difference of each scored pair, by its number: 0 if the pictures are identical.

    Reads both videos once. Raises InputError if they aren't those that were scored.
    """
    wanted = {int(frame) for frame in report.results.frames}
    with (
        reopen(request, report) as pairing,
        closing(compared_pairs(pairing, wanted, passed)) as pairs,
    ):
        return {pair.number: difference(pair.ref, pair.dis) for pair in pairs}


def difference(ref: Picture, dis: Picture) -> float:
    """The mean squared difference of all samples, chroma too, in steps of 8-bit video."""
    total = sum(_squares(x, y) for x, y in zip(ref.planes, dis.planes, strict=True))
    samples = sum(plane.size for plane in ref.planes)
    return total / samples / float(1 << (ref.format.depth - 8)) ** 2


def _squares(x: Samples, y: Samples) -> float:
    total = 0.0
    for start in range(0, len(x), _ROWS):
        rows = slice(start, start + _ROWS)
        off = x[rows].astype(np.float32) - y[rows].astype(np.float32)
        total += float(np.einsum("ij,ij", off, off))  # not with dot, which may start a thread for every core
    return total

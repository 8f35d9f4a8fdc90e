"""FreezeRun: since which frame the distorted picture has stayed as it is while the reference moved."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.video.picture import Picture

_STEP: Final = 8  # samples from one mean to the next, each of every second sample both ways
_MOVES: Final = 0.5  # levels of 8-bit video that a reference changes by if it moves
_HELD: Final = 0.05  # levels that a picture changes by at most if it is the same one, shown again
_STILL: Final = 0.12  # share of the reference's change that a frozen picture may have

Means = NDArray[np.float32]


class FreezeRun:
    """Follows the pairs of a clip; cheap, because it looks at coarse means alone.

    A reference may hold its pictures, too. So a freeze is measured from the last frame at which both videos
    had stayed or moved together.
    """

    def __init__(self) -> None:
        self._since = 0
        self._start: tuple[Means, Means] | None = None  # the two pictures of that frame

    def follow(self, number: int, ref: Picture, dis: Picture) -> int | None:
        """The number of the frame that this one repeats, maybe through others; None: it repeats none."""
        now = _means(ref), _means(dis)
        if self._start is not None:
            moved, changed = (
                float(np.abs(new - old).mean()) for new, old in zip(now, self._start, strict=True)
            )
            if moved >= _MOVES and changed <= _STILL * moved:
                return self._since
            if moved > _HELD >= changed:
                return None  # too little to say so yet
        self._since, self._start = number, now
        return None


def _means(picture: Picture) -> Means:
    luma = picture.luma
    height, width = (max(length // _STEP, 1) * _STEP for length in luma.shape)
    parts = [
        luma[row:height:_STEP, column:width:_STEP].astype(np.float32)
        for row in range(0, min(_STEP, luma.shape[0]), 2)
        for column in range(0, min(_STEP, luma.shape[1]), 2)
    ]
    total = np.sum(parts, 0, np.float32) if len({part.shape for part in parts}) == 1 else parts[0]
    return np.asarray(total / np.float32(len(parts) * (1 << (picture.format.depth - 8))), np.float32)

"""Noise: fine detail in flat areas that the reference doesn't have, everywhere in them."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.grid import TILE, Plane
from acuity.frames.artefacts.measure import Figures, Gathered, Measured
from acuity.frames.artefacts.severity import Anchors, worst
from acuity.frames.artefacts.strip import Strip

# Lines of a grid or of bands touch less than this share of the places in a tile; noise touches all.
_QUIET: Final = 0.3
_MASKING: Final = 3.0  # levels of texture that make noise half as visible


class Noise:
    name = "noise"
    anchors = Anchors(0.5, 1.5, 4.5, 14.0)  # mean levels of added fine detail

    def gather(self, strip: Strip) -> Figures | None:
        if not strip.details or min(strip.grid.width, strip.grid.height) < TILE:
            return None
        detail = strip.details[0]
        return _quiet(detail.ref, strip), _quiet(detail.dis, strip)

    def judge(self, gathered: Gathered) -> Measured | None:
        ref, dis = gathered.figures
        added = np.sqrt(np.maximum(dis * dis - ref * ref, 0))
        cells = added / (1 + ref / np.float32(_MASKING))
        return Measured(worst(cells), cells)


def _quiet(detail: Plane, strip: Strip) -> Plane:
    """The detail at the quieter places of tiles, in each cell."""
    inner = detail[strip.inner]
    height, width = inner.shape[0] // TILE, inner.shape[1] // TILE
    tiles = inner[: height * TILE, : width * TILE].reshape(height, TILE, width, TILE)
    rows = [start // TILE for start in strip.row_starts]
    columns = [start // TILE for start in strip.grid.columns]
    sums = np.add.reduceat(np.add.reduceat(tiles, rows, axis=0), columns, axis=2)
    counts = np.outer(np.diff([*rows, height]), np.diff([*columns, width])).astype(np.float32)
    means = (sums / counts[:, None, :, None]).transpose(0, 2, 1, 3).reshape(len(rows), len(columns), -1)
    place = round(_QUIET * (TILE * TILE - 1))
    return np.asarray(np.partition(means, place, axis=2)[:, :, place], np.float32)

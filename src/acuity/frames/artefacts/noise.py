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
_MASKING: Final = 4.0  # levels of texture that make noise half as visible
_FLAT: Final = 0.25  # share of a cell away from edges that is enough to measure there
_ENOUGH: Final = 0.1  # share of cells with flat areas that is enough to leave out the others


class Noise:
    name = "noise"
    anchors = Anchors(0.4, 1.2, 3.6, 12.0)  # mean levels of added fine detail

    def gather(self, strip: Strip) -> Figures | None:
        if not strip.details or min(strip.grid.width, strip.grid.height) < 2 * TILE:
            return None
        detail = strip.details[0]
        away = 1 - strip.around.edges
        return (
            *(_quiet(plane, None, strip) for plane in detail),
            *(_quiet(plane, away, strip) for plane in detail),
            strip.means(away),
        )

    def judge(self, gathered: Gathered) -> Measured | None:
        ref, dis, flat_ref, flat_dis, away = gathered.figures
        flat = away >= _FLAT
        if flat.mean() >= _ENOUGH:  # beside edges, ringing looks like noise
            ref, dis = np.where(flat, flat_ref, 0), np.where(flat, flat_dis, 0)
        added = np.sqrt(np.maximum(dis * dis - ref * ref, 0))
        cells = added / (1 + ref / np.float32(_MASKING))
        return Measured(worst(cells), cells)


def _quiet(detail: Plane, weights: Plane | None, strip: Strip) -> Plane:
    """The detail at the quieter places of tiles, in each cell; tiles are weighted if there are weights."""
    if weights is None:
        means = _places(detail, strip)
    else:
        means = _places(detail * weights, strip) / np.maximum(_places(weights, strip), np.float32(1e-3))
    place = round(_QUIET * (TILE * TILE - 1))
    return np.asarray(np.partition(means, place, axis=2)[:, :, place], np.float32)


def _places(plane: Plane, strip: Strip) -> Plane:
    """The mean over a cell's tiles at each place of a tile: rows and columns of cells, places."""
    inner = plane[strip.inner]
    height, width = inner.shape[0] // TILE, inner.shape[1] // TILE
    tiles = inner[: height * TILE, : width * TILE].reshape(height, TILE, width, TILE)
    rows = [start // TILE for start in strip.row_starts]
    columns = [start // TILE for start in strip.grid.columns]
    sums = np.add.reduceat(np.add.reduceat(tiles, rows, axis=0), columns, axis=2)
    counts = np.outer(np.diff([*rows, height]), np.diff([*columns, width])).astype(np.float32)
    means = sums / counts[:, None, :, None]
    return np.asarray(means.transpose(0, 2, 1, 3).reshape(len(rows), len(columns), -1), np.float32)

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
_CHANCE: Final = 1.06  # energy of detail that may differ by chance where there is texture
_MASKING: Final = 4.0  # levels of texture that make noise half as visible
_BESIDE_EDGES: Final = np.float32(0.001)  # weight of samples there, which count only if there are no others
_FLAT: Final = 0.25  # share of a cell away from edges that is enough to measure there
_ENOUGH: Final = 0.1  # share of cells with flat areas that is enough to leave out the others


class Noise:
    name = "noise"
    anchors = Anchors(0.35, 1.1, 3.4, 12.0)  # mean levels of added fine detail

    def gather(self, strip: Strip) -> Figures | None:
        if not strip.details or min(strip.grid.width, strip.grid.height) < 2 * TILE:
            return None
        weights = 1 - strip.around.edges
        away = strip.means(weights)
        weights += _BESIDE_EDGES
        counts = _places(weights, strip)
        ref, dis = (_quiet(_places(detail * weights, strip) / counts) for detail in strip.details[0])
        return ref, dis, away

    def judge(self, gathered: Gathered) -> Measured | None:
        ref, dis, away = gathered.figures
        added = np.sqrt(np.maximum(dis * dis - np.float32(_CHANCE) * ref * ref, 0))
        cells = added / (1 + ref / np.float32(_MASKING))
        flat = away >= _FLAT
        if flat.mean() >= _ENOUGH:  # beside edges, ringing looks like noise
            cells = np.where(flat, cells, np.float32(0))
        return Measured(worst(cells), cells)


def _quiet(places: Plane) -> Plane:
    """The detail at the quieter places of tiles, in each cell."""
    place = round(_QUIET * (TILE * TILE - 1))
    return np.asarray(np.partition(places, place, axis=2)[:, :, place], np.float32)


def _places(plane: Plane, strip: Strip) -> Plane:
    """The mean over a cell's tiles at each place of a tile: rows and columns of cells, places."""
    inner = plane[strip.inner]
    height, width = inner.shape[0] // TILE, inner.shape[1] // TILE
    tiles = inner[: height * TILE, : width * TILE].reshape(height, TILE, width, TILE)
    rows = [start // TILE for start in strip.row_starts]
    columns = [start // TILE for start in strip.grid.columns]
    ends = [*rows[1:], height]
    down = np.stack([tiles[start:end].sum(axis=0) for start, end in zip(rows, ends, strict=True)])
    counts = np.outer(np.diff([*rows, height]), np.diff([*columns, width])).astype(np.float32)
    means = np.add.reduceat(down, columns, axis=2) / counts[:, None, :, None]
    return np.asarray(means.transpose(0, 2, 1, 3).reshape(len(rows), len(columns), -1), np.float32)

"""Banding: CAMBI of the distorted picture beyond that of the reference."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity import _native
from acuity.errors import UnfitPictureError
from acuity.features.cambi import Cambi
from acuity.features.extractor import Geometry
from acuity.features.visible_steps import visible_steps
from acuity.frames.artefacts.grid import Grid, Plane
from acuity.frames.artefacts.measure import Figures, Gathered, Measured
from acuity.frames.artefacts.severity import Anchors
from acuity.frames.artefacts.strip import Strip
from acuity.video.picture import Samples

_LARGEST_STEP: Final = 32  # at 10 bits; CAMBI's own 4 leave out the coarse bands of strong quantisation
_ANTI_DITHER_BELOW: Final = 10  # bits


class Banding:
    name = "banding"
    anchors = Anchors(1.5, 5.0, 14.0, 32.0)  # points of CAMBI

    def gather(self, strip: Strip) -> Figures | None:
        return ()

    def judge(self, gathered: Gathered) -> Measured | None:
        frame, grid = gathered.frame, gathered.grid
        kernel = _kernel(grid.width, grid.height, frame.ref.format.depth, frame.eotf)
        if kernel is None:
            return None
        dis, dis_cells = _contrasts(kernel, frame.dis.luma, grid)
        ref, ref_cells = _contrasts(kernel, frame.ref.luma, grid)
        return Measured(max(0.0, dis - ref), np.maximum(dis_cells - ref_cells, 0))


def _kernel(width: int, height: int, depth: int, eotf: str) -> _native.Cambi | None:
    cambi, geometry = Cambi({"cambi_high_res_speedup": 1080}), Geometry(width, height, depth)
    try:
        cambi.check_size(geometry)
    except UnfitPictureError:
        return None
    return _native.Cambi(
        _native.Workspace(),
        width,
        height,
        depth,
        judged=cambi.judged((width, height), geometry),
        source=None,
        smooth=depth < _ANTI_DITHER_BELOW,
        halve=cambi.halves(geometry),
        share=cambi.share,
        steps=visible_steps(eotf, cambi.number("tvi_threshold"), 0.0, _LARGEST_STEP),
        heatmaps=True,
    )


def _contrasts(kernel: _native.Cambi, luma: Samples, grid: Grid) -> tuple[float, Plane]:
    """The score of a picture, and where its bands are, in points of the score."""
    maps: list[NDArray[np.uint16]] = [np.zeros((height, width), np.uint16) for width, height in kernel.sizes]
    score = kernel.run(luma, luma, maps)[0]
    cells = np.zeros(grid.shape, np.float32)
    for image in maps:
        if image.shape[0] < grid.shape[0] or image.shape[1] < grid.shape[1]:
            break
        cells += _spread(image, grid)
    mean = float(cells.mean())
    return score, cells * np.float32(score / mean) if mean > 0 else cells


def _spread(image: NDArray[np.uint16], grid: Grid) -> Plane:
    """The means of a smaller image in the cells of the picture."""
    rows = [start * image.shape[0] // grid.height for start in grid.rows]
    columns = [start * image.shape[1] // grid.width for start in grid.columns]
    down = np.add.reduceat(image, rows, axis=0, dtype=np.float32)
    sums = np.add.reduceat(down, columns, axis=1)
    counts = np.outer(np.diff([*rows, image.shape[0]]), np.diff([*columns, image.shape[1]]))
    return np.asarray(sums / counts, np.float32)

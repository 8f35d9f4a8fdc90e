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
from acuity.frames.artefacts.cells import Grid, Plane, cell_means
from acuity.frames.artefacts.findings import Anchors
from acuity.frames.artefacts.measure import Gathered, Measure, Measured
from acuity.video.picture import Samples

_LARGEST_STEP: Final = 32  # at 10 bits; CAMBI's own 4 leave out all but the finest bands
_ANTI_DITHER_BELOW: Final = 10  # bits
_COARSE_DEPTH: Final = 10
_MIDDLE: Final = 384  # puts 256 levels in the middle of 10 bits


class Banding(Measure):
    name = "banding"
    anchors = Anchors(3.0, 10.0, 32.0, 60.0)  # points of CAMBI, of fine and coarse steps together

    def judge(self, gathered: Gathered) -> Measured | None:
        frame, grid = gathered.frame, gathered.grid
        depth = frame.ref.format.depth
        fine = _kernel(grid, depth, frame.eotf)
        if fine is None:
            return None
        figure, cells = _added(fine, frame.ref.luma, frame.dis.luma, grid)
        # Steps that are too large for CAMBI are in its range when contrast is a quarter.
        coarse = _kernel(grid, _COARSE_DEPTH, frame.eotf)
        if coarse is not None:
            ref, dis = (_quarter_contrast(luma, depth) for luma in (frame.ref.luma, frame.dis.luma))
            more, more_cells = _added(coarse, ref, dis, grid)
            figure, cells = figure + more, cells + more_cells
        return Measured(figure, cells)


def _kernel(grid: Grid, depth: int, eotf: str) -> _native.Cambi | None:
    """CAMBI for pictures of a size; None if they are too small for it."""
    cambi, geometry = Cambi({"cambi_high_res_speedup": 1080}), Geometry(grid.width, grid.height, depth)
    try:
        cambi.check_size(geometry)
    except UnfitPictureError:
        return None
    return _native.Cambi(
        _native.Workspace(),
        grid.width,
        grid.height,
        depth,
        judged=cambi.judged((grid.width, grid.height), geometry),
        source=None,
        smooth=depth < _ANTI_DITHER_BELOW,
        halve=cambi.halves(geometry),
        share=cambi.share,
        steps=visible_steps(eotf, cambi.number("tvi_threshold"), 0.0, _LARGEST_STEP),
        heatmaps=True,
    )


def _quarter_contrast(luma: Samples, depth: int) -> NDArray[np.uint16]:
    """Luma with a level of 8 bits as a step of 10 bits."""
    return ((luma >> (depth - 8)) + np.uint16(_MIDDLE)).astype(np.uint16)


def _added(kernel: _native.Cambi, ref: Samples, dis: Samples, grid: Grid) -> tuple[float, Plane]:
    """Points that the distorted picture has more than the reference, in all and in cells."""
    (dis_score, dis_cells), (ref_score, ref_cells) = (_contrasts(kernel, luma, grid) for luma in (dis, ref))
    return max(0.0, dis_score - ref_score), np.maximum(dis_cells - ref_cells, 0)


def _contrasts(kernel: _native.Cambi, luma: Samples, grid: Grid) -> tuple[float, Plane]:
    """The score of a picture, and where its bands are, in points of the score."""
    maps: list[NDArray[np.uint16]] = [np.zeros((height, width), np.uint16) for width, height in kernel.sizes]
    score = kernel.run(luma, luma, maps)[0]
    cells = np.zeros(grid.shape, np.float32)
    for image in maps:
        if image.shape[0] < grid.shape[0] or image.shape[1] < grid.shape[1]:
            break  # of the coarsest scales of small pictures
        rows = [start * image.shape[0] // grid.height for start in grid.rows]
        columns = [start * image.shape[1] // grid.width for start in grid.columns]
        cells += cell_means(image, rows, columns)
    mean = float(cells.mean())
    return score, cells * np.float32(score / mean) if mean > 0 else cells

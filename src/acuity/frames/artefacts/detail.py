"""Detail that the distorted picture lacks or adds (blur, noise, ringing), and tones that it changes."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.cells import TILE, Plane, smoothed
from acuity.frames.artefacts.findings import WORST, Anchors, worst
from acuity.frames.artefacts.measure import CellFigures, Figures, Gathered, Measure, Strip
from acuity.video.picture import LAYOUTS

_FAINT: Final = 1.0  # levels of detail, in all octaves together, that would hardly be missed


class Blur(Measure):
    name = "blur"
    anchors = Anchors(0.06, 0.16, 0.40, 0.80)  # share of the detail that is lost

    def gather(self, strip: Strip) -> Figures | None:
        if len(strip.details) < 1:
            return None
        ref, dis = strip.means(strip.details[0].ref), strip.means(strip.details[0].dis)
        for octave, detail in enumerate(strip.details[1:], 1):
            ref += strip.means(detail.ref, octave)
            dis += strip.means(detail.dis, octave)
        return ref, dis

    def judge(self, gathered: Gathered) -> CellFigures | None:
        ref, dis = gathered.figures
        cells = np.maximum(ref - dis, 0) / (ref + np.float32(_FAINT))
        return CellFigures(worst(cells), cells)


# Lines of a grid or of bands touch less than this share of the places in a tile; noise touches all.
_QUIET: Final = 0.3
_CHANCE: Final = 1.06  # energy of detail that may differ by chance where there is texture
_MASKING: Final = 4.0  # levels of texture that make noise half as visible
_BESIDE_EDGES: Final = np.float32(0.001)  # weight of samples beside edges; they count if there are no others
_FLAT: Final = 0.25  # share of a cell away from edges that is enough to measure there
_ENOUGH: Final = 0.1  # share of cells with flat areas that is enough to leave out the others


class Noise(Measure):
    name = "noise"
    anchors = Anchors(0.35, 1.1, 3.4, 12.0)  # mean levels of added fine detail

    def gather(self, strip: Strip) -> Figures | None:
        if not strip.details or strip.grid.small:
            return None
        weights = 1 - strip.around.edges
        away = strip.means(weights)
        weights += _BESIDE_EDGES
        counts = _places(weights, strip)
        ref, dis = (_quiet(_places(detail * weights, strip) / counts) for detail in strip.details[0])
        return ref, dis, away

    def judge(self, gathered: Gathered) -> CellFigures | None:
        ref, dis, away = gathered.figures
        added = np.sqrt(np.maximum(dis * dis - np.float32(_CHANCE) * ref * ref, 0))
        cells = added / (1 + ref / np.float32(_MASKING))
        flat = away >= _FLAT
        if flat.mean() >= _ENOUGH:  # beside edges, ringing looks like noise
            cells = np.where(flat, cells, np.float32(0))
        return CellFigures(worst(cells), cells)


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


_ROUNDING: Final = np.float32(0.5)  # levels that don't count
_LARGEST: Final = np.float32(0.25)  # of an edge's height: what swings farther isn't ringing
_LEAST_ZONE: Final = 0.1  # of a cell: a smaller zone beside an edge doesn't count
_LEAST_AWAY: Final = 0.01  # of an area: less is too little to know the noise by
_FEWEST: Final = 0.05  # share of the picture's cells that a figure is the mean of, at least


class Ringing(Measure):
    name = "ringing"
    anchors = Anchors(0.4, 1.2, 3.6, 12.0)  # levels beyond the reference beside edges, root mean square

    def gather(self, strip: Strip) -> Figures | None:
        if strip.grid.small:
            return None
        luma, around = strip.luma, strip.around
        swung = luma.dis - strip.offsets  # a brighter area doesn't ring
        beyond = np.maximum(swung - around.high, around.low - swung)
        beyond -= _ROUNDING
        np.maximum(beyond, 0, out=beyond)
        edges = around.edges
        swings = np.minimum(beyond, _LARGEST * (around.high - around.low)) * edges
        beyond *= 1 - edges
        return strip.means(swings * swings), strip.means(beyond * beyond), strip.means(edges)

    def judge(self, gathered: Gathered) -> CellFigures | None:
        inside, outside, zone = gathered.figures
        # Noise swings as far where there is no edge, nearby or in the whole picture.
        away = 1 - zone
        nearby = smoothed(outside) / np.maximum(smoothed(away), np.float32(_LEAST_AWAY))
        floor = np.maximum(nearby, outside.sum() / max(away.sum(), np.float32(_LEAST_AWAY * zone.size)))
        edged = zone >= _LEAST_ZONE
        beyond = np.where(edged, np.maximum(inside - floor * zone, 0), np.float32(0))
        cells = np.sqrt(beyond / np.maximum(zone, np.float32(_LEAST_ZONE)))
        return CellFigures(worst(cells, max(_FEWEST, WORST * float(edged.mean()))), cells)


_SMALL: Final = 0.01  # share of cells: an object of another colour
_EVEN: Final = 36.0  # squared levels: the variance of tones below which contrast isn't known
_CONTRASTS: Final = (0.84, 1.2)  # slopes between them are those of wrong ranges, too
_MIDDLE: Final = (40, 215)  # levels: a fade, or light that is brighter, leaves black or white as it is
_LEFT: Final = 0.15  # part of a change of contrast that may differ from a straight line
_LESS: Final = 0.5  # weight of a shift of an object, beside one of a large area


class ColourShift(Measure):
    name = "colour shift"
    anchors = Anchors(1.5, 4.0, 10.0, 30.0)  # levels of chroma

    def judge(self, gathered: Gathered) -> CellFigures | None:
        frame, grid = gathered.frame, gathered.grid
        shift = LAYOUTS[frame.ref.format.layout]
        if shift is None or min(min(plane.shape) for plane in frame.ref.planes) == 0:
            return None
        off = np.zeros(grid.shape, np.float32)
        for ref, dis in zip(frame.ref.planes[1:], frame.dis.planes[1:], strict=True):
            moved = grid.means(dis, shift) - grid.means(ref, shift)
            # A shift is what neighbouring cells share, and coding errors aren't.
            off += np.square(smoothed(moved / np.float32(frame.level)))
        cells = np.sqrt(off)
        figure, small = worst(cells), worst(cells, _SMALL)
        if small >= self.anchors.visible > figure and figure < _LESS * small:
            # An object whose colour is clearly another is seen, however small: only it is looked at.
            return CellFigures(_LESS * small, np.where(cells >= _LESS * small, cells, np.float32(0)))
        return CellFigures(figure, cells)


class ContrastChange(Measure):
    name = "contrast change"
    anchors = Anchors(2.0, 6.0, 18.0, 50.0)  # levels of luma, by which tones are nearer to a middle one

    def judge(self, gathered: Gathered) -> CellFigures | None:
        cells = np.abs(_spread_change(gathered.ref_means, gathered.dis_means))
        return CellFigures(worst(cells), cells)


class BrightnessShift(Measure):
    name = "brightness shift"
    anchors = Anchors(2.0, 6.0, 18.0, 50.0)  # levels of luma

    def judge(self, gathered: Gathered) -> CellFigures | None:
        moved = gathered.dis_means - gathered.ref_means
        cells = np.abs(smoothed(moved - _spread_change(gathered.ref_means, gathered.dis_means)))
        return CellFigures(worst(cells), cells)


def _spread_change(ref: Plane, dis: Plane) -> Plane:
    """How far a change of contrast moves each cell; 0 if something else changed."""
    tones, shown = ref - ref.mean(), dis - dis.mean()
    power = float(np.vdot(tones, tones))
    slope = float(np.vdot(tones, shown)) / power if power > _EVEN * tones.size else 1.0
    if _CONTRASTS[0] < slope < _CONTRASTS[1]:
        return np.zeros_like(ref)
    middle = (float(dis.mean()) - slope * float(ref.mean())) / (1 - slope)  # the tone that stays as it is
    change = np.float32(slope - 1) * (ref - np.float32(middle))
    left = dis - ref - change
    straight = float(np.vdot(left, left)) <= _LEFT * float(np.vdot(change, change))
    return change if straight and _MIDDLE[0] < middle < _MIDDLE[1] else np.zeros_like(ref)

"""HeatMap: where in a picture the loss is, on a scale that is the same for every picture.

The loss of a place is from 0 (none) to 1. It has three parts, each of which can only add to it:

    structure    1 - SSIM of luma in windows of 8x8, 16x16 and 32x32 pixels, averaged
    brightness   the difference of mean luma in the window, 64 of 255 steps being all
    colour       the distance of mean chroma in the window, 48 of 255 steps being all

Windows begin every 4 pixels, the larger ones every 8 and 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops

from acuity.frames.artefacts.cells import Box
from acuity.frames.colours import PairColours, Rgb8
from acuity.video.picture import LAYOUTS, Picture, Samples

Floats = NDArray[np.float32]

_CELL: Final = 4  # pixels of a side of the cells that windows are made of: two by two make a window
_SCALES: Final = 3
_SMALLEST: Final = 2 * _CELL  # a side of a picture that has a window
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # of SSIM: keep flat windows from dividing by nothing
_BRIGHTNESS: Final = 64.0
_COLOUR: Final = 48.0
_ROWS: Final = 256  # of luma at once: bounds the scratch memory, and a multiple of all windows
_REGION_PART: Final = 4  # the worst region is this part of the picture's width and height
_REGION_LEAST: Final = 64


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The loss of each cell of a picture."""

    cells: Floats  # (rows, columns), 0 to 1
    width: int  # of the picture
    height: int

    @property
    def mean(self) -> float:
        """The mean loss of the picture."""
        return float(self.cells.mean())

    def mean_of(self, box: Box) -> float:
        """The mean loss of the cells that begin in a box."""
        rows = slice(box.y // _CELL, max(-(-(box.y + box.height) // _CELL), 1))
        columns = slice(box.x // _CELL, max(-(-(box.x + box.width) // _CELL), 1))
        part = self.cells[rows, columns]
        return float(part.mean()) if part.size else self.mean

    def worst_region(self) -> Box:
        """A quarter of the picture's width and height (64 pixels at least) with the greatest loss.

        Its corners are even, so that it has whole chroma samples. Without any loss it is the middle.
        """
        width, height = _side(self.width), _side(self.height)
        rows, columns = self.cells.shape
        high, wide = min(-(-height // _CELL), rows), min(-(-width // _CELL), columns)
        sums = np.zeros((rows + 1, columns + 1))
        np.cumsum(np.cumsum(self.cells, 0, np.float64), 1, out=sums[1:, 1:])
        boxes = sums[high:, wide:] - sums[:-high, wide:] - sums[high:, :-wide] + sums[:-high, :-wide]
        if boxes.max() - boxes.min() < 1e-6 * boxes.size:
            y, x = (self.height - height) // 2, (self.width - width) // 2
        else:
            at, left = map(int, np.unravel_index(int(boxes.argmax()), boxes.shape))
            # Many boxes may have all of a small flaw: it should be in the middle.
            part = self.cells[at : at + high, left : left + wide].astype(np.float64)
            down = np.average(np.arange(high), weights=part.sum(1)) - (high - 1) / 2
            across = np.average(np.arange(wide), weights=part.sum(0)) - (wide - 1) / 2
            y, x = max(round(_CELL * (at + down)), 0), max(round(_CELL * (left + across)), 0)
        left, top = min(x, self.width - width), min(y, self.height - height)
        return Box(left - left % 2, top - top % 2, width, height)

    def pixels(self, start: int, stop: int) -> Floats:
        """The loss of the pixels in these rows, between the middles of cells by linear interpolation."""
        return _enlarged(self.cells, _CELL, self.width, start, stop)


def heat_map(ref: Picture, dis: Picture) -> HeatMap:
    """Where the distorted picture differs from its reference; both have the same size and format."""
    unit = np.float32(1 / (1 << (ref.format.depth - 8)))
    structure, brightness = _luma_loss(ref, dis, unit)
    kept = (1 - structure) * (1 - np.minimum(brightness / np.float32(_BRIGHTNESS), 1))
    if len(ref.planes) == 3 == len(dis.planes):
        distance = _colour_distance(ref, dis, unit, (kept.shape[0], kept.shape[1]))
        kept *= 1 - np.minimum(distance / np.float32(_COLOUR), 1)
    return HeatMap(cast("Floats", np.clip(1 - kept, 0, 1).astype(np.float32)), ref.width, ref.height)


def _luma_loss(ref: Picture, dis: Picture, unit: np.float32) -> tuple[Floats, Floats]:
    """The loss of structure, and the difference of brightness, of each cell."""
    x, y = (_scaled(picture.luma, unit) for picture in (ref, dis))
    total, brightness = _ssim_loss(x, y)
    rows, columns = total.shape
    scales = 1
    while scales < _SCALES and min(x.shape) >= 2 * _SMALLEST:
        x, y = _halved(x), _halved(y)
        total += _enlarged(_ssim_loss(x, y)[0], 1 << scales, columns, 0, rows)
        scales += 1
    return total / np.float32(scales), brightness


def _ssim_loss(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """1 - SSIM and the difference of means, in the windows around each cell."""
    sums = [np.empty((x.shape[0] // _CELL, x.shape[1] // _CELL), np.float32) for _ in range(5)]
    for start in range(0, x.shape[0], _ROWS):
        a, b = x[start : start + _ROWS], y[start : start + _ROWS]
        place = slice(start // _CELL, start // _CELL + len(a) // _CELL)
        for target, product in zip(sums, (a, b, a * a, b * b, a * b), strict=True):
            target[place] = _cell_sums(product, _CELL, _CELL)
    area = np.float32((2 * _CELL) ** 2)
    mx, my, xx, yy, xy = (_two_by_two(cells) / area for cells in sums)
    vx, vy, cov = np.maximum(xx - mx * mx, 0), np.maximum(yy - my * my, 0), xy - mx * my
    c1, c2 = np.float32(_C1), np.float32(_C2)
    ssim = ((2 * mx * my + c1) * (2 * cov + c2)) / ((mx * mx + my * my + c1) * (vx + vy + c2))
    return _of_cells(np.clip(1 - ssim, 0, 1)), _of_cells(np.abs(mx - my))


def _colour_distance(ref: Picture, dis: Picture, unit: np.float32, shape: tuple[int, int]) -> Floats:
    """The distance of mean chroma in the windows around each cell, in steps of 8 bit."""
    shift = LAYOUTS[ref.format.layout]
    assert shift is not None
    across, down = (_CELL >> bits for bits in shift)
    squares: Floats | None = None
    for planes in zip(ref.planes[1:], dis.planes[1:], strict=True):
        sums = [
            _cell_sums(_scaled(plane, unit, shape[0] * down, shape[1] * across), down, across)
            for plane in planes
        ]
        difference = _two_by_two(sums[0] - sums[1]) / np.float32(4 * down * across)
        squares = difference**2 if squares is None else squares + difference**2
    assert squares is not None
    return _of_cells(np.sqrt(squares))


def _scaled(plane: Samples, unit: np.float32, height: int = 0, width: int = 0) -> Floats:
    """The samples on the scale of 8 bit, with the last row and column repeated to whole cells."""
    rows, columns = (max(side, _SMALLEST) + -max(side, _SMALLEST) % _CELL for side in plane.shape)
    height, width = height or rows, width or columns
    out = np.empty((height, width), np.float32)
    kept = plane[:height, :width]
    rows, columns = kept.shape
    np.multiply(kept, unit, out=out[:rows, :columns], casting="unsafe")
    out[rows:, :columns] = out[rows - 1, :columns]
    out[:, columns:] = out[:, columns - 1 : columns]
    return out


def _halved(plane: Floats) -> Floats:
    """Half as wide and high, in whole cells."""
    half = (plane[::2] + plane[1::2]) * np.float32(0.25)
    return _scaled(half[:, ::2] + half[:, 1::2], np.float32(1))


def _cell_sums(plane: Floats, down: int, across: int) -> Floats:
    rows = plane[::down].copy()
    for row in range(1, down):
        rows += plane[row::down]
    sums = rows[:, ::across].copy()
    for column in range(1, across):
        sums += rows[:, column::across]
    return sums


def _two_by_two(cells: Floats) -> Floats:
    """The sums of two by two neighbours."""
    rows = cells[:-1] + cells[1:]
    return cast("Floats", rows[:, :-1] + rows[:, 1:])


def _of_cells(windows: Floats) -> Floats:
    """The mean of the windows that each cell is in."""
    return _two_by_two(np.pad(windows, 1, "edge")) / np.float32(4)


def _enlarged(cells: Floats, factor: int, width: int, start: int, stop: int) -> Floats:
    """Rows of a grid that is `factor` times finer, by linear interpolation between the middles of cells."""
    box = (0, start / factor, width / factor, stop / factor)
    return np.asarray(Image.fromarray(cells).resize((width, stop - start), Image.Resampling.BILINEAR, box))


def _side(length: int) -> int:
    """How long the worst region is along a side of the picture."""
    wanted = max(length // _REGION_PART, _REGION_LEAST)
    return length if wanted >= length else wanted - wanted % 2


GAIN: Final = 4  # of the picture of differences
_STEPS: Final = 256  # of the scale of colours
_DRAWN_ROWS: Final = 128  # drawn at once
_COVER: Final = 0.75  # of the picture that colours hide at most
_DIMMED: Final = 0.55  # of the grey picture under the colours, which would drown in a bright one
# What red, green and blue count in that grey: as in BT.709's luma.
_GREY: Final = tuple(np.float32(_DIMMED * weight) for weight in (0.2126, 0.7152, 0.0722))

# At equal distances on the scale of colours: lightness rises evenly, hue goes from violet over red to yellow.
_STOPS: Final = bytes.fromhex(
    "3f2c81 662583 891880 a80077 c30069 d6005e e50152 f12846 fa4137"
    "ff582d ff6c29 ff7f27 ff9127 ffa32a ffb535 ffc743 ffd854 ffe867"
)


class Drawn(NamedTuple):
    """The pictures of a frame, of one size, as (height, width, 3) in sRGB."""

    reference: Rgb8
    distorted: Rgb8
    heat: Rgb8
    region: Box  # where the loss is greatest
    loss: float  # the mean of the heat map
    region_loss: float = 0.0  # that of the region


def draw(ref: Picture, dis: Picture, colours: PairColours, *, crop: bool = False) -> Drawn:
    """Draw a pair; with `crop`, the worst region alone."""
    found = heat_map(ref, dis)
    region = found.worst_region()
    box = region if crop else None
    reference, distorted = colours.picture(ref, box), colours.picture(dis, box)
    heat = _over_grey(found, reference, region if crop else Box(0, 0, ref.width, ref.height))
    return Drawn(reference, distorted, heat, region, found.mean, found.mean_of(region))


def difference_picture(reference: Rgb8, distorted: Rgb8) -> Rgb8:
    """How much two pictures differ, GAIN times as bright; black where they are equal."""
    off = ImageChops.difference(Image.fromarray(reference), Image.fromarray(distorted))
    return np.asarray(off.point(lambda value: min(value, 255 // GAIN) * GAIN))


def _over_grey(found: HeatMap, picture: Rgb8, box: Box) -> Rgb8:
    """The heat map's colours over the picture in grey; where nothing is lost, the grey shows alone."""
    out = np.empty_like(picture)
    scale = heat_colours().astype(np.float32)
    for start in range(0, box.height, _DRAWN_ROWS):
        stop = min(start + _DRAWN_ROWS, box.height)
        loss = found.pixels(box.y + start, box.y + stop)[:, box.x : box.x + box.width]
        part = np.sqrt(loss)
        cover = np.minimum(part * 2, np.float32(_COVER))[..., np.newaxis]
        red, green, blue = (picture[start:stop, :, index] * weight for index, weight in enumerate(_GREY))
        grey = (red + green + blue)[..., np.newaxis]
        colour = scale[(part * (_STEPS - 1) + np.float32(0.5)).astype(np.intp)]
        out[start:stop] = np.rint(grey + cover * (colour - grey)).astype(np.uint8)
    return out


@cache
def heat_colours() -> NDArray[np.uint8]:
    """The scale of colours as (256, 3) in sRGB: its first is no loss, its middle 0.25, its last 1."""
    stops = np.frombuffer(_STOPS, np.uint8).reshape(-1, 3)
    along, places = np.linspace(0, 1, _STEPS), np.linspace(0, 1, len(stops))
    parts = [np.interp(along, places, stops[:, part]) for part in range(3)]
    return np.rint(np.stack(parts, -1)).astype(np.uint8)

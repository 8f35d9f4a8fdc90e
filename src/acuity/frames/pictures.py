"""Draws the pictures of a frame: reference, distorted, and the heat map over the reference in grey."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.box import Box
from acuity.frames.colours import PairColours, Rgb8
from acuity.frames.heat_map import HeatMap, heat_map
from acuity.video.picture import Picture

Floats = NDArray[np.float64]

GAIN: Final = 4  # of the picture of differences
_STEPS: Final = 256  # of the scale of colours
_ROWS: Final = 128  # drawn at once
_COVER: Final = 0.75  # of the picture that colours hide at most
_DIMMED: Final = 0.55  # of the grey picture under the colours, which would drown in a bright one
# What red, green and blue count in that grey: as in BT.709's luma.
_GREY: Final = tuple(np.float32(_DIMMED * weight) for weight in (0.2126, 0.7152, 0.0722))

# The scale of colours in CIELAB: lightness rises evenly, hue goes from violet over red to yellow.
_LIGHTNESS: Final = (25.0, 92.0)
_HUES: Final = (-55.0, 0.0, 40.0, 65.0, 95.0)  # degrees, at equal distances along the scale
_CHROMAS: Final = (55.0, 75.0, 85.0, 80.0, 65.0)


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
    reference = colours.picture(ref, box)
    return Drawn(
        reference,
        colours.picture(dis, box),
        _over_grey(found, reference, region if crop else Box(0, 0, ref.width, ref.height)),
        region,
        found.mean,
        found.mean_of(region),
    )


def difference_picture(reference: Rgb8, distorted: Rgb8) -> Rgb8:
    """How much two pictures differ, GAIN times as bright; black where they are equal."""
    out = np.empty_like(reference)
    for start in range(0, len(out), _ROWS):
        rows = slice(start, start + _ROWS)
        x, y = reference[rows], distorted[rows]
        out[rows] = np.minimum(np.maximum(x, y) - np.minimum(x, y), 255 // GAIN) * GAIN
    return out


def _over_grey(found: HeatMap, picture: Rgb8, box: Box) -> Rgb8:
    """The heat map's colours over the picture in grey; where nothing is lost, the grey shows alone."""
    out = np.empty_like(picture)
    scale = heat_colours().astype(np.float32)
    for start in range(0, box.height, _ROWS):
        stop = min(start + _ROWS, box.height)
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
    along = np.linspace(0, 1, _STEPS)
    stops = np.linspace(0, 1, len(_HUES))
    hue, chroma = np.radians(np.interp(along, stops, _HUES)), np.interp(along, stops, _CHROMAS)
    lightness = _LIGHTNESS[0] + (_LIGHTNESS[1] - _LIGHTNESS[0]) * along
    return _from_lab(lightness, chroma * np.cos(hue), chroma * np.sin(hue))


def _from_lab(lightness: Floats, a: Floats, b: Floats) -> NDArray[np.uint8]:
    """CIELAB (white D65) as sRGB; colours that it lacks are clipped."""
    fy = (lightness + 16) / 116
    f = np.stack([fy + a / 500, fy, fy - b / 200], -1)
    xyz = np.where(f > 6 / 29, f**3, (f - 4 / 29) * 3 * (6 / 29) ** 2) * (0.95047, 1.0, 1.08883)
    to_rgb = np.array(
        ((3.2406, -1.5372, -0.4986), (-0.9689, 1.8758, 0.0415), (0.0557, -0.2040, 1.0570)),
    )
    light = np.clip(xyz @ to_rgb.T, 0, 1)
    shown = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return cast("NDArray[np.uint8]", np.rint(shown * 255).astype(np.uint8))

"""PairColours: how the samples of two compared videos are shown as sRGB, the same way for both."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.box import Box
from acuity.frames.tone_map import TONE_MAPS, in_srgb_gamut, tone_mapped
from acuity.video import notes
from acuity.video.notes import Note
from acuity.video.pairs.colour import colour_tags
from acuity.video.pairs.pairing import Pairing
from acuity.video.picture import LAYOUTS, Picture
from acuity.video.rgb import WEIGHTS, to_rgb, usual_matrix

Rgb8 = NDArray[np.uint8]

# Primaries that an sRGB screen can't show as they are; others differ from its own by less than screens do.
_WIDE: Final = frozenset(("bt2020", "smpte432"))
_ROWS: Final = 128  # converted at once: bounds the scratch memory of large pictures
_MARGIN: Final = 4  # rows around them that chroma is interpolated from


class PairColours(NamedTuple):
    """The matrix, range and transfer with which both videos of a pair are shown."""

    matrix: str
    full_range: bool
    transfer: str | None = None  # of HDR, which is tone-mapped
    primaries: str | None = None
    aspect: Fraction | None = None  # of one sample
    notes: tuple[Note, ...] = ()
    centred: bool = False  # whether chroma lies between two columns of luma

    def __str__(self) -> str:
        shown = f"{self.matrix}, {'full' if self.full_range else 'limited'} range"
        if self.transfer is not None:
            return f"{shown}, {TONE_MAPS[self.transfer]} tone-mapped"
        return f"{shown}, {self.primaries} taken to sRGB" if self.primaries in _WIDE else shown

    def picture(self, picture: Picture, box: Box | None = None) -> Rgb8:
        """The picture, or a part of it with even corners, in 8-bit sRGB as (height, width, 3)."""
        x, y, width, height = box or Box(0, 0, picture.width, picture.height)
        out = np.empty((height, width, 3), np.uint8)
        for start in range(y, y + height, _ROWS):
            stop = min(start + _ROWS, y + height)
            top = max(start - _MARGIN, 0)
            strip = _rows(picture, top, min(stop + _MARGIN, picture.height))
            rgb = to_rgb(strip, self.matrix, self.full_range, centred=self.centred)
            shown = rgb[start - top : stop - top, x : x + width]
            if self.transfer is not None:
                shown = tone_mapped(shown, self.transfer, self.primaries)
            elif self.primaries in _WIDE:
                shown = in_srgb_gamut(shown, self.primaries)
            out[start - y : stop - y] = np.rint(shown * np.float32(255)).astype(np.uint8)
        return out


def colours_of(pairing: Pairing) -> PairColours:
    """The colours of a pairing's pictures: the reference's, or the other video's where it says nothing.

    Both are shown alike even where their tags differ, because their samples are compared with each other.
    """
    ref, dis = pairing.info_ref, pairing.info_dis
    tags = colour_tags(pairing)
    found: list[Note] = []
    matrix = tags.matrix or usual_matrix(ref.width, ref.height)
    if matrix not in WEIGHTS and pairing.format.layout != "400":
        taken = usual_matrix(ref.width, ref.height)
        found.append(
            notes.warning(
                "picture-matrix",
                f"the matrix {matrix} can't be shown here, so the colours of the pictures are those of "
                f"{taken}, which may look wrong; the scores are not affected",
            )
        )
    if matrix not in WEIGHTS:
        matrix = usual_matrix(ref.width, ref.height)
    transfer = next((info.transfer for info in (ref, dis) if info.hdr), None)
    if transfer is not None:
        found.append(
            notes.info(
                "tone-mapped",
                f"the video is HDR ({TONE_MAPS[transfer]}): its pictures are tone-mapped to an SDR screen, "
                "which shows where the loss is, not the colours of an HDR screen",
            )
        )
    aspect = None if abs(pairing.aspect - 1) < 1e-6 else Fraction(pairing.aspect).limit_denominator(1000)
    if aspect is not None:
        shape = f"{aspect.numerator}:{aspect.denominator}"
        found.append(
            notes.info(
                "sample-aspect",
                f"samples are {shape} (width to height) and pictures keep them as they are, so they look "
                "narrower or wider than in a player",
            )
        )
    return PairColours(
        matrix, bool(tags.full_range), transfer, tags.primaries, aspect, tuple(found), ref.centred
    )


def _rows(picture: Picture, top: int, bottom: int) -> Picture:
    """Some rows of a picture; `top` is even."""
    shift = LAYOUTS[picture.format.layout]
    down = 1 if shift is None else 1 << shift[1]
    chroma = (plane[top // down : -(-bottom // down)] for plane in picture.planes[1:])
    return replace(picture, planes=(picture.luma[top:bottom], *chroma))

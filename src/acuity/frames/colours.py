"""PairColours: how the samples of two compared videos are shown as sRGB, the same way for both."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.cells import Box
from acuity.video import notes
from acuity.video.notes import Note
from acuity.video.pairs.colour import colour_tags
from acuity.video.pairs.pairing import Pairing
from acuity.video.pairs.recolour import CHROMATICITIES, gamut_matrix
from acuity.video.picture import LAYOUTS, Picture
from acuity.video.rgb import WEIGHTS, to_rgb, usual_matrix

Floats = NDArray[np.float32]

# By FFmpeg's names of transfers.
TONE_MAPS: Final = {"smpte2084": "PQ", "arib-std-b67": "HLG"}

_GAMMA: Final = 2.4  # of an SDR screen (BT.1886)
_PEAK: Final = 1000.0  # cd/m2 that are shown as white
_WHITE: Final = 203.0
# SMPTE ST 2084
_M1, _M2 = 2610 / 16384, 2523 / 4096 * 128
_C1, _C2, _C3 = 3424 / 4096, 2413 / 4096 * 32, 2392 / 4096 * 32
# ITU-R BT.2100
_A, _B, _C = 0.17883277, 0.28466892, 0.55991073
_HLG_GAMMA: Final = 1.2  # of a screen of 1,000 cd/m2
_LUMA: Final = (0.2627, 0.6780, 0.0593)


def tone_mapped(rgb: Floats, transfer: str, primaries: str | None) -> Floats:
    """Red, green and blue of an HDR signal, 0 to 1, as those of sRGB, the same for every picture.

    White of graphics (203 cd/m2, ITU-R BT.2408) stays somewhat below SDR's white, so that brighter parts have
    room up to 1,000 cd/m2. Brighter light is white.
    """
    light = _pq_light(rgb) if transfer == "smpte2084" else _hlg_light(rgb)
    light = _narrowed(light, primaries if primaries in CHROMATICITIES else "bt2020")
    # One factor for the three, so that hues stay; it goes by the brightest of them, so that none is cut off.
    brightest = np.maximum(light.max(-1, keepdims=True), np.float32(1e-6))
    shown = light * (_compressed(brightest) / brightest)
    return _srgb(np.clip(shown, 0, 1))


def in_srgb_gamut(rgb: Floats, primaries: str | None) -> Floats:
    """Red, green and blue of an SDR signal with these primaries, 0 to 1, as those of sRGB."""
    if primaries not in CHROMATICITIES:
        return rgb
    light = _narrowed(np.power(rgb, np.float32(_GAMMA)), primaries)
    return cast("Floats", np.power(np.clip(light, 0, 1), np.float32(1 / _GAMMA)))


def _narrowed(light: Floats, primaries: str) -> Floats:
    """Light with BT.709's primaries; what they can't show is the nearest they can."""
    rows = gamut_matrix(primaries, "bt709").astype(np.float32)
    # Not with @, which may start a thread for every core.
    parts = [light[..., 0] * r + light[..., 1] * g + light[..., 2] * b for r, g, b in rows]
    return cast("Floats", np.maximum(np.stack(parts, -1), 0))


def _pq_light(signal: Floats) -> Floats:
    """Light in units of graphics white."""
    power = np.power(signal, np.float32(1 / _M2))
    base = np.maximum(power - np.float32(_C1), 0) / (np.float32(_C2) - np.float32(_C3) * power)
    return cast("Floats", np.power(base, np.float32(1 / _M1)) * np.float32(10_000 / _WHITE))


def _hlg_light(signal: Floats) -> Floats:
    low = signal * signal / np.float32(3)
    high = (np.exp((signal - np.float32(_C)) / np.float32(_A)) + np.float32(_B)) / np.float32(12)
    scene = np.where(signal <= np.float32(0.5), low, high).astype(np.float32)
    luma = sum(scene[..., index] * np.float32(weight) for index, weight in enumerate(_LUMA))
    gain = np.power(np.maximum(luma, np.float32(1e-6)), np.float32(_HLG_GAMMA - 1))
    return cast("Floats", scene * gain[..., np.newaxis] * np.float32(_PEAK / _WHITE))


def _compressed(light: Floats) -> Floats:
    """Reinhard's curve with a white point: nearly the light itself below, 1 at the peak."""
    white = np.float32(_PEAK / _WHITE)
    return cast("Floats", light * (1 + light / (white * white)) / (1 + light))


def _srgb(light: Floats) -> Floats:
    low = light * np.float32(12.92)
    high = np.float32(1.055) * np.power(light, np.float32(1 / 2.4)) - np.float32(0.055)
    return cast("Floats", np.where(light <= np.float32(0.0031308), low, high))


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
    tags = colour_tags(ref, dis, pairing.matrix, pairing.full_range)
    found: list[Note] = []
    matrix = usual = usual_matrix(ref.width, ref.height)
    if tags.matrix in WEIGHTS:
        matrix = tags.matrix
    elif tags.matrix and pairing.format.layout != "400":
        text = (
            f"the matrix {tags.matrix} can't be shown here, so the colours of the pictures are those of "
            f"{usual}, which may look wrong; the scores are not affected"
        )
        found.append(notes.warning("picture-matrix", text))
    transfer = next((info.transfer for info in (ref, dis) if info.hdr), None)
    if transfer is not None:
        text = (
            f"the video is HDR ({TONE_MAPS[transfer]}): its pictures are tone-mapped to an SDR screen, "
            "which shows where the loss is, not the colours of an HDR screen"
        )
        found.append(notes.info("tone-mapped", text))
    aspect = None if abs(pairing.aspect - 1) < 1e-6 else Fraction(pairing.aspect).limit_denominator(1000)
    if aspect is not None:
        shape = f"{aspect.numerator}:{aspect.denominator}"
        text = f"samples are {shape} (width to height) and pictures keep them as they are, so they look "
        found.append(notes.info("sample-aspect", f"{text}narrower or wider than in a player"))
    shown = matrix, bool(tags.full_range), transfer, tags.primaries
    return PairColours(*shown, aspect, tuple(found), ref.centred)


def _rows(picture: Picture, top: int, bottom: int) -> Picture:
    """Some rows of a picture; `top` is even."""
    shift = LAYOUTS[picture.format.layout]
    down = 1 if shift is None else 1 << shift[1]
    chroma = (plane[top // down : -(-bottom // down)] for plane in picture.planes[1:])
    return picture.changed(planes=(picture.luma[top:bottom], *chroma))

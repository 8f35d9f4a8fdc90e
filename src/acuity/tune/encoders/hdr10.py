"""HDR10 metadata of a source, the display it was mastered on and its brightest light, for encoders."""

from __future__ import annotations

import struct
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, cast

import av
from av.buffer import Buffer

from acuity.errors import InputError
from acuity.video.readers.decoder import Decoder
from acuity.video.source import open_source

# Of libavutil: x and y of red, green, blue and white, least and greatest luminance, as fractions, two flags.
_MASTERING: Final = struct.Struct("=22i")
_LIGHT: Final = struct.Struct("=2I")
_CHROMATICITY: Final = 50000  # of bitstreams
_LUMINANCE: Final = 10000

# The libraries' names for the mastering display and the light levels.
_NAMES: Final = {
    "libx264": ("mastering-display", "cll"),
    "libx265": ("master-display", "max-cll"),
    "libsvtav1": ("mastering-display", "content-light"),
}

Pair = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Hdr10:
    """Chromaticities and luminances of the mastering display, and the light levels of the content."""

    primaries: tuple[Pair, Pair, Pair, Pair] | None = None  # red, green, blue, white
    luminance: Pair | None = None  # least and greatest, in candelas a square metre
    light: tuple[int, int] | None = None  # of the brightest sample, and of the brightest frame

    def __bool__(self) -> bool:
        return bool((self.primaries and self.luminance) or self.light)

    def parameters(self, encoder: str) -> str:
        names, whole = _NAMES.get(encoder), encoder != "libsvtav1"
        if names is None:
            return ""

        def number(value: Fraction, unit: int) -> str:
            """A value as the library takes it: in the units of bitstreams, or as it is."""
            return str(round(value * unit)) if whole else f"{float(value):.6f}"

        found = []
        if self.primaries is not None and self.luminance is not None:
            red, green, blue, white = self.primaries
            points = "".join(
                f"{name}({number(x, _CHROMATICITY)},{number(y, _CHROMATICITY)})"
                for name, (x, y) in (("G", green), ("B", blue), ("R", red), ("WP", white))
            )
            least, greatest = (number(value, _LUMINANCE) for value in self.luminance)
            found.append(f"{names[0]}={points}L({greatest},{least})")
        if self.light is not None:
            found.append(f"{names[1]}={self.light[0]},{self.light[1]}")
        return ":".join(found)


def read_hdr10(path: str, stream: int | None) -> Hdr10:
    """The metadata of a container's first frame; empty if it has none."""
    # One thread, which marks damage itself: several would raise UncertainDamage, and have nothing to do.
    with closing(Decoder(open_source(path), threads=1, stream=stream)) as decoder:
        try:
            frame = next(decoder.frames(), None)
        except InputError:
            frame = None
        return of_frame(frame) if isinstance(frame, av.VideoFrame) else Hdr10()


def of_frame(frame: av.VideoFrame) -> Hdr10:
    mastering, light = (
        cast("Buffer | None", frame.side_data.get(name))
        for name in ("MASTERING_DISPLAY_METADATA", "CONTENT_LIGHT_LEVEL")
    )
    found = Hdr10()
    if mastering is not None and len(bytes(mastering)) >= _MASTERING.size:
        values = _MASTERING.unpack_from(bytes(mastering))
        ratios = [Fraction(values[at], values[at + 1] or 1) for at in range(0, 20, 2)]
        points = [(ratios[at], ratios[at + 1]) for at in range(0, 8, 2)]
        found = Hdr10(
            cast("tuple[Pair, Pair, Pair, Pair]", tuple(points)) if values[20] else None,
            (ratios[8], ratios[9]) if values[21] else None,
        )
    if light is not None and len(bytes(light)) >= _LIGHT.size:
        brightest, frames = _LIGHT.unpack_from(bytes(light))
        found = Hdr10(found.primaries, found.luminance, (brightest, frames) if brightest or frames else None)
    return found

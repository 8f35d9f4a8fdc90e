"""Writes PNG files: 8-bit RGB, and grey of 8 or 16 bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

_SRGB: Final = {"color_primaries": 1, "color_trc": 13}  # FFmpeg's numbers of BT.709 and IEC 61966-2-1
# A fast level is enough for heatmaps, which are mostly black; filtered pictures gain 2 % at level 6.
_GREY: Final = {"pred": "none", "compression_level": "1"}
_RGB: Final = {"pred": "mixed", "compression_level": "4"}


def grey_png(image: NDArray[np.uint16] | NDArray[np.uint8]) -> bytes:
    return _encoded(image, "gray" if image.dtype == np.uint8 else "gray16be", Fraction(1), _GREY, {})


def rgb_png(image: NDArray[np.uint8], aspect: Fraction | None = None) -> bytes:
    """A picture of (height, width, 3) in sRGB as a PNG file; `aspect` is that of its samples."""
    return _encoded(image, "rgb24", (aspect or Fraction(1)).limit_denominator(10_000), _RGB, _SRGB)


def _encoded(
    image: NDArray[Any], format: str, aspect: Fraction, options: dict[str, str], colours: dict[str, int]
) -> bytes:
    import av  # slow to import

    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format=format)
    for name, value in colours.items():
        setattr(frame, name, value)
    encoder = cast("Any", av.CodecContext.create("png", "w"))
    encoder.width, encoder.height = frame.width, frame.height
    encoder.pix_fmt, encoder.options = format, options
    encoder.time_base, encoder.thread_count = Fraction(1, 25), 1  # the encoder needs a rate
    # PNG has pixels per unit of length, which are fewer where samples are wide.
    encoder.sample_aspect_ratio = 1 / aspect
    return b"".join(bytes(packet) for packet in (*encoder.encode(frame), *encoder.encode(None)))

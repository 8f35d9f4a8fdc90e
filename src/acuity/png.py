"""Writes PNG files: 8-bit RGB, and grey of 8 or 16 bits."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_GREY, _RGB = 0, 2  # colour types
_ROWS: Final = 64  # filtered at once: the scratch memory stays small
_SAMPLED: Final = 16  # one row in so many decides about the filter
_SUB, _UP, _PAETH = 1, 2, 4  # filters
_PERCEPTUAL: Final = 0  # rendering intent of the sRGB chunk
_GAMMA: Final = 45455  # 1/2.2, for programs that know no sRGB chunk
# A fast level is enough for both: filtered pictures gain 2 % at level 6, and heatmaps are mostly black.
_FAST: Final = 1
_USUAL: Final = 4


def grey_png(image: NDArray[np.uint16] | NDArray[np.uint8]) -> bytes:
    """A grey image of 8 or 16 bits as a PNG file."""
    height, width = image.shape
    size = image.dtype.itemsize
    rows = np.zeros((height, 1 + size * width), np.uint8)  # each row starts with its filter: none
    rows[:, 1:] = np.ascontiguousarray(image, f">u{size}").view(np.uint8)
    return _file(width, height, 8 * size, _GREY, [], [zlib.compress(rows.tobytes(), _FAST)])


def rgb_png(image: NDArray[np.uint8], aspect: Fraction | None = None) -> bytes:
    """A picture of (height, width, 3) in sRGB as a PNG file; `aspect` is that of its samples, if not square.

    One filter is chosen for the whole picture, by the size of the differences it leaves in some of the rows.
    """
    height, width, _ = image.shape
    rows = np.ascontiguousarray(image).reshape(height, width * 3)
    filter = _best_filter(rows)
    packer = zlib.compressobj(_USUAL)
    body = [packer.compress(block) for block in _filtered(rows, filter)]
    body.append(packer.flush())
    about = [
        _chunk(b"gAMA", struct.pack(">I", _GAMMA)),
        _chunk(b"sRGB", bytes([_PERCEPTUAL])),
    ]
    if aspect is not None and aspect != 1:
        # Pixels for each unit of length, so a wide sample means fewer of them across.
        wide, high = aspect.limit_denominator(10_000).as_integer_ratio()
        about.append(_chunk(b"pHYs", struct.pack(">IIB", high, wide, 0)))
    return _file(width, height, 8, _RGB, about, body)


def _file(width: int, height: int, bits: int, colours: int, about: list[bytes], body: list[bytes]) -> bytes:
    header = struct.pack(">II5B", width, height, bits, colours, 0, 0, 0)
    chunks = [_chunk(b"IHDR", header), *about, *(_chunk(b"IDAT", data) for data in body if data)]
    return b"".join([_SIGNATURE, *chunks, _chunk(b"IEND", b"")])


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _best_filter(rows: NDArray[np.uint8]) -> int:
    picked = np.arange(1, len(rows), _SAMPLED)
    if not len(picked):
        return _SUB
    sizes = {
        filter: int(
            np.abs(_difference(rows[picked], rows[picked - 1], filter).view(np.int8), dtype=np.int16).sum()
        )
        for filter in (_SUB, _UP, _PAETH)
    }
    return min(sizes, key=sizes.__getitem__)


def _filtered(rows: NDArray[np.uint8], filter: int) -> Iterator[bytes]:
    """The filtered rows, each after the number of its filter, in blocks."""
    height, length = rows.shape
    for start in range(0, height, _ROWS):
        block = rows[start : start + _ROWS]
        above = np.zeros_like(block)
        above[1:] = block[:-1]
        if start:
            above[0] = rows[start - 1]
        out = np.empty((len(block), 1 + length), np.uint8)
        out[:, 0] = filter
        out[:, 1:] = _difference(block, above, filter)
        yield out.tobytes()


def _difference(rows: NDArray[np.uint8], above: NDArray[np.uint8], filter: int) -> NDArray[np.uint8]:
    """What is left of the rows when the filter's prediction is taken off, modulo 256."""
    if filter == _UP:
        return rows - above
    left = np.zeros_like(rows)
    left[:, 3:] = rows[:, :-3]
    if filter == _SUB:
        return rows - left
    a, b = left.astype(np.int16), above.astype(np.int16)
    c = np.zeros_like(b)
    c[:, 3:] = b[:, :-3]
    to_a, to_b = np.abs(b - c), np.abs(a - c)
    to_c = np.abs(a + b - c - c)
    nearest = np.where((to_a <= to_b) & (to_a <= to_c), a, np.where(to_b <= to_c, b, c))
    return rows - nearest.astype(np.uint8)

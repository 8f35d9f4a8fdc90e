"""PNG files: what FFmpeg's decoder reads is what was written."""

from __future__ import annotations

import io
import struct
import zlib
from fractions import Fraction

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.png import rgb_png


def decoded(data: bytes) -> NDArray[np.uint8]:
    with av.open(io.BytesIO(data), format="png_pipe") as file:
        frame = next(file.decode(video=0))
        assert isinstance(frame, av.VideoFrame)
        return frame.to_ndarray(format="rgb24")


def chunks(data: bytes) -> dict[bytes, bytes]:
    """The chunks by kind, every checksum looked at."""
    found: dict[bytes, bytes] = {}
    at = 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert data[at + 8 + length : at + 12 + length] == struct.pack(">I", zlib.crc32(kind + body))
        found[kind] = found.get(kind, b"") + body
        at += 12 + length
    return found


def noise(height: int, width: int) -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3)).astype(np.uint8)


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (7, 1), (16, 16), (63, 65), (64, 3), (129, 33)])
def test_noise_comes_back(size: tuple[int, int]) -> None:
    image = noise(*size)
    np.testing.assert_array_equal(decoded(rgb_png(image)), image)


def test_smooth_pictures_take_few_bytes() -> None:
    y, x = np.mgrid[:90, :120]
    across = np.stack([x, 255 - x, x // 2], -1).astype(np.uint8)  # rows are alike
    lines = np.stack([(y * 7919) % 251 + x // 8] * 3, -1).astype(np.uint8)  # each row has a grey of its own
    for image in (across, lines):
        data = rgb_png(image)
        np.testing.assert_array_equal(decoded(data), image)
        assert len(data) < image.size / 20


def test_a_part_of_a_larger_picture() -> None:
    image = noise(40, 50)[3:30, 5:41]
    np.testing.assert_array_equal(decoded(rgb_png(image)), image)


def test_it_is_srgb() -> None:
    found = chunks(rgb_png(noise(4, 4)))
    assert len(found[b"sRGB"]) == 1
    assert found[b"gAMA"] == struct.pack(">I", 45455)
    assert struct.unpack(">IIB", found[b"pHYs"]) == (1, 1, 0)


def test_the_aspect_of_samples_is_said() -> None:
    found = chunks(rgb_png(noise(4, 4), Fraction(64, 45)))
    assert struct.unpack(">IIB", found[b"pHYs"]) == (45, 64, 0)

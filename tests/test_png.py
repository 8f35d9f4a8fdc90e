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


def filters(data: bytes, width: int) -> set[int]:
    rows = np.frombuffer(zlib.decompress(chunks(data)[b"IDAT"]), np.uint8).reshape(-1, 1 + 3 * width)
    return set(rows[:, 0].tolist())


def noise(height: int, width: int) -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3)).astype(np.uint8)


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (7, 1), (16, 16), (63, 65), (64, 3), (129, 33)])
def test_noise_comes_back(size: tuple[int, int]) -> None:
    image = noise(*size)
    np.testing.assert_array_equal(decoded(rgb_png(image)), image)


def test_the_filter_goes_by_the_picture() -> None:
    y, x = np.mgrid[:90, :120]
    across = np.stack([x, 255 - x, x // 2], -1).astype(np.uint8)  # rows are alike
    lines = np.stack([(y * 7919) % 251 + x // 8] * 3, -1).astype(np.uint8)  # each row has a grey of its own
    found = {}
    for name, image in (("across", across), ("lines", lines)):
        data = rgb_png(image)
        np.testing.assert_array_equal(decoded(data), image)
        found[name] = filters(data, 120)
        assert len(data) < image.size / 20
    assert found == {"across": {2}, "lines": {1}}


@pytest.mark.parametrize("strength", [0, 3])
def test_paeth_comes_back(strength: int) -> None:
    y, x = np.mgrid[:150, :90]
    image = 100 + 40 * np.sin(x / 5) + 40 * np.cos(y / 7)
    image = image[..., None] + np.random.default_rng(2).normal(0, strength, (150, 90, 3))
    whole = np.clip(image, 0, 255).astype(np.uint8)
    data = rgb_png(whole)
    assert filters(data, 90) == {4}
    np.testing.assert_array_equal(decoded(data), whole)


def test_a_part_of_a_larger_picture() -> None:
    image = noise(40, 50)[3:30, 5:41]
    np.testing.assert_array_equal(decoded(rgb_png(image)), image)


def test_it_is_srgb() -> None:
    found = chunks(rgb_png(noise(4, 4)))
    assert found[b"sRGB"] == b"\0"
    assert found[b"gAMA"] == struct.pack(">I", 45455)
    assert b"pHYs" not in found
    assert list(found) == [b"IHDR", b"gAMA", b"sRGB", b"IDAT", b"IEND"]


def test_the_aspect_of_samples_is_said() -> None:
    found = chunks(rgb_png(noise(4, 4), Fraction(64, 45)))
    assert struct.unpack(">IIB", found[b"pHYs"]) == (45, 64, 0)

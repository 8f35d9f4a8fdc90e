"""Geometry: tells pictures that were shifted, zoomed, turned or flipped from those that were only coded."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from acuity.video.alignment.geometry import LEAST_GAIN, Transformation, transformation

SIZE = (320, 180)


def picture(
    size: tuple[int, int] = SIZE,
    *,
    shift: tuple[float, float] = (0.0, 0.0),
    zoom: tuple[float, float] = (1.0, 1.0),
    degrees: float = 0.0,
    depth: int = 8,
) -> np.ndarray:
    """Waves of all lengths and some discs, turned clockwise and zoomed about the centre, then shifted."""
    width, height = size
    x, y = np.meshgrid(np.arange(width) - (width - 1) / 2, np.arange(height) - (height - 1) / 2)
    x, y = (x - shift[0]) / zoom[0], (y - shift[1]) / zoom[1]
    turn = np.radians(degrees)
    x, y = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    rng = np.random.default_rng(5)
    luma = np.full(x.shape, 120.0)
    for length in np.geomspace(5, 400, 24):
        way, phase = rng.uniform(0, 2 * np.pi, 2)
        luma += 2.2 * length**0.35 * np.sin((x * np.cos(way) + y * np.sin(way)) * 2 * np.pi / length + phase)
    for _ in range(12):
        place = rng.uniform(-0.5, 0.5, 2) * size
        far = np.hypot(x - place[0], y - place[1]) - rng.uniform(6, 40)
        luma += rng.uniform(-45, 45) / (1 + np.exp(np.minimum(far, 40)))
    scale = 1 << (depth - 8)
    return np.clip(np.rint(luma * scale), 0, 256 * scale - 1).astype(np.uint8 if depth == 8 else np.uint16)


def coded(luma: np.ndarray) -> np.ndarray:
    """A picture with errors like those of an encoder, and another brightness and contrast."""
    noise = np.random.default_rng(1).normal(0, 2, luma.shape)
    return np.clip(np.rint(0.9 * luma + 20 + noise), 0, 255).astype(np.uint8)


MOVED = {
    "shifted by 1 pixel to the right": picture(shift=(1, 0)),
    "shifted by 0.5 pixels to the left": picture(shift=(-0.5, 0)),
    "shifted by 4 pixels to the left and 2 pixels down": picture(shift=(-4, 2)),
    "shifted by 40 pixels to the right and 18 pixels up": picture(shift=(40, -18)),
    "zoomed by 2 %": picture(zoom=(1.02, 1.02)),
    "zoomed by 10 %": picture(zoom=(1.1, 1.1)),
    "shrunk by 8 %": picture(zoom=(0.92, 0.92)),
    "zoomed by 6.7 % across and 5.9 % down": picture(zoom=(320 / 300, 180 / 170)),
    "zoomed by 5 % across, shifted by 8 pixels to the left": picture(zoom=(1.05, 1), shift=(-8, 0)),
    "turned by 0.6 degrees clockwise": picture(degrees=0.6),
    "turned by 4 degrees counter-clockwise": picture(degrees=-4),
    "mirrored left-right": np.fliplr(picture()),
    "mirrored top-bottom": np.flipud(picture()),
    "upside down": np.rot90(picture(), 2),
    "mirrored left-right, shifted by 3 pixels to the right": np.roll(np.fliplr(picture()), 3, axis=1),
}


@pytest.mark.parametrize("words", MOVED)
def test_a_moved_picture_is_explained_even_coded(words: str) -> None:
    for dis in (MOVED[words], coded(MOVED[words])):
        found = transformation(picture(), dis)
        assert found is not None
        assert str(found) == words
        assert found.gain >= LEAST_GAIN


def test_its_figures_are_those_of_what_was_done() -> None:
    found = transformation(picture(), picture(shift=(3.25, -1.5), zoom=(1.04, 0.98), degrees=0.8))
    assert found is not None
    expected = Transformation("", 3.25, -1.5, 1.04, 0.98, 0.8, found.gain)
    np.testing.assert_allclose(found[1:], expected[1:], atol=0.06)


def test_large_and_deep_pictures_are_measured_in_their_own_samples() -> None:
    wide = picture(depth=10).repeat(6, axis=0).repeat(6, axis=1)  # 1920 by 1080
    found = transformation(wide, np.roll(wide, (-3, 6), axis=(0, 1)))
    assert str(found) == "shifted by 6 pixels to the right and 3 pixels up"


def test_a_square_picture_may_be_turned_by_90_degrees() -> None:
    square = picture((96, 96))
    assert str(transformation(square, np.rot90(square))) == "turned by 90 degrees counter-clockwise"


PLAIN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "same": lambda luma: luma,
    "coded": coded,
    "coarse": lambda luma: luma // 24 * 24,
    "blurred": lambda luma: np.mean(
        [np.roll(luma, at, (0, 1)) for at in product((-2, 0, 2), repeat=2)], axis=0
    ),
    "noisy": lambda luma: luma + np.random.default_rng(2).normal(0, 30, luma.shape),
    "blocks": lambda luma: luma.reshape(45, 4, 80, 4).mean((1, 3)).repeat(4, axis=0).repeat(4, axis=1),
    "blank": lambda luma: np.full_like(luma, 16),
    "negative": lambda luma: 255 - luma,
    "unrelated": lambda luma: np.random.default_rng(3).integers(0, 256, luma.shape),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_picture_of_the_same_geometry_is_not(name: str) -> None:
    assert transformation(picture(), PLAIN[name](picture())) is None


def test_a_picture_that_is_symmetric_is_not_flipped() -> None:
    half = picture((160, 180))
    luma = np.hstack([half, np.fliplr(half)])
    assert transformation(luma, np.fliplr(luma)) is None
    assert str(transformation(luma, np.roll(luma, 2, axis=0))) == "shifted by 2 pixels down"


def test_tiny_pictures_are_left_alone() -> None:
    luma = picture((40, 12))
    assert transformation(luma, np.fliplr(luma)) is None

"""Made scenes with the statistics of photographs: shapes that hide each other, textures, defocus, grain.

    python tools/train_tiny/scenes.py FOLDER 40      # a PGM of the first frame of 40 scenes, to look at

A scene is a function of its number. Shapes whose sizes follow a power law and that cover each other ("dead
leaves") have the edges, flat parts and spectrum of natural pictures, which moving test patterns lack.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

SIZES: Final = ((320, 180), (352, 288), (384, 216), (416, 240), (480, 270), (512, 288), (640, 360))
RATES: Final = (24, 25, 30, 50)
FRAMES: Final = 8
TILE: Final = (256, 192)  # of a sheet; whole blocks of every encoder
SHEET_SIDE: Final = 3  # tiles across and down
_SALT: Final = 20_261  # of the random numbers; another one makes other scenes
_OVER: Final = 2  # scenes are drawn at this many times the size, so that edges are smooth and move by halves


class Layer(NamedTuple):
    """A drawn plane that moves: its samples, how opaque they are, and its speed."""

    luma: Floats
    cover: Floats | None  # None: everywhere
    speed: tuple[int, int]  # in drawn samples a frame


def sheet_of(number: int) -> tuple[list[Bytes], int]:
    """Nine scenes beside each other: they are encoded together, which takes less time, and scored apart."""
    first = 1000 + number * SHEET_SIDE**2
    tiles = [frames_of(first + n, size=TILE)[0] for n in range(SHEET_SIDE**2)]
    rows = [tiles[n : n + SHEET_SIDE] for n in range(0, len(tiles), SHEET_SIDE)]
    return [np.block([[tile[n] for tile in row] for row in rows]) for n in range(FRAMES)], 25


def frames_of(
    number: int, count: int = FRAMES, size: tuple[int, int] | None = None
) -> tuple[list[Bytes], int]:
    """The luma of a scene's frames, in limited range, and its frame rate."""
    random = np.random.default_rng((_SALT, number))
    width, height = SIZES[random.integers(len(SIZES))]
    width, height = size or (width, height)
    rate = int(random.choice(RATES))
    layers = list(_layers(random, width * _OVER, height * _OVER, count))
    sharpen = random.uniform(0.2, 1.0) if random.random() < 0.3 else 0.0
    soft = random.uniform(0.4, 1.2) if random.random() < 0.45 else 0.0
    grain = 0.3 * 10 ** random.uniform(0, 1) if random.random() < 0.5 else 0.0
    grain_size = random.uniform(0.0, 0.8)
    low, high = random.uniform(16, 50), random.uniform(130, 235)
    gamma = random.uniform(0.7, 1.6)
    bars = int(height * random.uniform(0.06, 0.13)) // 2 * 2 if random.random() < 0.08 else 0
    frames = []
    for n in range(count):
        shown = _halved(_seen(layers, n, width * _OVER, height * _OVER))
        if soft:
            shown = blurred(shown, soft)
        if sharpen:
            shown = shown + sharpen * (shown - blurred(shown, 1.0))
        shown = low + (high - low) * np.clip(shown, 0, 1) ** gamma
        if grain:
            noise = random.normal(0, 1, shown.shape)
            noise = blurred(noise, grain_size) if grain_size > 0.3 else noise
            shown = shown + grain * noise / noise.std()
        if bars:
            shown[:bars] = shown[-bars:] = 16
        frames.append(np.clip(np.rint(shown), 16, 235).astype(np.uint8))
    return frames, rate


def _layers(random: np.random.Generator, width: int, height: int, count: int) -> Iterator[Layer]:
    """The background, and up to four things before it."""
    still = random.random() < 0.4
    pan = (0, 0) if still else _speed(random, 6)
    space = 8 * count
    yield Layer(_leaves(random, width + 2 * space, height + 2 * space, _kind(random)), None, pan)
    for _ in range(int(random.integers(0, 5))):
        side = int(random.uniform(0.15, 0.6) * height)
        luma = _leaves(random, side, side, _kind(random), few=True)
        x, y = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side))
        angle, long = random.uniform(0, np.pi), random.uniform(0.4, 1)
        across, along = x * np.cos(angle) + y * np.sin(angle), (y * np.cos(angle) - x * np.sin(angle)) / long
        power = random.choice([2, 2, 4, 16])  # from an ellipse to a rectangle
        edge = 1 - (np.abs(across) ** power + np.abs(along) ** power) ** (1 / power)
        cover = np.clip(edge * side / random.choice([2, 2, 6, 20]), 0, 1)
        shading = random.uniform(0, 0.5) * np.sqrt(np.clip(1 - across**2 - along**2, 0, 1))
        placed, covering = np.zeros((height, width)), np.zeros((height, width))
        top, left = (int(random.uniform(0, full - side)) for full in (height, width))
        placed[top : top + side, left : left + side] = np.clip(luma * (1 - shading.max() / 2) + shading, 0, 1)
        covering[top : top + side, left : left + side] = cover
        yield Layer(placed, covering, (0, 0) if still else _speed(random, 16))


class Kind(NamedTuple):
    """What a plane is covered with."""

    least: float  # radius of the smallest shapes, in drawn samples
    largest: float
    shapes: int
    texture: float  # contrast of the texture on shapes
    roughness: float  # exponent of the texture's spectrum: 1 rough, 2 cloudy
    contrast: float
    stripes: float  # how many of the shapes are striped
    defocus: float


def _kind(random: np.random.Generator) -> Kind:
    least = float(np.exp(random.uniform(np.log(2), np.log(24))))
    return Kind(
        least=least,
        largest=least * float(np.exp(random.uniform(np.log(4), np.log(40)))),
        shapes=int(np.exp(random.uniform(np.log(100), np.log(2500)))),
        texture=float(random.choice([0, 0.02, 0.04, 0.08, 0.15]) * random.uniform(0.5, 1.5)),
        roughness=random.uniform(1.0, 2.0),
        contrast=random.uniform(0.25, 1.0),
        stripes=float(random.choice([0, 0, 0.1, 0.4])),
        defocus=float(random.uniform(1, 5) if random.random() < 0.15 else 0),
    )


def _leaves(random: np.random.Generator, width: int, height: int, kind: Kind, *, few: bool = False) -> Floats:
    """Shapes that hide each other, over a textured ground, 0 to 1."""
    ground = random.uniform(0.2, 0.8)
    canvas = ground + 0.3 * kind.contrast * _field(random, width, height, random.uniform(1.2, 2.2))
    texture = _field(random, width, height, kind.roughness)
    detailed = _region(random, width, height)
    texture *= detailed
    canvas += kind.texture * texture
    for _ in range(max(kind.shapes // 10, 5) if few else kind.shapes):
        # Radii with a density of r^-3 between the two bounds.
        share = random.random()
        radius = (kind.least**-2 * (1 - share) + kind.largest**-2 * share) ** -0.5
        _draw(random, canvas, texture, detailed, radius, kind, ground)
    slope = random.normal(0, 0.15, 2)
    canvas += slope[0] * np.linspace(-1, 1, width) + slope[1] * np.linspace(-1, 1, height)[:, None]
    if kind.defocus and not few:
        canvas = blurred(canvas, kind.defocus)
    return np.clip(canvas, 0, 1)


def _region(random: np.random.Generator, width: int, height: int) -> Floats:
    """Where there is detail: 1 there, 0 elsewhere. Photographs have skies and walls beside leaves."""
    if random.random() < 0.3:
        return np.ones((height, width))
    edge, level = random.uniform(0.5, 20), random.normal(0, 0.5)
    return np.clip((_field(random, width, height, random.uniform(1.8, 2.6)) - level) * edge + 0.5, 0, 1)


def _draw(
    random: np.random.Generator,
    canvas: Floats,
    texture: Floats,
    detailed: Floats,
    radius: float,
    kind: Kind,
    ground: float,
) -> None:
    """One shape: an ellipse, a rectangle or between, plain, shaded, textured or striped."""
    height, width = canvas.shape
    middle_x, middle_y = random.uniform(0, width), random.uniform(0, height)
    if detailed[int(middle_y), int(middle_x)] < 0.5:
        return
    reach = int(radius * 1.5) + 1
    left, right = max(int(middle_x) - reach, 0), min(int(middle_x) + reach, width)
    top, bottom = max(int(middle_y) - reach, 0), min(int(middle_y) + reach, height)
    if right <= left or bottom <= top:
        return
    x = (np.arange(left, right) - middle_x) / radius
    y = ((np.arange(top, bottom) - middle_y) / radius)[:, None]
    angle, long = random.uniform(0, np.pi), random.uniform(0.3, 1)
    across, along = x * np.cos(angle) + y * np.sin(angle), (y * np.cos(angle) - x * np.sin(angle)) / long
    inside = np.maximum(abs(across), abs(along)) < 1 if random.random() < 0.4 else across**2 + along**2 < 1
    tone = ground + kind.contrast * random.uniform(-0.5, 0.5)
    shade = tone + random.normal(0, 0.08) * across + random.normal(0, 0.08) * along
    shade = shade + kind.texture * random.choice([0, 1, 1, 2]) * texture[top:bottom, left:right]
    if random.random() < kind.stripes:
        cycles = random.uniform(0.5, max(radius / 5, 1))
        shade = shade + random.uniform(0.02, 0.2) * np.sign(np.sin(across * cycles * np.pi))
    canvas[top:bottom, left:right][inside] = shade[inside]


def _field(random: np.random.Generator, width: int, height: int, exponent: float) -> Floats:
    """Noise whose amplitude falls with frequency to the exponent; its deviation is 1."""
    spectrum = np.fft.rfft2(random.normal(0, 1, (height, width)))
    distance = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width))
    distance[0, 0] = np.inf
    made = np.fft.irfft2(spectrum / distance**exponent, (height, width))
    return made / made.std()


def _speed(random: np.random.Generator, most: int) -> tuple[int, int]:
    return int(random.integers(-most, most + 1)), int(random.integers(-most // 2, most // 2 + 1))


def _seen(layers: list[Layer], n: int, width: int, height: int) -> Floats:
    """The layers at a frame, each moved, the later ones before the earlier."""
    back = layers[0]
    top, left = ((full - seen) // 2 for full, seen in zip(back.luma.shape, (height, width), strict=True))
    top, left = top + back.speed[1] * n, left + back.speed[0] * n
    shown = back.luma[top : top + height, left : left + width]
    for layer in layers[1:]:
        assert layer.cover is not None
        moved = (layer.speed[1] * n, layer.speed[0] * n)
        luma, cover = (np.roll(plane, moved, (0, 1)) for plane in (layer.luma, layer.cover))
        shown = shown * (1 - cover) + luma * cover
    return shown


def _halved(picture: Floats) -> Floats:
    return (picture[::2, ::2] + picture[1::2, ::2] + picture[::2, 1::2] + picture[1::2, 1::2]) / 4


def blurred(picture: Floats, deviation: float) -> Floats:
    """A Gaussian blur, its borders repeated."""
    reach = max(int(np.ceil(3 * deviation)), 1)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    weights /= weights.sum()
    for axis in (0, 1):
        padding = [(reach, reach) if a == axis else (0, 0) for a in (0, 1)]
        wide = np.pad(picture, padding, mode="edge")
        length = picture.shape[axis]
        picture = sum(
            weight * np.take(wide, range(at, at + length), axis) for at, weight in enumerate(weights)
        )
    return picture


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes the first frames of scenes as PGM pictures.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    arguments = parser.parse_args()
    for number in range(arguments.count):
        first = frames_of(number, 1)[0][0]
        head = f"P5 {first.shape[1]} {first.shape[0]} 255\n".encode()
        (arguments.folder / f"scene-{number:03d}.pgm").write_bytes(head + first.tobytes())

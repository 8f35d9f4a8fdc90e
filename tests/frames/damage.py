"""Pictures with one known artefact each: contents, and ways to damage them.

A content is a function of a frame's number that gives planes in levels of 8 bits, as floats: luma, and chroma
of the same size. A damage changes such planes. `made` makes an ExaminedFrame of both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.Image import Resampling
from scipy.ndimage import correlate1d, gaussian_filter

from acuity.features.extractor import Pair
from acuity.frames.artefacts.measure import ExaminedFrame
from acuity.video.picture import LAYOUTS, Picture, PixelFormat

Planes = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
Content = Callable[[int], Planes]
Damage = Callable[[Planes], Planes]


# Filters ------------------------------------------------------------------------------------------


def along(plane: NDArray[Any], kernel: NDArray[Any], axis: int) -> NDArray[Any]:
    """A plane filtered along an axis, with the border repeated."""
    return np.asarray(correlate1d(plane, kernel, axis, mode="nearest"))


def gaussian(plane: NDArray[Any], sigma: float) -> NDArray[Any]:
    return np.asarray(gaussian_filter(plane, sigma, mode="nearest", truncate=3.0))


def random_field(shape: tuple[int, int], power: float, seed: int) -> NDArray[Any]:
    """Noise whose amplitude falls with frequency to a power; mean 0, deviation 1."""
    spectrum = np.fft.rfft2(np.random.default_rng(seed).normal(size=shape))
    fy, fx = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :]
    frequency = np.hypot(fy, fx)
    frequency[0, 0] = 1
    field = np.fft.irfft2(spectrum / frequency**power, s=shape)
    return np.asarray((field - field.mean()) / field.std())


# Contents -----------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _panorama(kind: str, width: int, height: int, seed: int) -> Planes:
    """A picture wider than the content's window, which moves over it."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    rng = np.random.default_rng(seed)
    if kind == "texture":
        luma = 110 + 26 * random_field((height, width), 1.0, seed)
        luma += 6 * random_field((height, width), 0.2, seed + 1)
        luma += 45 * (np.sin(x / 37 + seed) + np.cos(y / 29) > 0.4)
        u, v = (128 + 14 * random_field((height, width), 1.6, seed + 2 + n) for n in range(2))
    elif kind == "gradient":  # smooth, with a few soft and sharp things in it
        luma = 60 + 70 * x / width + 55 * y / height + 14 * np.sin(x / 131 + seed) * np.cos(y / 97)
        for _ in range(4):
            cy, cx, r = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(0.06, 0.12) * height
            luma = np.where(np.hypot(y - cy, x - cx) < r, luma * 0.5 + 20, luma)
        luma = luma + rng.uniform(-0.5, 0.5, luma.shape)
        u, v = 118 + 20 * x / width, 134 - 18 * y / height
    elif kind == "cartoon":  # flat areas with sharp edges
        luma, u, v = np.full(x.shape, 150.0), np.full(x.shape, 128.0), np.full(x.shape, 128.0)
        for _ in range(60):
            top, left = rng.integers(0, height), rng.integers(0, width)
            tall, wide = rng.integers(5, max(6, height // 4)), rng.integers(5, max(6, height // 3))
            slanted = (x - left) * rng.uniform(-0.6, 0.6)
            inside = (y - top + slanted > 0) & (y - top + slanted < tall) & (x >= left) & (x < left + wide)
            tone, cu, cv = rng.uniform(30, 220), rng.uniform(98, 158), rng.uniform(98, 158)
            luma, u, v = np.where(inside, tone, luma), np.where(inside, cu, u), np.where(inside, cv, v)
        luma, u, v = gaussian(luma, 0.6), gaussian(u, 0.8), gaussian(v, 0.8)
    elif kind == "clouds":  # smooth everywhere
        luma = 120 + 32 * random_field((height, width), 2.6, seed)
        luma = luma + rng.normal(0, 0.35, luma.shape)
        u, v = (128 + 8 * random_field((height, width), 2.4, seed + 2 + n) for n in range(2))
    elif kind == "city":  # houses with windows before a sky
        luma = 190 - 60 * y / height + rng.normal(0, 0.6, x.shape)
        u, v = 150 - 14 * y / height, np.full(x.shape, 112.0)
        left = 0
        while left < width:
            wide, top = int(rng.integers(24, 70)), int(rng.uniform(0.25, 0.7) * height)
            part = (slice(top, height), slice(left, left + wide))
            house = rng.uniform(50, 140) + 5 * random_field((height, width), 0.7, left + seed)[part]
            panes = (x[part] % rng.integers(9, 15) < 5) & (y[part] % rng.integers(10, 17) < 7)
            luma[part] = np.where(panes, rng.uniform(20, 200), house)
            u[part], v[part] = rng.uniform(108, 132), rng.uniform(124, 150)
            left += wide
        luma, u, v = gaussian(luma, 0.5), gaussian(u, 1.0), gaussian(v, 1.0)
    else:  # "foliage": fine texture all over, with dark gaps
        luma = 96 + 22 * random_field((height, width), 0.6, seed)
        luma = np.where(random_field((height, width), 1.3, seed + 1) > 0.7, luma * 0.35, luma)
        luma += 14 * random_field((height, width), 1.8, seed + 2)
        u, v = (118 + 6 * random_field((height, width), 1.4, seed + 3 + n) for n in range(2))
    return luma, u, v


def synthetic(kind: str, width: int, height: int, seed: int = 1) -> Content:
    """A window that moves over a made picture, by three samples right and one down a frame."""

    def at(index: int) -> Planes:
        luma, u, v = _panorama(kind, width + 48, height + 16, seed)
        part = (slice(index, index + height), slice(3 * index, 3 * index + width))
        return luma[part], u[part], v[part]

    return at


def of_pictures(pictures: list[Picture]) -> Content:
    """Decoded pictures. A single one moves, and loses 48 columns and 16 rows for that."""

    def at(index: int) -> Planes:
        picture = pictures[min(index, len(pictures) - 1)]
        height, width = picture.luma.shape
        scale = float(1 << (picture.format.depth - 8))
        planes = [plane / scale for plane in picture.planes]
        shift = LAYOUTS[picture.format.layout]
        if shift is None:
            planes += [np.full((height, width), 128.0)] * 2
        else:
            for number in (1, 2):
                repeated = planes[number].repeat(1 << shift[1], axis=0).repeat(1 << shift[0], axis=1)
                planes[number] = repeated[:height, :width]
        if len(pictures) == 1:
            part = (slice(index, index + height - 16), slice(3 * index, 3 * index + width - 48))
            planes = [plane[part] for plane in planes]
        return planes[0], planes[1], planes[2]

    return at


def soft(content: Content, sigma: float = 7.0) -> Content:
    """A content out of focus: gradients of a real picture."""
    return lambda index: tuple(gaussian(plane, sigma) for plane in content(index))  # type: ignore[return-value]


# Damages ------------------------------------------------------------------------------------------


def on_luma(change: Callable[[NDArray[Any]], NDArray[Any]]) -> Damage:
    return lambda planes: (change(planes[0]), planes[1], planes[2])


def _blocks(shape: tuple[int, int], side: int, phase: int) -> NDArray[Any]:
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]]
    columns = (shape[1] + phase) // side + 1
    return np.asarray((y + phase) // side * columns + (x + phase) // side)


def mosaic(side: int, share: float, phase: int = 0) -> Damage:
    """Blocks nearer to their mean."""

    def change(luma: NDArray[Any]) -> NDArray[Any]:
        blocks = _blocks(luma.shape, side, phase)
        counts = np.bincount(blocks.ravel())
        means = np.bincount(blocks.ravel(), luma.ravel()) / np.maximum(counts, 1)
        return np.asarray(luma + share * (means[blocks] - luma))

    return on_luma(change)


def block_offsets(side: int, levels: float, phase: int = 0) -> Damage:
    """Blocks brighter or darker by chance."""

    def change(luma: NDArray[Any]) -> NDArray[Any]:
        blocks = _blocks(luma.shape, side, phase)
        offsets = np.random.default_rng(side).uniform(-levels, levels, int(blocks.max()) + 1)
        return np.asarray(luma + offsets[blocks])

    return on_luma(change)


def transform_coded(step: float, side: int = 8) -> Damage:
    """Blocks whose cosine transform is quantised, coarser for higher frequencies: an early image codec."""
    k = np.arange(side)
    cosine = np.cos(np.pi * (2 * k[None, :] + 1) * k[:, None] / (2 * side)) * np.sqrt(2 / side)
    cosine[0] /= np.sqrt(2)
    steps = step * (1 + 0.35 * (k[:, None] + k[None, :]))

    def change(luma: NDArray[Any]) -> NDArray[Any]:
        height, width = luma.shape
        padded = np.pad(luma, ((0, -height % side), (0, -width % side)), mode="edge")
        rows, columns = padded.shape[0] // side, padded.shape[1] // side
        blocks = padded.reshape(rows, side, columns, side).transpose(0, 2, 1, 3)
        coefficients = cosine @ (blocks - 128) @ cosine.T
        blocks = cosine.T @ (np.rint(coefficients / steps) * steps) @ cosine + 128
        return np.asarray(blocks.transpose(0, 2, 1, 3).reshape(padded.shape)[:height, :width])

    return on_luma(change)


def blurred(sigma: float) -> Damage:
    return on_luma(lambda luma: gaussian(luma, sigma))


def box_blurred(side: int) -> Damage:
    kernel = np.full(side, 1 / side)
    return on_luma(lambda luma: along(along(luma, kernel, 0), kernel, 1))


def scaled_down(factor: int) -> Damage:
    """Smaller and back, with straight lines between samples."""
    return on_luma(lambda luma: _resized(luma, factor, Resampling.BOX, Resampling.BILINEAR))


def rescaled(factor: int) -> Damage:
    """Smaller and back, by windowed sines of three lobes (Lanczos)."""
    return on_luma(
        lambda luma: np.clip(_resized(luma, factor, Resampling.LANCZOS, Resampling.LANCZOS), 0, 255)
    )


def _resized(luma: NDArray[Any], factor: int, down: Resampling, back: Resampling) -> NDArray[Any]:
    height, width = luma.shape
    small = Image.fromarray(luma.astype(np.float32)).resize((width // factor, height // factor), down)
    return np.asarray(small.resize((width, height), back), np.float64)


def ringing(strength: float, frequency: float = 0.27, decay: float = 3.0) -> Damage:
    """Swings beside edges that die away."""
    n = np.arange(-12, 13)
    kernel = np.cos(2 * np.pi * frequency * n) * np.exp(-np.abs(n) / decay)
    kernel -= np.exp(-np.abs(n) / decay) * kernel.sum() / np.exp(-np.abs(n) / decay).sum()
    return on_luma(lambda luma: luma + strength * (along(luma, kernel, 0) + along(luma, kernel, 1)))


def oversharpened(strength: float, sigma: float = 1.2) -> Damage:
    return on_luma(lambda luma: luma + strength * (luma - gaussian(luma, sigma)))


def banded(step: float) -> Damage:
    return on_luma(lambda luma: np.rint(luma / step) * step)


def noisy(sigma: float, seed: int = 9) -> Damage:
    return on_luma(lambda luma: luma + np.random.default_rng(seed).normal(0, sigma, luma.shape))


def grainy(sigma: float, seed: int = 9) -> Damage:
    """Noise of which neighbouring samples share some."""

    def change(luma: NDArray[Any]) -> NDArray[Any]:
        grain = gaussian(np.random.default_rng(seed).normal(size=luma.shape), 0.7)
        return np.asarray(luma + sigma * grain / grain.std())

    return on_luma(change)


def salt_and_pepper(share: float) -> Damage:
    def change(luma: NDArray[Any]) -> NDArray[Any]:
        rng = np.random.default_rng(4)
        hit = rng.uniform(size=luma.shape) < share
        return np.where(hit, rng.choice((20.0, 230.0), luma.shape), luma)

    return on_luma(change)


def cast(u: float, v: float) -> Damage:
    return lambda planes: (planes[0], planes[1] + u, planes[2] + v)


def warm(gain: float) -> Damage:
    """More red and less blue."""

    def change(planes: Planes) -> Planes:
        y, u, v = planes[0], planes[1] - 128, planes[2] - 128
        red, green, blue = y + 1.5748 * v, y - 0.1873 * u - 0.4681 * v, y + 1.8556 * u
        red, blue = red * (1 + gain), blue * (1 - gain)
        y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        return y, (blue - y) / 1.8556 + 128, (red - y) / 1.5748 + 128

    return change


def brighter(levels: float) -> Damage:
    return on_luma(lambda luma: luma + levels)


def full_to_limited(planes: Planes) -> Planes:
    """A mistake with ranges."""
    u, v = (128 + (plane - 128) * 224 / 255 for plane in planes[1:])
    return 16 + planes[0] * 219 / 255, u, v


def limited_to_full(planes: Planes) -> Planes:
    u, v = (128 + (plane - 128) * 255 / 224 for plane in planes[1:])
    return (planes[0] - 16) * 255 / 219, u, v


def gamma(power: float) -> Damage:
    return on_luma(lambda luma: 16 + 219 * np.clip((luma - 16) / 219, 0, 1) ** power)


def only_in(box: tuple[int, int, int, int], damage: Damage) -> Damage:
    """A damage in a rectangle: x, y, width, height."""
    x, y, width, height = box

    def change(planes: Planes) -> Planes:
        out = tuple(plane.copy() for plane in planes)
        for plane, worse in zip(out, damage(planes), strict=True):
            plane[y : y + height, x : x + width] = worse[y : y + height, x : x + width]
        return out  # type: ignore[return-value]

    return change


# Frames -------------------------------------------------------------------------------------------


def picture(planes: Planes, layout: str = "420", depth: int = 8) -> Picture:
    """Levels as samples, with chroma of the layout."""
    form = PixelFormat(layout, depth)
    shift, peak = LAYOUTS[layout], (1 << depth) - 1
    kept = [planes[0]]
    if shift is not None:
        step_x, step_y = 1 << shift[0], 1 << shift[1]
        for plane in planes[1:]:
            wide = np.pad(plane, ((0, -plane.shape[0] % step_y), (0, -plane.shape[1] % step_x)), mode="edge")
            tiles = wide.reshape(wide.shape[0] // step_y, step_y, wide.shape[1] // step_x, step_x)
            kept.append(tiles.mean(axis=(1, 3)))
    scale = 1 << (depth - 8)
    return Picture(tuple(np.clip(np.rint(p * scale), 0, peak).astype(form.dtype) for p in kept), form)


def made(
    content: Content,
    damage: Damage,
    layout: str = "420",
    depth: int = 8,
    full_range: bool = False,
    *,
    index: int = 2,
) -> ExaminedFrame:
    """A frame with a damage, and the pair before, damaged too."""
    ref, before = content(index), content(index - 1)
    shown, last = (
        (picture(one, layout, depth), picture(damage(one), layout, depth)) for one in (ref, before)
    )
    return ExaminedFrame(*shown, Pair(*last), index=index, full_range=full_range)


def frozen(content: Content, *, depth: int = 8, since: int = 1, index: int = 6) -> ExaminedFrame:
    """A frame whose distorted picture is that of a frame before, like the one before it."""
    ref, before, still = (picture(content(index - n), depth=depth) for n in (0, 1, since))
    return ExaminedFrame(ref, still, Pair(before, still), index=index)

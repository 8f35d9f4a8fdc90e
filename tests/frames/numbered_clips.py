"""Clips whose frames carry their own number, some of them damaged, and reading that number from a picture."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

import video_clips

WIDTH, HEIGHT, FRAMES = 128, 96, 16
BITS, BAND = 8, 24  # columns of the number, and rows of the band with it
DAMAGED = (4, 9, 13)
GREY = 128

Planes = list[NDArray[np.uint8]]


@functools.cache
def _scene() -> NDArray[np.float64]:
    scene = np.random.default_rng(3).normal(0, 1, (HEIGHT + 80, WIDTH + 120))
    for axis in (0, 1):
        scene = np.apply_along_axis(np.convolve, axis, scene, np.ones(5) / 5, "same")
    return scene


def luma(number: int, *, damaged: bool = False, worn: bool = False) -> NDArray[np.uint8]:
    """A drifting texture under a band with the number's bits; damage is noise, wear is one sample."""
    picture = 120 + 90 * _scene()[number : number + HEIGHT, 2 * number : 2 * number + WIDTH]
    picture += np.random.default_rng(number).normal(0, 1.5, picture.shape)
    if damaged:
        picture[BAND:] += np.random.default_rng(99 - number).normal(0, 20 + number, (HEIGHT - BAND, WIDTH))
    elif worn:
        picture[HEIGHT // 2, WIDTH // 2] += 1
    bits = [(number >> bit) & 1 for bit in range(BITS)]
    picture[:BAND] = np.repeat(np.array(bits) * 130 + 60, WIDTH // BITS)
    return np.clip(picture, 16, 235).astype(np.uint8)


def number_of(picture: NDArray[np.uint8]) -> int:
    """The number in a picture's band, which may be scaled or cut at its edges."""
    height, width = picture.shape[:2]
    row = picture[height // 10, :, 1]
    middles = [int((bit + 0.5) * width / BITS) for bit in range(BITS)]
    return sum(1 << bit for bit, x in enumerate(middles) if row[x] > 120)


@functools.lru_cache(maxsize=256)
def planes(number: int, *, damaged: bool = False, worn: bool = False) -> Planes:
    """The frame in 4:2:0, with colours that drift too; not to be written to."""
    rows, columns = HEIGHT // 2, WIDTH // 2
    x = np.arange(columns)[None] + number
    y = np.arange(rows)[:, None]
    blue, red = 128 + 30 * np.sin((x + y) / 9), 128 + 30 * np.cos((x - 2 * y) / 11)
    return [
        luma(number, damaged=damaged, worn=worn),
        *(np.rint(plane).astype(np.uint8) for plane in (blue, red)),
    ]


def clip(
    numbers: Iterable[int] = range(FRAMES),
    damaged: Sequence[int] = (),
    half: bool = False,
    worn: bool = False,
) -> list[Planes]:
    """Frames by number; `half` has every second sample of each; `worn` ones differ a little."""
    step = 2 if half else 1
    return [
        [plane[::step, ::step].copy() for plane in planes(n, damaged=n in damaged, worn=worn)]
        for n in numbers
    ]


def y4m(path: Path, frames: list[Planes], rate: str = "25:1") -> Path:
    height, width = frames[0][0].shape
    body = b"".join(b"FRAME\n" + b"".join(plane.tobytes() for plane in frame) for frame in frames)
    path.write_bytes(f"YUV4MPEG2 W{width} H{height} F{rate} Ip C420jpeg\n".encode() + body)
    return path


def container(path: Path, frames: list[Planes], rate: int = 25, codec: str = "ffv1", **options: Any) -> Path:
    """The frames in a container; `options` are those of the encoder."""
    height, width = frames[0][0].shape
    shown = []
    for planes in frames:
        made = av.VideoFrame(width, height, "yuv420p")
        for plane, samples in zip(made.planes, planes, strict=True):
            rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
            rows[:, : samples.shape[1]] = samples
        shown.append(made)
    return video_clips.clip(path, shown, codec=codec, pix_fmt="yuv420p", rate=rate, options=options)


Writer = Callable[[Path, list[Planes]], Path]


def pair(folder: Path, write: Writer = y4m, suffix: str = "y4m", **changes: Any) -> tuple[Path, Path]:
    """A reference, and a distorted clip with three damaged frames, the last of them the worst."""
    return (
        write(folder / f"ref.{suffix}", clip()),
        write(folder / f"dis.{suffix}", clip(**{"damaged": DAMAGED, "worn": True, **changes})),
    )


def read_png(path: Path) -> NDArray[np.uint8]:
    """A PNG file as FFmpeg's decoder reads it, as (height, width, 3)."""
    with av.open(str(path)) as file:
        frame = next(file.decode(video=0))
        assert isinstance(frame, av.VideoFrame)
        assert frame.format.name == "rgb24"
        return frame.to_ndarray()

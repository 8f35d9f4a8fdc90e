"""Small videos of known colours, and the arithmetic of ITU-T H.273 that says what their samples are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import av
import numpy as np

from video_clips import clip

SIZE = (96, 64)

# H.273's numbers for matrices, and the weights of red and blue in luma.
MATRICES = {"bt709": (1, 0.2126, 0.0722), "smpte170m": (6, 0.299, 0.114), "bt2020nc": (9, 0.2627, 0.0593)}
TAGS = {name: code for name, (code, _, _) in MATRICES.items()}


def colours(number: int = 0, size: tuple[int, int] = SIZE) -> np.ndarray:
    """Red, green and blue of 0 to 1, rows first: hues that change over picture and time."""
    width, height = size
    x, y = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    waves = (np.sin(5 * x + 0.3 * number), np.cos(4 * y - 0.2 * number), np.sin(3 * (x + y) + 0.5 * number))
    return np.stack([0.5 + 0.4 * wave for wave in waves], axis=-1)


def to_yuv(rgb: np.ndarray, matrix: str, *, full: bool = False, depth: int = 8) -> np.ndarray:
    """Samples as they would be without rounding, planes first."""
    _, kr, kb = MATRICES[matrix]
    red, green, blue = (rgb[..., channel] for channel in range(3))
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    chroma = (blue - luma) / (2 * (1 - kb)), (red - luma) / (2 * (1 - kr))
    unit, top = 1 << (depth - 8), (1 << depth) - 1
    if full:
        return np.stack([luma * top, *(part * top + (top + 1) / 2 for part in chroma)])
    return np.stack([(16 + 219 * luma) * unit, *((128 + 224 * part) * unit for part in chroma)])


def yuv_clip(path: Path, frames: Iterable[np.ndarray], matrix: str | None = None, **settings: Any) -> Path:
    """A lossless video of 4:4:4 samples, which are rounded."""
    settings = {"codec": "ffv1", "pix_fmt": "yuv444p", "color_range": 1, **settings}
    if matrix is not None:
        settings["colorspace"] = TAGS[matrix]
    deep = "yuv444p10le" if settings["pix_fmt"].endswith("10le") else "yuv444p"
    return clip(path, [_frame(np.rint(planes), deep) for planes in frames], **settings)


def _frame(planes: np.ndarray, pix_fmt: str) -> av.VideoFrame:
    frame = av.VideoFrame(planes.shape[2], planes.shape[1], pix_fmt)
    kind = np.uint16 if pix_fmt.endswith("10le") else np.uint8
    for plane, samples in zip(frame.planes, planes, strict=True):
        rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size).view(kind)
        rows[:, : plane.width] = samples
    return frame


def rgb_clip(path: Path, frames: Iterable[np.ndarray], **settings: Any) -> Path:
    """A video of RGB, rounded to 8 bit."""
    made = [av.VideoFrame.from_ndarray(np.rint(rgb * 255).astype(np.uint8), "rgb24") for rgb in frames]
    return clip(path, made, **{"codec": "ffv1", "pix_fmt": "bgr0", **settings})

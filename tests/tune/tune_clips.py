"""Makes the small clips that the tests of tuning encode."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def picture(frame: int, width: int, height: int, seed: int = 1) -> np.ndarray:
    """Luma of a texture that moves over a wave that moves the other way."""
    rows, columns = np.mgrid[0:height, 0:width]
    grain = np.random.default_rng(seed).integers(0, 60, (height, width))
    wave = 60 * np.sin((columns + 3 * frame) / 17) + 40 * np.cos((rows - 2 * frame) / 11)
    return (113 + wave + np.roll(grain, 2 * frame, 1) / 2).clip(16, 235).astype(np.uint8)


def write_y4m(
    path: Path, frames: int = 30, width: int = 160, height: int = 96, *, rate: str = "25:1", seed: int = 1
) -> Path:
    """A Y4M clip of 4:2:0."""
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F{rate} Ip A1:1 C420\n".encode())
        chroma = ((height + 1) // 2) * ((width + 1) // 2)
        for frame in range(frames):
            file.write(b"FRAME\n" + picture(frame, width, height, seed).tobytes())
            file.write(bytes([100 + frame % 50]) * chroma + bytes([150 - frame % 50]) * chroma)
    return path

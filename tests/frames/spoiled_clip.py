"""A short raw clip whose frames are spoiled more and more, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HEIGHT, FRAMES = 96, 64, 6
WORST = 3  # the frame that is spoiled most


def luma(index: int, *, spoiled: bool) -> np.ndarray:
    """The brightness of a frame: waves that move; spoiled, it is flat in squares, in one frame large ones."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = 128 + 60 * np.sin((columns + 3 * index) / 5) + 40 * np.cos(rows / 3)
    if spoiled:
        side = 16 if index == WORST else 2
        waves = waves.reshape(HEIGHT // side, side, WIDTH // side, side).mean((1, 3))
        waves = waves.repeat(side, 0).repeat(side, 1)
    return np.clip(np.rint(waves), 16, 235).astype(np.uint8)


def write_pair(folder: Path, frames: int = FRAMES) -> dict[str, Any]:
    """Write both clips; returns the arguments of a tool that compares them."""
    grey = np.full(HEIGHT * WIDTH // 2, 128, np.uint8).tobytes()
    for name, spoiled in (("ref.yuv", False), ("dis.yuv", True)):
        with (folder / name).open("wb") as file:
            for index in range(frames):
                file.write(luma(index % FRAMES, spoiled=spoiled).tobytes() + grey)
    geometry = {"width": WIDTH, "height": HEIGHT, "pixfmt": "420", "bitdepth": 8}
    return {"ref": str(folder / "ref.yuv"), "dis": str(folder / "dis.yuv"), **geometry}

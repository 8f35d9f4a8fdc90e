"""Clips for benchmarks: textured, moving, and visibly degraded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acuity.video.made_up import moving_pairs
from acuity.video.picture import Picture


@dataclass(frozen=True)
class Clip:
    """A pair of raw 4:2:0 files of the same geometry."""

    name: str
    width: int
    height: int
    depth: int
    frames: int
    ref: Path
    dis: Path

    @property
    def geometry(self) -> list[str]:
        return ["-w", str(self.width), "-h", str(self.height), "-p", "420", "-b", str(self.depth)]


def make_clip(folder: Path, name: str, width: int, height: int, depth: int, frames: int) -> Clip:
    """Write both files unless an earlier run has left them."""
    clip = Clip(name, width, height, depth, frames, folder / f"{name}_ref.yuv", folder / f"{name}_dis.yuv")
    size = width * height * 3 // 2 * (1 if depth == 8 else 2) * frames
    if all(p.exists() and p.stat().st_size == size for p in (clip.ref, clip.dis)):
        return clip
    made = [tuple(map(_samples, pair)) for pair in moving_pairs(width, height, depth, min(frames, _UNIQUE))]
    with clip.ref.open("wb") as ref, clip.dis.open("wb") as dis:
        for index in range(frames):
            for file, data in zip((ref, dis), made[index % _UNIQUE], strict=True):
                file.write(data)
    return clip


_UNIQUE = 24  # frames before the clip starts over


def _samples(picture: Picture) -> bytes:
    return b"".join(plane.tobytes() for plane in picture.planes)

"""Generated pairs of pictures for probes and benchmarks: no files, little memory, always the same.

A clip is a window that moves over a tall texture, so each frame is a view and costs nothing. The distorted
frames come from worse copies of the texture in turn, so that scores differ from frame to frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from acuity.video.picture import Picture, PixelFormat

Plane: TypeAlias = NDArray[np.uint8]
Pair: TypeAlias = tuple[Picture, Picture]

GREY: Final = 128
_LUMA: Final = PixelFormat("400", 8)
_TRAVEL: Final = 128  # rows that the window moves over
_PACE: Final = 0.09  # up to six rows a frame
_CELLS: Final = ((1, 6), (3, 12), (16, 26), (64, 40))  # size and strength of the texture's layers
_COARSER: Final = (6, 10, 18)  # steps of grey that the worse copies are left with


@dataclass(frozen=True)
class Clip:
    """A reference and a distorted video of one size, 8 bit, with access to any frame."""

    width: int
    height: int
    frames: int

    @property
    def name(self) -> str:
        return f"{self.width}x{self.height}"

    @property
    def raw_bytes(self) -> int:
        """The bytes of one frame in a 4:2:0 file."""
        return PixelFormat("420", 8).frame_bytes(self.width, self.height)

    def pairs(self, frames: int | None = None) -> Iterator[Pair]:
        for index in range(self.frames if frames is None else frames):
            yield self.pair(index)

    def pair(self, index: int) -> Pair:
        row = round(_TRAVEL / 2 * (1 - math.cos(index * _PACE)))
        worse = self._worse[index % len(self._worse)]
        reference, distorted = (plane[row : row + self.height] for plane in (self._texture, worse))
        return Picture((reference,), _LUMA), Picture((distorted,), _LUMA)

    def write(self, reference: BinaryIO, distorted: BinaryIO, frames: int) -> None:
        """Write the first frames as raw 4:2:0, for programs that read files."""
        chroma = bytes([GREY]) * (self.raw_bytes - self.width * self.height)
        for pair in self.pairs(frames):
            for file, picture in zip((reference, distorted), pair, strict=True):
                file.write(picture.luma.tobytes())
                file.write(chroma)

    @cached_property
    def _texture(self) -> Plane:
        """Noise at several scales, almost flat at the left edge and busy at the right."""
        rows, columns = self.height + _TRAVEL, self.width
        random = np.random.default_rng(columns)
        total = np.full((rows, columns), GREY, np.int16)
        busy = np.linspace(1, 16, columns).astype(np.int16)
        for cell, strength in _CELLS:
            shape = (-(-rows // cell), -(-columns // cell))
            layer = random.integers(-strength, strength + 1, shape, np.int16)
            total += (layer.repeat(cell, 0).repeat(cell, 1)[:rows, :columns] * busy) >> 4
        return np.clip(total, 0, 255).astype(np.uint8)

    @cached_property
    def _worse(self) -> tuple[Plane, ...]:
        """The texture, softened and with fewer steps of grey, as encoding leaves it."""
        soft = self._texture.astype(np.uint16)
        soft[:, 1:-1] = (soft[:, :-2] + 2 * soft[:, 1:-1] + soft[:, 2:]) >> 2
        soft[1:-1] = (soft[:-2] + 2 * soft[1:-1] + soft[2:]) >> 2
        return tuple((soft // step * step + step // 2).clip(0, 255).astype(np.uint8) for step in _COARSER)


class GreyClip(Clip):
    """A clip whose pictures are all mid-grey, for the quickest possible score."""

    def pair(self, index: int) -> Pair:
        return self._grey, self._grey

    @cached_property
    def _grey(self) -> Picture:
        return Picture((np.full((self.height, self.width), GREY, np.uint8),), _LUMA)

"""Geometry of a raw file from its name: 'src01_hrc00_576x324.yuv420p10le.yuv'."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from acuity.video.picture import PixelFormat

_SIZE: Final = re.compile(r"(?<![0-9])([1-9][0-9]{1,4})x([1-9][0-9]{1,4})(?![0-9])")
_FORMAT: Final = re.compile(r"(?<![0-9])(400|420|422|444)(?:p?(10|12|14|16)(?:le)?)?(?![0-9])")
_DEPTH: Final = re.compile(r"(?<![0-9a-z])(8|10|12|14|16)[-_]?b(?:its?|pc|pp)?(?![0-9a-z])")


@dataclass(frozen=True, slots=True)
class Geometry:
    width: int
    height: int
    format: PixelFormat

    def __str__(self) -> str:
        return f"{self.width}x{self.height} {self.format.layout} at {self.format.depth} bit"


def guess_geometry(path: str | os.PathLike[str]) -> Geometry | None:
    """What a name says; 4:2:0 and 8 bit where it says only the size, None where not even that."""
    name = os.path.basename(os.fspath(path)).lower()
    size = _SIZE.search(name)
    if size is None:
        return None
    rest = f"{name[: size.start()]} {name[size.end() :]}"
    format = _FORMAT.search(rest)
    depth = _DEPTH.search(rest)
    bits = (format and format[2]) or (depth and depth[1]) or "8"
    return Geometry(int(size[1]), int(size[2]), PixelFormat(format[1] if format else "420", int(bits)))

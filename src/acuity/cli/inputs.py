"""Which geometry goes with which file of a pair, and opening both."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from acuity.cli.guess import RAW_SUFFIXES, guess_geometry
from acuity.video.guess import Geometry
from acuity.video.picture import PixelFormat

if TYPE_CHECKING:
    from acuity.video.reader import VideoReader


@dataclass(frozen=True, slots=True)
class RawGeometry:
    """What the command line says about raw input; None: not said."""

    width: int | None = None
    height: int | None = None
    layout: str | None = None
    depth: int | None = None

    @property
    def complete(self) -> bool:
        return None not in (self.width, self.height, self.layout, self.depth)

    @property
    def said(self) -> bool:
        return any(v is not None for v in (self.width, self.height, self.layout, self.depth))


def is_raw_name(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in RAW_SUFFIXES


def geometries(paths: tuple[str, str], said: RawGeometry, *, guess: bool) -> list[Geometry | None]:
    """For each file its geometry as raw video, or None where the file says it itself.

    Geometry on the command line means raw input, as in libvmaf, except for the one file of a pair
    whose name isn't a raw video's when the other's is: a raw reference and an encoded file.
    """
    raw_names = [is_raw_name(path) for path in paths]
    raw = [name or (said.said and not any(raw_names)) for name in raw_names]
    return [
        _complete(path, said) if is_raw and (said.said or guess) else None
        for path, is_raw in zip(paths, raw, strict=True)
    ]


def _complete(path: str, said: RawGeometry) -> Geometry | None:
    if said.width and said.height and said.layout and said.depth:
        return Geometry(said.width, said.height, PixelFormat(said.layout, said.depth))
    if not os.path.isfile(path):
        return None  # opening it says what is wrong
    return guess_geometry(path, width=said.width, height=said.height, layout=said.layout, depth=said.depth)


def open_input(
    path: str, geometry: Geometry | None, *, rate: Fraction | None, luma_only: bool
) -> VideoReader:
    from acuity.video.open import open_video

    if geometry is None:
        return open_video(path, luma_only=luma_only)
    return open_video(
        path,
        width=geometry.width,
        height=geometry.height,
        pixel_format=geometry.format.layout,
        bitdepth=geometry.format.depth,
        rate=rate,
        luma_only=luma_only,
    )

"""Geometry of a raw video from its name and size, where only one reading is possible.

`crowd_1920x1080_420p10.yuv` says everything; `crowd_1920x1080.yuv` says the size, and its length may
leave one format or several. Several: the caller has to say, because a wrong guess is a wrong score.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Final

from acuity.errors import InputError
from acuity.video.guess import Geometry
from acuity.video.picture import PixelFormat

RAW_SUFFIXES: Final = frozenset({".yuv", ".raw", ".i420", ".yuv420p", ".yuv422p", ".yuv444p"})

_SIZE: Final = re.compile(r"(?<!\d)([1-9]\d{1,4})[xX]([1-9]\d{1,4})(?!\d)")
_NAMED: Final = re.compile(r"(?:yuv|i)(400|420|422|444)p?(8|10|12|14|16)?(?:le)?(?![a-z0-9])", re.I)
_BARE: Final = re.compile(r"(?<![a-z0-9])(400|420|422|444)(?:p(8|10|12|14|16)?)?(?:le)?(?![a-z0-9])", re.I)
_DEPTH: Final = re.compile(r"(?<![a-z0-9])(8|10|12|14|16)[-_]?b(?:it|its|pp|pc)?(?![a-z0-9])", re.I)
_UNREADABLE: Final = re.compile(
    r"(?<![a-z0-9])(nv12|nv21|nv16|p010|p016|yuyv\w*|uyvy\w*|v210|yuv4\d\dp\d+be)(?![a-z0-9])", re.I
)


def guess_geometry(
    path: str,
    *,
    width: int | None = None,
    height: int | None = None,
    layout: str | None = None,
    depth: int | None = None,
) -> Geometry:
    """What the caller said, completed from the name; InputError where that leaves a choice."""
    name = Path(path).name
    unreadable = _UNREADABLE.search(name)
    if unreadable and layout is None:
        raise InputError(
            f"{path}: its name says {unreadable[1]}, which is not planar little-endian YUV: convert it to "
            "Y4M, or pass --pixel-format if the name is wrong"
        )
    if width is None or height is None:
        sizes = {(int(w), int(h)) for w, h in _SIZE.findall(name)}
        if len(sizes) != 1:
            found = "no size" if not sizes else "more than one size"
            raise InputError(f"{path} is raw video and its name gives {found}: pass --size WIDTHxHEIGHT")
        named = sizes.pop()
        width, height = width or named[0], height or named[1]
    said_layout, said_depth = _said(name)
    layouts = [layout or said_layout] if layout or said_layout else ["420", "422", "444"]
    depths = [depth or said_depth] if depth or said_depth else [8, 10]
    formats = [PixelFormat(a, b) for a, b in itertools.product(layouts, depths) if a and b]
    return _only_fit(path, width, height, formats)


def _said(name: str) -> tuple[str | None, int | None]:
    """Layout and depth that the name gives; None where it gives none or several."""
    found = [m for pattern in (_NAMED, _BARE) for m in pattern.findall(name)]
    layouts = {layout for layout, _ in found}
    depths = {int(depth) for _, depth in found if depth} | {int(d) for d in _DEPTH.findall(name)}
    if not depths and re.search(r"(?:400|420|422|444)p(?![a-z0-9])", name, re.I):
        depths = {8}  # FFmpeg's names: yuv420p is 8-bit, deeper formats carry their depth
    return (
        layouts.pop() if len(layouts) == 1 else None,
        depths.pop() if len(depths) == 1 else None,
    )


def _only_fit(path: str, width: int, height: int, formats: list[PixelFormat]) -> Geometry:
    try:
        size = Path(path).stat().st_size
    except OSError:
        return Geometry(width, height, formats[0])  # opening it will say what is wrong, in better words
    fits = [f for f in formats if any(size % n == 0 for n in frame_sizes(width, height, f))]
    if size == 0 or len(formats) == 1:
        return Geometry(width, height, formats[0])  # the reader explains an empty or broken file
    if not fits:
        raise InputError(
            f"{path}: its {size} bytes are not whole frames of {width}x{height} in any common format: "
            "pass --size, --pixel-format and --bitdepth"
        )
    if len(fits) > 1:
        choices = ", ".join(_choice(f) for f in fits)
        raise InputError(
            f"{path}: its size fits {width}x{height} in several formats ({choices}): say which with "
            "--pixel-format and --bitdepth"
        )
    if fits[0].depth != 8 and len({f.depth for f in formats}) > 1:
        raise InputError(f"{path} holds more than 8 bits a sample: pass --bitdepth 10, 12 or 16")
    return Geometry(width, height, fits[0])


def _choice(pixels: PixelFormat) -> str:
    return f"{pixels.layout} {'8-bit' if pixels.depth == 8 else '10 to 16-bit'}"


def frame_sizes(width: int, height: int, pixels: PixelFormat) -> set[int]:
    """Bytes of a frame with chroma rounded up, and as libvmaf rounds it, down."""
    return {pixels.frame_bytes(width, height, round_up=up) for up in (True, False)}

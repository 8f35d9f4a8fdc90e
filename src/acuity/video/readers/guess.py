"""Guesses the geometry of a raw video from its name and length, and finds names that contradict it.

The name `crowd_1920x1080_420p10.yuv` is complete; `crowd_1920x1080.yuv` has the size, and the length of the
file may fit one format or several. If several fit, the caller has to choose, because a wrong guess gives a
wrong score. Geometry that was given counts, and a name that says otherwise gets a note.

No I/O here. Remedies are written as the arguments of open_video(); the commands spell them as options.
"""

from __future__ import annotations

import itertools
import os
import re
from typing import Final

from acuity.errors import GEOMETRY, InputError, to_give
from acuity.records import NamedTuple
from acuity.video.buffers import check_size
from acuity.video.picture import LAYOUTS, PixelFormat

# Extensions of raw samples, which carry no description.
RAW_SUFFIXES: Final = frozenset((".yuv", ".raw", ".i420", ".yuv420p", ".yuv422p", ".yuv444p"))
# Extensions of files that carry their own size.
CONTAINER_SUFFIXES: Final = frozenset(
    (
        *(".y4m", ".mp4", ".m4v", ".mkv", ".webm", ".mov", ".avi", ".ts", ".m2ts", ".mts", ".mpg", ".mpeg"),
        *(".vob", ".flv", ".ogv", ".ogg", ".wmv", ".asf", ".3gp", ".mxf", ".nut", ".ivf", ".obu", ".mj2"),
        *(".264", ".h264", ".avc", ".265", ".h265", ".hevc", ".266", ".vvc", ".av1", ".m2v", ".mpv"),
    )
)

# Extensions of the images that make a sequence.
IMAGE_SUFFIXES: Final = frozenset((".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"))

# Patterns are compiled when a name is looked at: most videos say their size.
_SIZE: Final = r"(?<!\d)([1-9]\d{1,4})x([1-9]\d{1,4})(?!\d)"
_NAMED: Final = r"(?:yuv|i)(400|420|422|444)p?(8|10|12|14|16)?(?:le)?(?![a-z0-9])"
_BARE: Final = r"(?<![a-z0-9])(400|420|422|444)(?:p(8|10|12|14|16)?)?(?:le)?(?![a-z0-9])"
_DEPTH: Final = r"(?<![a-z0-9])(8|10|12|14|16)[-_]?b(?:it|its|pp|pc)?(?![a-z0-9])"
_PLANAR_8: Final = r"(?:400|420|422|444)p(?![a-z0-9])"
_UNREADABLE: Final = (
    r"(?<![a-z0-9])(nv12|nv21|nv16|p010|p016|yuyv\w*|uyvy\w*|v210|yuv4\d\dp\d+be)(?![a-z0-9])"
)
_PACKED: Final = ("nv", "p01", "yuyv", "uyvy", "v210", "be")  # one is in each name that it matches

# Samples of more than 8 bits all take two bytes, so 10 stands for every depth above 8.
_WIDTHS: Final = (8, 10)


class RawFormat(NamedTuple):
    """The size and pixel format of raw video."""

    width: int
    height: int
    format: PixelFormat

    def __str__(self) -> str:
        return f"{self.width}x{self.height} {self.format.layout} at {self.format.depth} bit"


class OtherGeometry(NamedTuple):
    """The geometry in the name of a raw video, where it contradicts the geometry given."""

    said: str  # the contradicting words: "576x324", "10 bit"
    geometry: RawFormat | None  # the one by the name; None: the name allows several, or none that is read


def is_raw_name(path: str | os.PathLike[str]) -> bool:
    return os.path.splitext(os.fspath(path))[1].lower() in RAW_SUFFIXES


def guess_geometry(
    path: str,
    length: int | None,
    *,
    width: int | None = None,
    height: int | None = None,
    layout: str | None = None,
    depth: int | None = None,
) -> RawFormat:
    """The caller's geometry, completed from the name and the length; raises InputError if several fit.

    `length` is that of the file in bytes, None for a pipe.
    """
    name = os.path.basename(path).lower()
    unreadable = re.search(_UNREADABLE, name)
    if unreadable and layout is None:
        raise InputError(
            f"the name of '{path}' says {unreadable[1]}, which is not planar little-endian YUV:"
            " convert it to Y4M, or ",
            to_give("pixel_format"),
            " if the name is wrong",
        )
    if width is None or height is None:
        missing = [name for name, value in (("width", width), ("height", height)) if value is None]
        sizes = _sizes(name)
        if len(sizes) != 1:
            found = "no size" if not sizes else "more than one size"
            raise InputError(f"'{path}' is raw video and its name gives {found}: ", to_give(*missing))
        named = sizes.pop()
        width = named[0] if width is None else width
        height = named[1] if height is None else height
    check_size(path, width, height)
    said_layout, said_depth = _said(name)
    layouts = [one] if (one := layout or said_layout) else list(LAYOUTS)
    depths = [bits] if (bits := depth or said_depth) else list(_WIDTHS)
    formats = [PixelFormat(a, b) for a, b in itertools.product(layouts, depths)]
    return RawFormat(width, height, _only_fit(path, length, width, height, formats))


def other_geometry(path: str, length: int | None, given: RawFormat) -> OtherGeometry | None:
    """The name's contradiction of this geometry; None if there is none or the file's length refutes it."""
    name = os.path.basename(path).lower()
    own_size = (given.width, given.height)
    sizes = _sizes(name)
    if own_size in sizes or not sizes:
        sizes = {own_size}
    layout, depth = _said(name)
    pixels = PixelFormat(layout or given.format.layout, depth or given.format.depth)
    named = [RawFormat(*size, pixels) for size in sorted(sizes)]
    possible = [geometry for geometry in named if length is None or is_whole(length, geometry)]
    packed = re.search(_UNREADABLE, name) if any(part in name for part in _PACKED) else None
    if not packed and (given in named or not possible):
        return None
    said = []
    if possible and own_size not in sizes:
        said.append(" or ".join(f"{geometry.width}x{geometry.height}" for geometry in possible))
    if packed or pixels.layout != given.format.layout:
        said.append(packed[1] if packed else pixels.layout)
    if pixels.depth != given.format.depth:
        said.append(f"{pixels.depth} bit")
    only = possible[0] if len(possible) == 1 and not packed else None
    return OtherGeometry(" ".join(said), only)


def is_whole(length: int, geometry: RawFormat) -> bool:
    """Whether so many bytes are whole frames of this geometry."""
    width, height, pixels = geometry  # chroma is rounded up, or down, as libvmaf does
    return any(length % pixels.frame_bytes(width, height, round_up=up) == 0 for up in (True, False))


def _sizes(name: str) -> set[tuple[int, int]]:
    return {(int(w), int(h)) for w, h in re.findall(_SIZE, name)} if "x" in name else set()


def _said(name: str) -> tuple[str | None, int | None]:
    """Layout and depth in the name; None if it has none or several."""
    # Compiling the patterns takes longer than reading a picture: only for names that may match.
    patterns = (_NAMED, _BARE) if any(layout in name for layout in LAYOUTS) else ()
    found = [m for pattern in patterns for m in re.findall(pattern, name)]
    layouts = {layout for layout, _ in found}
    depths = {int(depth) for _, depth in found if depth}
    if any(character.isdigit() for character in name):
        depths |= {int(d) for d in re.findall(_DEPTH, name)}
    if not depths and patterns and re.search(_PLANAR_8, name):
        depths = {8}  # FFmpeg's names: yuv420p is 8-bit, deeper formats carry their depth
    return (layouts.pop() if len(layouts) == 1 else None, depths.pop() if len(depths) == 1 else None)


def _only_fit(
    path: str, length: int | None, width: int, height: int, formats: list[PixelFormat]
) -> PixelFormat:
    if len(formats) == 1:
        return formats[0]  # the reader explains a broken file
    if length is None:
        raise InputError(
            f"the name of '{path}' leaves its format open, and a pipe has no length to tell it by: ",
            to_give("pixel_format", "bitdepth"),
        )
    fits = [f for f in formats if is_whole(length, RawFormat(width, height, f))]
    if not fits:
        raise InputError(
            f"the {length} bytes of '{path}' are not whole frames of {width}x{height} in any common format: ",
            to_give(*GEOMETRY),
        )
    if len(fits) > 1:
        depth_open = len({f.depth for f in formats}) > 1
        depths = ("10 to 16" if depth_open and f.depth != 8 else f.depth for f in fits)
        choices = ", ".join(f"{f.layout} {bits}-bit" for f, bits in zip(fits, depths, strict=True))
        raise InputError(
            f"the {length} bytes of '{path}' fit {width}x{height} in several formats ({choices}): ",
            to_give("pixel_format", "bitdepth", verb="say which with"),
        )
    return fits[0]  # of known depth: if two bytes a sample fit, so does one

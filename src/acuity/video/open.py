"""open_video(): the one way in. What opens a file is decided by a table."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from acuity.errors import FormatError, InputError
from acuity.video.guess import Geometry, guess_geometry
from acuity.video.picture import PixelFormat
from acuity.video.raw import RawReader
from acuity.video.reader import VideoReader
from acuity.video.source import open_source
from acuity.video.y4m import Y4mReader
from acuity.video.y4m_header import MAGIC

# Files that are raw samples by custom, so that nothing in them says what they are.
_RAW_SUFFIXES: Final = frozenset((".yuv", ".raw"))


@dataclass(frozen=True, slots=True)
class _Wish:
    """How the caller wants a video opened, besides its geometry."""

    threads: int
    luma_only: bool
    allow_damaged: bool


def open_video(
    path: str | os.PathLike[str],
    *,
    width: int | None = None,
    height: int | None = None,
    pixel_format: str | None = None,
    bitdepth: int | None = None,
    rate: Fraction | None = None,
    guess: bool = False,
    threads: int = 0,
    luma_only: bool = False,
    allow_damaged: bool = False,
) -> VideoReader:
    """Open raw YUV, Y4M or any container PyAV decodes; '-' reads Y4M or raw from standard input.

    Geometry (all four of `width`, `height`, `pixel_format`, `bitdepth`) says that the file is raw.
    `guess` lets the name of a raw file give its geometry. `rate` is the frame rate of a raw file.
    `threads` is for the decoder, 0 lets it choose. With `luma_only` pictures may come without chroma.
    `allow_damaged` takes what the decoder makes of damaged frames instead of refusing them.
    """
    geometry = _given(os.fspath(path), width, height, pixel_format, bitdepth)
    kind = _kind(path)
    if geometry is not None:
        if kind == "y4m" and os.path.isfile(path):
            raise FormatError(f"'{os.fspath(path)}' is Y4M, which says its own size: leave out the geometry")
        return _open_raw(path, geometry, rate=rate, luma_only=luma_only)
    if kind == "raw":
        guessed = guess_geometry(path) if guess else None
        if guessed is None:
            raise FormatError(
                f"'{os.fspath(path)}' is raw video, which does not say its size: pass width, height,"
                " pixel format and bit depth (--width --height --pixel_format --bitdepth)"
            )
        extra = {"guessed": f"{guessed}, from its name"}
        return _open_raw(path, guessed, rate=rate, luma_only=luma_only, extra=extra)
    return _OPENERS[kind](path, _Wish(threads, luma_only, allow_damaged))


def _given(
    name: str, width: int | None, height: int | None, pixel_format: str | None, bitdepth: int | None
) -> Geometry | None:
    values = {"width": width, "height": height, "pixel format": pixel_format, "bit depth": bitdepth}
    missing = [what for what, value in values.items() if value is None]
    if len(missing) == len(values):
        return None
    if width is None or height is None or pixel_format is None or bitdepth is None:
        raise InputError(
            f"raw video needs width, height, pixel format and bit depth together:"
            f" {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing for '{name}'"
        )
    return Geometry(width, height, PixelFormat.parse(pixel_format, bitdepth))


def _kind(path: str | os.PathLike[str]) -> str:
    """'y4m', 'raw' or 'container', from the first bytes and then from the name."""
    name = os.fspath(path)
    if name == "-" or not os.path.isfile(name):
        # A pipe cannot be tasted without losing bytes, and only Y4M says its size in the stream.
        # A path that is nothing at all is refused by the reader in the same words for each kind.
        return "y4m"
    with open_source(path) as source:
        if source.peek(len(MAGIC)) == MAGIC:
            return "y4m"
    suffix = os.path.splitext(name)[1].lower()
    if suffix == ".y4m":
        return "y4m"
    return "raw" if suffix in _RAW_SUFFIXES else "container"


def _open_raw(
    path: str | os.PathLike[str],
    geometry: Geometry,
    *,
    rate: Fraction | None,
    luma_only: bool,
    extra: dict[str, str] | None = None,
) -> VideoReader:
    return RawReader(
        path, geometry.width, geometry.height, geometry.format, rate=rate, luma_only=luma_only, extra=extra
    )


def _open_y4m(path: str | os.PathLike[str], wish: _Wish) -> VideoReader:
    return Y4mReader(path, luma_only=wish.luma_only)


def _open_container(path: str | os.PathLike[str], wish: _Wish) -> VideoReader:
    # PyAV takes a while to load, and raw video does not need it.
    from acuity.video.container import ContainerReader

    return ContainerReader(
        path, threads=wish.threads, luma_only=wish.luma_only, allow_damaged=wish.allow_damaged
    )


_OPENERS: Final[dict[str, Callable[[str | os.PathLike[str], _Wish], VideoReader]]] = {
    "y4m": _open_y4m,
    "container": _open_container,
}

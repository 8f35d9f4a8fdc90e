"""Warns if the two files seem to be swapped, or are the same."""

from __future__ import annotations

import os
from io import FileIO
from typing import TYPE_CHECKING, Final

from acuity.errors import PathError
from acuity.video.local_file import local_opener
from acuity.video.notes import Note, warning
from acuity.video.readers.reader import VideoInfo

if TYPE_CHECKING:
    from fractions import Fraction

# Codecs of sources, which are rarely used for the encode under test.
_SOURCE_CODECS: Final = frozenset(
    (
        *("ffv1", "ffvhuff", "huffyuv", "utvideo", "rawvideo", "v210", "prores", "dnxhd", "cfhd", "magicyuv"),
        "png",
    )
)
# A distorted file that is more times larger than the reference may be the source.
_BIGGER: Final = 2.0

_MOST_COMPARED: Final = 256 << 20
_CHUNK: Final = 1 << 20


def plausibility_warnings(ref: VideoInfo, dis: VideoInfo, *, cropped: bool = False) -> list[Note]:
    """Warnings, not errors, because such comparisons may be intended; `cropped`: sizes say nothing."""
    one_stream = ref.extra.get("stream") == dis.extra.get("stream")
    if one_stream and (same := _identical(ref.path, dis.path)):
        return [warning("identical", same)]
    if reason := _swapped(ref, dis, cropped=cropped):
        return [warning("swapped", f"{reason}: are reference and distorted swapped?")]
    return []


def _swapped(ref: VideoInfo, dis: VideoInfo, *, cropped: bool) -> str | None:
    if dis.width * dis.height > ref.width * ref.height and not cropped:
        return (
            f"the distorted video '{dis.path}' ({dis.width}x{dis.height}) is larger than"
            f" the reference '{ref.path}' ({ref.width}x{ref.height})"
        )
    if ref.kind != "container" or dis.kind != "container" or ref.codec in _SOURCE_CODECS:
        return None
    if dis.codec in _SOURCE_CODECS:
        return (
            f"the distorted video '{dis.path}' is {dis.codec}, a codec for sources, and the reference is not"
        )
    sizes = _bytes_a_frame(ref), _bytes_a_frame(dis)
    if sizes[0] is not None and sizes[1] is not None and sizes[1] > _BIGGER * sizes[0]:
        times = float(sizes[1] / sizes[0])
        return f"a frame of the distorted video '{dis.path}' takes {times:.1f} times the reference's bytes"
    return None


def _bytes_a_frame(info: VideoInfo) -> Fraction | None:
    from fractions import Fraction  # which raw video never needs

    try:
        return Fraction(os.stat(info.path).st_size, info.frames) if info.frames else None
    except OSError:
        return None


def _identical(one: str, other: str) -> str | None:
    try:
        first, second = os.stat(one), os.stat(other)
    except OSError:  # a pattern of images or an address
        return f"'{one}' is compared with itself" if one == other else None
    if os.path.samestat(first, second):
        return f"'{one}' and '{other}' are the same file, so it is compared with itself"
    regular = os.path.isfile(one) and os.path.isfile(other)
    if not regular or first.st_size != second.st_size or first.st_size > _MOST_COMPARED:
        return None
    return f"'{one}' and '{other}' have the same content" if _same_bytes(one, other) else None


def _same_bytes(one: str, other: str) -> bool:
    try:
        with _open(one) as first, _open(other) as second:
            while chunk := first.read(_CHUNK):
                if chunk != second.read(_CHUNK):
                    return False
    except (OSError, PathError):
        return False
    return True


def _open(path: str) -> FileIO:
    return open(path, "rb", buffering=0, opener=local_opener)

"""Opens the two videos of a pair, and decides to which of them the caller's geometry applies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Final, TypeAlias

from acuity.errors import FormatError, InputError, PairingError, Remedy, to_set
from acuity.video.readers.guess import is_raw_name
from acuity.video.readers.open import OpenOptions, RawGeometry, open_as, says_its_size
from acuity.video.readers.reader import BaseReader, VideoReader
from acuity.video.source import STDIN

# A path, or a reader that is already open.
Video: TypeAlias = str | os.PathLike[str] | VideoReader

# Opens a path as open_as() does.
Opener: TypeAlias = Callable[[str | os.PathLike[str], RawGeometry, OpenOptions], BaseReader]

_STREAMS: Final = ("stream_ref", "stream_dis")
_TIMED: Final = ("container", "y4m")  # kinds of video that have a frame rate


def open_pair(
    ref: Video,
    dis: Video,
    said: RawGeometry,
    options: OpenOptions,
    streams: tuple[int | None, int | None] = (None, None),
    openers: tuple[Opener, Opener] = (open_as, open_as),
) -> tuple[VideoReader, VideoReader]:
    """Open both videos, or neither; readers are returned unchanged.

    `openers` open the two paths, once it is decided how.

    Geometry means raw video, as in libvmaf, except for a file that carries its own size: a raw reference can
    be compared with an encoded file. If the geometry isn't complete, file names decide which is raw.
    """
    if ref == dis == STDIN:  # before one reads the other's bytes
        raise PairingError("both videos are to come from standard input: pass a file for one of them")
    videos = (ref, dis)
    raw = [isinstance(video, str | os.PathLike) and _is_raw(video, said) for video in videos]
    with contextlib.ExitStack() as stack:
        readers: list[VideoReader] = []
        for video, is_raw, stream, opener in zip(videos, raw, streams, openers, strict=True):
            if isinstance(video, str | os.PathLike):
                meant = said if is_raw or not any(raw) else RawGeometry()
                try:
                    video = opener(video, meant, options.changed(stream=stream))
                except FormatError as error:
                    raise _of_one(error, _STREAMS[len(readers)]) from error
                stack.callback(video.close)
            readers.append(video)
        if options.fps is not None and all(reader.info.kind in _TIMED for reader in readers):
            names = " and ".join(f"'{reader.info.path}'" for reader in readers)
            raise InputError(f"{names} say their own frame rate: leave out ", to_set("fps", str(options.fps)))
        stack.pop_all()  # the caller closes them
    return readers[0], readers[1]


def open_alone(video: Video, said: RawGeometry, options: OpenOptions, stream: int | None) -> VideoReader:
    """Open one video; a reader is returned unchanged."""
    if not isinstance(video, str | os.PathLike):
        return video
    reader = open_as(video, said, options.changed(stream=stream))
    if options.fps is not None and reader.info.kind in _TIMED:
        reader.close()
        raise InputError(
            f"'{reader.info.path}' says its own frame rate: leave out ", to_set("fps", str(options.fps))
        )
    return reader


def _of_one(error: FormatError, stream: str) -> FormatError:
    """The error with `stream`, which is for both videos, replaced by that of one."""
    pieces = (
        piece._replace(names=(stream,)) if isinstance(piece, Remedy) and piece.names == ("stream",) else piece
        for piece in error.args
    )
    return type(error)(*pieces)


def _is_raw(path: str | os.PathLike[str], said: RawGeometry) -> bool:
    """Whether the geometry applies to this file."""
    return is_raw_name(path) if said.missing else not says_its_size(path)

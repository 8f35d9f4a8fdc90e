"""Opening the two videos of a pair: which of them the caller's geometry is about."""

from __future__ import annotations

import contextlib
import os
from typing import TypeAlias

from acuity.errors import PairingError
from acuity.video.guess import is_raw_name
from acuity.video.open import OpenOptions, RawGeometry, open_as
from acuity.video.reader import VideoReader
from acuity.video.source import STDIN

# A path, or a reader that somebody opened already.
Video: TypeAlias = str | os.PathLike[str] | VideoReader


def open_pair(
    ref: Video, dis: Video, said: RawGeometry, options: OpenOptions
) -> tuple[VideoReader, VideoReader]:
    """Open both, or neither; readers that were handed in are passed on.

    Geometry means raw video, as in libvmaf, except for the one file of a pair whose name isn't a raw video's
    when the other's is: a raw reference and an encoded file.
    """
    if ref == dis == STDIN:  # before one of them takes the other's bytes
        raise PairingError("both videos are to come from standard input: pass a file for one of them")
    videos = (ref, dis)
    raw_named = [isinstance(video, str | os.PathLike) and is_raw_name(video) for video in videos]
    with contextlib.ExitStack() as stack:
        readers: list[VideoReader] = []
        for video, raw in zip(videos, raw_named, strict=True):
            if isinstance(video, str | os.PathLike):
                meant = said if raw or not any(raw_named) else RawGeometry()
                video = open_as(video, meant, options)
                stack.callback(video.close)
            readers.append(video)
        stack.pop_all()  # the caller's from now on
    return readers[0], readers[1]

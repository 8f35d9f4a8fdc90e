"""What a video's file is when it is looked at, so that a later reading can tell whether it is another."""

from __future__ import annotations

import os
from typing import TypeAlias

from acuity.scoring.request import Request
from acuity.video.file_digest import Identity, identity
from acuity.video.pairs.open_pair import Video

FileIdentity: TypeAlias = Identity | None  # None: no file here, but a reader, a pattern or an address


def file_identity(video: Video) -> FileIdentity:
    """What the file of a video is now."""
    if not isinstance(video, str | os.PathLike):
        return None
    try:
        return identity(os.fspath(video))
    except (OSError, ValueError):
        return None  # opening it says what is wrong with it


def files_of(request: Request) -> tuple[FileIdentity, ...]:
    """What the files of a request are now: the reference's, if there is one, and the distorted video's."""
    videos = (request.reference, request.distorted)
    return tuple(file_identity(video) for video in videos if video is not None)

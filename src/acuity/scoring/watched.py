"""The files and frames of a measurement, for those who watch it and to notice changed files later.

Servers import this alone, not what scoring needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from acuity.records import NamedTuple
from acuity.video.local_file import Identity, identity

if TYPE_CHECKING:
    from acuity.scoring.metrics import Headline
    from acuity.video.pairs.open_pair import Video

FileIdentity: TypeAlias = Identity | None  # None: no file here, but a reader, a pattern or an address


class WatchedRun(NamedTuple):
    """The files, how many frames there will be, when they are shown, and which metrics were asked for."""

    reference: str | None = None  # names of files without their folders, where they have some
    distorted: str | None = None
    total: int | None = None  # frames, where known
    metrics: Sequence[Headline] = ()  # besides models
    time_of: Callable[[int], float | None] = lambda _: None  # of a frame, in seconds
    files: Sequence[str] = ()  # with their folders: those that a client may read, too


def file_identity(video: Video) -> FileIdentity:
    """The identity of a video's file now, which shows later whether it was replaced."""
    if not isinstance(video, str | os.PathLike):
        return None
    try:
        return identity(os.fspath(video))
    except (OSError, ValueError):
        return None  # opening it says what is wrong with it

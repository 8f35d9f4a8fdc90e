"""What a measurement is of, for those who watch it. Servers import this alone, not what scoring needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from acuity.scoring.metrics import Headline


class Watched(NamedTuple):
    """The files, how many frames there will be, when they are shown, and which metrics were asked for."""

    reference: str | None = None  # names of files without their folders, where they have some
    distorted: str | None = None
    total: int | None = None  # frames, where known
    metrics: Sequence[Headline] = ()  # besides models
    time_of: Callable[[int], float | None] = lambda _: None  # of a frame, in seconds
    files: Sequence[str] = ()  # with their folders: those that a client may read, too

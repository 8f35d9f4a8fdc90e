"""Reads the pairs of a comparison once more, and gives the ones that are wanted.

They are the very pictures that were scored: the same request pairs, crops, scales and converts them, and
what it decided is compared with what the report says.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Collection, Generator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import InputError
from acuity.features.extractor import Pair
from acuity.frames.artefacts.measure import ExaminedFrame
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.watched import FileIdentity, file_identity
from acuity.video.pairs.open_pair import Video, open_pair
from acuity.video.pairs.pairing import Pairing, pair_videos
from acuity.video.picture import Picture, Samples
from acuity.video.source import STDIN

_STEP: Final = 8  # samples from one mean to the next, each of every second sample both ways
_MOVES: Final = 0.5  # levels of 8-bit video that a reference changes by if it moves
_HELD: Final = 0.05  # levels that a picture changes by at most if it is the same one, shown again
_STILL: Final = 0.12  # share of the reference's change that a frozen picture may have

Means = NDArray[np.float32]


class FreezeRun:
    """Follows the pairs of a clip; cheap, because it looks at coarse means alone.

    A reference may hold its pictures, too. So a freeze is measured from the last frame at which both videos
    had stayed or moved together.
    """

    def __init__(self) -> None:
        self._since = 0
        self._start: tuple[Means, Means] | None = None  # the two pictures of that frame

    def follow(self, number: int, ref: Picture, dis: Picture) -> int | None:
        """The number of the frame that this one repeats, maybe through others; None: it repeats none."""
        now = _means(ref), _means(dis)
        if self._start is not None:
            moved, changed = (
                float(np.abs(new - old).mean()) for new, old in zip(now, self._start, strict=True)
            )
            if moved >= _MOVES and changed <= _STILL * moved:
                return self._since
            if moved > _HELD >= changed:
                return None  # too little to say so yet
        self._since, self._start = number, now
        return None


def _means(picture: Picture) -> Means:
    luma = picture.luma
    height, width = (max(length // _STEP, 1) * _STEP for length in luma.shape)
    parts = [
        luma[row:height:_STEP, column:width:_STEP].astype(np.float32)
        for row in range(0, min(_STEP, luma.shape[0]), 2)
        for column in range(0, min(_STEP, luma.shape[1]), 2)
    ]
    total = np.sum(parts, 0, np.float32) if len({part.shape for part in parts}) == 1 else parts[0]
    return np.asarray(total / np.float32(len(parts) * (1 << (picture.format.depth - 8))), np.float32)


# Entries of a report's `input` that say how its pictures were made.
_DECIDED: Final = (
    "width", "height", "pixel_format", "bitdepth", "pair_by", "range", "display", "crop", "conversions",
    "frame_step_ref", "frame_step_dis",
)  # fmt: skip


# Frames before and after a wanted one whose references it may show by mistake.
_NEIGHBOURS: Final = 3


def identities(request: Request, report: ScoreReport | None = None) -> tuple[FileIdentity, ...]:
    """The files of a request now, or when they were scored; InputError for what can't be read twice."""
    now = tuple(map(_identity, request.pair))
    return now if report is None or report.files is None else report.files


def _identity(video: Video) -> FileIdentity:
    again = "the worst frames are read a second time once they are known, and "
    if not isinstance(video, str | os.PathLike):
        raise InputError(f"{again}a reader can't: pass the path of '{video.info.path}'")
    if os.fspath(video) == STDIN:
        raise InputError(f"{again}standard input can't: save the video to a file, and pass that")
    mode = 0
    with suppress(OSError, ValueError):  # a pattern of images or an address; opening it says what is wrong
        mode = os.stat(video).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        name = os.fspath(video)
        raise InputError(f"{again}the pipe '{name}' can't: save the video to a file, and pass that")
    return file_identity(video)


def reopen(request: Request, report: ScoreReport) -> Pairing:
    """The pairing whose pairs were scored, from its start and with chroma; InputError if it changed."""
    # Only 'auto' changes which frames are paired; other values check them, which the first reading has done.
    align = "auto" if request.align == "auto" else "off"
    again = replace(request, display=report.input["display"], align=align)
    readers = open_pair(*again.pair, again.geometry, again.opening, again.streams)
    pairing = pair_videos(*readers, options=again.pairing)
    try:
        found: dict[str, Any] = pairing.description
        for name in _DECIDED:
            if found[name] != report.input[name]:
                raise _changed(pairing, f"{name} was {report.input[name]} and is {found[name]}")
    except BaseException:
        pairing.close()
        raise
    return pairing


def compared_pairs(
    pairing: Pairing, wanted: Collection[int], passed: Callable[[int], None]
) -> Generator[ExaminedFrame]:
    """The wanted pairs in order, up to the last of them; `passed` is called with each number that is read."""
    if not wanted:
        return
    last = max(wanted)
    before: Pair | None = None
    run = FreezeRun()
    lumas: dict[int, Samples] = {}  # of the last references
    waiting: deque[ExaminedFrame] = deque()  # for references that come after them

    def complete(pair: ExaminedFrame) -> ExaminedFrame:
        around = {n: luma for n, luma in lumas.items() if 0 < abs(n - pair.index) <= _NEIGHBOURS}
        return replace(pair, neighbours=around)

    with closing(iter(pairing)) as pairs:  # type: ignore[type-var]
        for index, (ref, dis) in enumerate(pairs):
            frozen_since = run.follow(index, ref, dis)
            lumas[index] = ref.luma
            lumas.pop(index - 2 * _NEIGHBOURS - 1, None)
            if index in wanted:
                waiting.append(ExaminedFrame(ref, dis, before, index, frozen_since))
            while waiting and waiting[0].index <= index - _NEIGHBOURS:
                yield complete(waiting.popleft())
            passed(index)
            if index == last + _NEIGHBOURS:
                return
            before = Pair(ref, dis) if index + 1 in wanted else None
    if last not in lumas:
        raise _changed(pairing, f"frame {last} was scored, and there are {pairing.pairs} now")
    yield from map(complete, waiting)


def check_unchanged(request: Request, before: tuple[FileIdentity, ...]) -> None:
    """Raise InputError if a file is not the one that was scored."""
    for video, was, now in zip(request.pair, before, identities(request), strict=True):
        if was != now:
            what = f"'{os.fspath(video)}' changed while its frames were scored and drawn"  # type: ignore[arg-type]
            raise InputError(f"{what}: run this again when nothing writes to it")


def _changed(pairing: Pairing, what: str) -> InputError:
    names = f"'{pairing.info_ref.path}' or '{pairing.info_dis.path}'"
    return InputError(
        f"{names} changed between scoring and drawing ({what}): run this again when nothing writes to them"
    )

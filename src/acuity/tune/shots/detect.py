"""Finds shots: stretches of a video between two cuts, on thumbnails of its luma.

A frame begins a shot when the picture changes at once, by more than the threshold, and stays changed. The
change is measured on the means of a grid of cells, each block of cells compared with where it may have come
from, so that pans and moving things count little. It must also stand out from the changes before and after
it: in a fade, a dissolve or a fast scene every frame changes about as much as the next. A flash is no cut,
because the frames after it are like those before it. After a fade to black or white the shot begins where
another picture comes up.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from statistics import median
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.errors import NoFramesError, TuneError
from acuity.tune.clip import Clip, Part
from acuity.tune.points.point import Cache
from acuity.video.alignment.signature import COARSE, grid
from acuity.video.picture import Picture, Signature
from acuity.video.readers.reader import BaseReader

THRESHOLD: Final = 0.02
MIN_SECONDS: Final = 0.5

_FULL_RANGE: Final = 255.0  # signatures are in steps of 8-bit samples
_FLASH: Final = 4  # one more than the frames that a flash may last
_STANDS_OUT: Final = 2.5  # times the changes around it
_UNLIKE: Final = 1 / 3  # of the threshold, for pictures that have nothing in common
_CORRELATED: Final = 0.5  # from which on pictures have something in common
_FLAT: Final = 2.0  # the standard deviation of cells below which a picture is flat, in 8-bit steps
_NOT_FLAT: Final = 8.0
_AROUND: Final = 8  # frames on each side whose changes are compared
_SHIFTS: Final = [(y, x) for y in range(-2, 3) for x in range(-2, 3)]  # in cells
_BLOCK: Final = 6  # cells a side that are followed together


class Shot(NamedTuple):
    """A stretch of frames between two cuts, and how busy it is."""

    start: int
    end: int  # of the frame after its last one
    activity: float  # mean change from frame to frame, as a fraction of the full range of samples

    @property
    def part(self) -> Part:
        return Part(self.start, self.end)

    @property
    def frames(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Detection:
    # The least mean change of luma between two frames that may be a cut, as a part of the range of samples;
    # for pictures that have nothing in common, as in dark scenes, a third of it.
    threshold: float = THRESHOLD
    min_frames: int | None = None  # None: half a second
    max_seconds: float | None = None  # longer shots are divided evenly

    def __post_init__(self) -> None:
        if not 0.0 < self.threshold <= 1.0:
            raise TuneError(
                f"scene threshold {self.threshold:g} is not between 0 and 1: it is the change of luma from "
                f"frame to frame as a fraction of the full range, {THRESHOLD:g} unless given"
            )


def survey_shots(
    source: Clip | BaseReader,
    wanted: Detection,
    *,
    progress: Callable[[int, int | None], None] | None = None,
) -> list[Shot]:
    """The shots of a clip or of an open video, without gaps, in frames of the source.

    `progress` gets the frames read and their number, if known; it may raise.
    """
    if isinstance(source, Clip):
        with source.reader(luma_only=True) as reader:
            firsts = [0, *accumulate(part.end - part.start for part in source.parts or ())]
            survey = _survey(reader, wanted, source.frames, progress, firsts)
        rate, parts = float(source.rate), source.parts
    else:
        survey = _survey(source, wanted, source.info.frames, progress, [0])
        rate, parts = float(source.info.rate or 25), None
    return _shots(survey, wanted, rate, parts)


def known_shots(
    cache: Cache,
    clip: Clip,
    wanted: Detection,
    *,
    progress: Callable[[int, int | None], None] | None = None,
) -> list[Shot]:
    """survey_shots() of a clip, once: the cache remembers them."""
    # Its number is the method's.
    settings = f"shots 3 {wanted.threshold!r} {wanted.min_frames} {wanted.max_seconds!r}"
    key = f"{settings} {clip.digest(cache)}"
    remembered = cache.document(key)
    if isinstance(remembered, list):
        return [Shot(int(start), int(end), float(activity)) for start, end, activity in remembered]
    shots = survey_shots(clip, wanted, progress=progress)
    cache.remember(key, [list(shot) for shot in shots])
    return shots


class _Fades:
    """Finds where a picture comes back after a flat one, black or white, and is another than before."""

    def __init__(self) -> None:
        self.ends: list[int] = []  # the first frames that aren't flat any more
        self._end: int | None = None
        self._before: Signature | None = None

    def add(self, frame: int, cells: Signature) -> None:
        contrast = float(cells.std())
        if contrast < _FLAT:
            self._end = frame + 1
        elif contrast > _NOT_FLAT:
            before, end = self._before, self._end
            if before is not None and end is not None and _correlation(before, cells) < _CORRELATED:
                self.ends.append(end)
            self._end, self._before = None, cells


class _Survey(NamedTuple):
    changes: list[float]  # of each frame from the one before
    candidates: dict[int, float]  # changes that last, by frame
    fades: list[int]  # frames at which a picture comes back


def _survey(
    frames: Iterable[Picture],
    wanted: Detection,
    total: int | None,
    progress: Callable[[int, int | None], None] | None,
    firsts: Sequence[int],
) -> _Survey:
    """Look at every frame; memory is a few thumbnails, and one number for each frame.

    `firsts` are the frames with which parts of the clip begin.
    """
    changes: list[float] = []
    candidates: dict[int, float] = {}
    fades = _Fades()
    recent: deque[Signature] = deque(maxlen=2 * _FLASH)  # the last frames
    for picture in frames:
        cells = grid(picture, COARSE)
        changes.append(_change(recent[-1], cells) if recent else 0.0)
        recent.append(cells)
        fades.add(len(changes) - 1, cells)
        due = len(changes) - _FLASH  # the frame whose following ones are all here
        if due > 0 and _worthwhile(changes, due, firsts, wanted.threshold):
            _consider(candidates, due, list(recent), _FLASH, wanted.threshold)
        if progress is not None:
            progress(len(changes), total)
    count = len(changes)
    if count == 0:
        raise NoFramesError("there is no frame to find shots in")
    for due in range(max(1, count - _FLASH + 1), count):
        if _worthwhile(changes, due, firsts, wanted.threshold):
            _consider(candidates, due, list(recent), count - due, wanted.threshold)
    return _Survey(changes, candidates, fades.ends)


def _worthwhile(changes: Sequence[float], frame: int, firsts: Sequence[int], threshold: float) -> bool:
    """Whether a frame's change from the one before is large enough for a cut.

    _consider() takes the least of many such changes, so a frame that fails here need not be compared there.
    """
    if changes[frame] < threshold * _UNLIKE:
        return False
    before = _before(changes, firsts[bisect(firsts, frame) - 1], frame)
    return not before or changes[frame] >= _STANDS_OUT * median(before)


def _before(changes: Sequence[float], first: int, frame: int) -> Sequence[float]:
    """The changes before a frame that it must stand out from; `first` begins its part."""
    return changes[max(first + 1, frame - _AROUND) : frame]


def _change(before: Signature, after: Signature) -> float:
    """The mean difference of two grids as a fraction of the full range, motion taken out.

    Every block of cells of the later grid is compared with the block at its place in the earlier one and with
    those a little beside it, and the least difference counts.
    """
    if before.shape != after.shape:
        return 1.0  # the size changes in mid-stream
    rows, columns = after.shape
    down, across = _padded(rows), _padded(columns)
    padded = before[down[:, None], across]
    windows = np.lib.stride_tricks.sliding_window_view(padded, after.shape)  # one for each shift
    differences = np.abs(windows - after).reshape(len(_SHIFTS), rows, columns)
    tops, lefts = range(0, rows, _BLOCK), range(0, columns, _BLOCK)
    blocks = np.add.reduceat(np.add.reduceat(differences, tops, axis=1), lefts, axis=2)
    return float(blocks.min(axis=0).sum() / (rows * columns * _FULL_RANGE))


@cache
def _padded(count: int) -> NDArray[np.intp]:
    """Indices of so many cells with two more on each side, which repeat the outermost."""
    return np.clip(np.arange(-2, count + 2), 0, count - 1)


def _consider(
    candidates: dict[int, float], frame: int, recent: Sequence[Signature], after: int, threshold: float
) -> None:
    """Add a frame to the candidates if the last `after` grids, which begin with it, are unlike those before.

    What counts is the least change from any of the frames before to any after. Low-contrast pictures, as dark
    ones, differ by little: if their shapes have nothing in common, a third of the threshold is enough.
    """
    here = len(recent) - after
    unlike = _correlation(recent[here - 1], recent[here]) < _CORRELATED
    enough, change = threshold * (_UNLIKE if unlike else 1.0), math.inf
    for one in reversed(recent[max(0, here - _FLASH) : here]):
        for other in recent[here:]:
            change = min(change, _change(one, other))
            if change < enough:
                return
    candidates[frame] = change


def _correlation(one: Signature, other: Signature) -> float:
    """Pearson's, of two grids; 1 if one of them is flat and has no shape."""
    if one.shape != other.shape:
        return 0.0
    a, b = one - one.mean(), other - other.mean()
    power = float((a * a).mean() * (b * b).mean())
    return float((a * b).mean() / math.sqrt(power)) if power > 1.0 else 1.0


def _shots(survey: _Survey, wanted: Detection, rate: float, parts: Sequence[Part] | None) -> list[Shot]:
    """The shots in frames of the source; where the clip leaves frames out, a shot ends."""
    changes = survey.changes
    parts = parts or [Part(0, len(changes))]
    least = wanted.min_frames or max(1, math.ceil(rate * MIN_SECONDS))
    most = None if wanted.max_seconds is None else max(1, int(rate * wanted.max_seconds))
    shots, first = [], 0
    for part in parts:
        end = min(first + part.end - part.start, len(changes))
        own = _cuts(survey, least, first, end)
        for low, high in _divided([first, *own, end], most):
            activity = float(np.mean(changes[low + 1 : high])) if high - low > 1 else 0.0
            shots.append(Shot(part.start + low - first, part.start + high - first, activity))
        first = end
    return shots


def _cuts(survey: _Survey, least: int, first: int, end: int) -> list[int]:
    """The first frames of the shots after the first, the clearest cut first wherever two are too close."""
    changes = survey.changes
    clear = [(0.0, frame) for frame in survey.fades if first < frame < end]
    for frame, change in survey.candidates.items():
        before = _before(changes, first, frame)
        after = changes[frame + 1 : min(end, frame + 1 + _AROUND)]
        level = max((median(side) for side in (before, after) if side), default=0.0)
        if first < frame < end and change >= _STANDS_OUT * level:
            clear.append((change, frame))
    bounds = [first, end]
    for _, frame in sorted(clear, key=lambda cut: (-cut[0], cut[1])):
        place = bisect(bounds, frame)
        if bounds[place - 1] + least <= frame <= bounds[place] - least:
            bounds.insert(place, frame)
    return bounds[1:-1]


def _divided(bounds: Sequence[int], most: int | None) -> list[tuple[int, int]]:
    """The stretches between bounds, long ones in pieces of about equal length."""
    pieces = []
    for start, end in pairwise(bounds):
        if end == start:
            continue
        count = 1 if most is None else math.ceil((end - start) / most)
        edges = [start + (end - start) * place // count for place in range(count + 1)]
        pieces += list(pairwise(edges))
    return pieces

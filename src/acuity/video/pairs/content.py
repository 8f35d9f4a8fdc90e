"""What the pictures themselves show: black bars, and samples that contradict the range of their video.

`Look` gathers a few figures of every few pictures of one video, as it was decoded. `remarks()` compares those
of the two videos.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import InputError, PairingError, to_set
from acuity.video import notes
from acuity.video.pairs.pair_options import AUTO, Rectangle
from acuity.video.pairs.pair_plan import PairPlan, Side

if TYPE_CHECKING:
    from acuity.video.notes import Note
    from acuity.video.picture import Picture
    from acuity.video.readers.reader import VideoInfo, VideoReader

# Of how many pictures one is looked at, and of its samples every how many in each direction.
_EVERY: Final = 8
_STEP: Final = 4
# How many pictures tell where the bars are before the comparison begins.
_PROBES: Final = 12

# Means of a line, in 8-bit levels above black: bars are below the first, the picture is above the second.
_BAR: Final = 8
_PICTURE: Final = 24
# Bars are at least so many lines, and so much of the picture, and leave so much of it.
_FEWEST_LINES: Final = 4
_LEAST_SHARE: Final = 0.01
_LEAST_PICTURE: Final = 0.25

# Levels by which noise and ringing may leave 16 to 235, and the share of samples that may leave it further.
_MARGIN: Final = 4
_TRACE: Final = 0.002
# How many times as many of one video as of the other leave the range, for the other to speak against it.
_APART: Final = 4

_SIDES: Final = ("left", "right", "above", "below")


class Look:
    """Figures of the pictures of one video."""

    def __init__(self, info: VideoInfo) -> None:
        self._info = info
        self._count = 0
        self._lines: tuple[Any, Any] | None = None  # means of columns and of rows, the highest so far
        self._samples = 0
        self._outside = 0

    def see(self, picture: Picture) -> None:
        """Take in the next picture; most are passed over, since bars don't come and go."""
        self._count += 1
        if self._count % _EVERY == 1:
            self.study(picture)

    def study(self, picture: Picture) -> None:
        """Take in this picture."""
        import numpy as np

        luma = picture.luma
        means = luma[::_STEP].mean(axis=0), luma[:, ::_STEP].mean(axis=1)
        before = self._lines
        self._lines = (
            means if before is None else (np.maximum(before[0], means[0]), np.maximum(before[1], means[1]))
        )
        few = luma[::_STEP, ::_STEP]
        unit = 1 << (picture.format.depth - 8)
        self._samples += few.size
        self._outside += int(((few < (16 - _MARGIN) * unit) | (few > (235 + _MARGIN) * unit)).sum())

    @property
    def outside(self) -> float:
        """The share of luma that clearly leaves 16 to 235."""
        return self._outside / max(self._samples, 1)

    @property
    def bars(self) -> tuple[int, int, int, int]:
        """Black columns at the left and right, black rows above and below."""
        return self._dark(_BAR)

    @property
    def dark(self) -> tuple[int, int, int, int]:
        """The same of lines that may be a dark part of the picture."""
        return self._dark(_PICTURE)

    @property
    def active(self) -> Rectangle | None:
        """What lies between the bars, with even edges; None where there are none."""
        left, right, above, below = (edge + edge % 2 for edge in self.bars)
        if not (left or right or above or below):
            return None
        width, height = self._info.width - left - right, self._info.height - above - below
        return Rectangle(width - width % 2, height - height % 2, left, above)

    def _dark(self, limit: int) -> tuple[int, int, int, int]:
        if self._lines is None:
            return 0, 0, 0, 0
        black = 0 if self._info.full_range else 16
        unit = 1 << (self._info.format.depth - 8)
        columns, rows = (_ends(line / unit - black, limit) for line in self._lines)
        return *columns, *rows


def _ends(line: Any, limit: int) -> tuple[int, int]:
    """How many values at either end are below the limit; 0 where too little is left or the edge is soft."""
    bright = (line > limit).nonzero()[0]
    if not len(bright):
        return 0, 0
    first, last = int(bright[0]), int(bright[-1])
    if last + 1 - first < _LEAST_PICTURE * len(line):
        return 0, 0
    # Within a few lines of a bar the picture is there; a dark part of a picture gets brighter by and by.
    near = _FEWEST_LINES + len(line) // 100
    found = []
    for count, beside in (
        (first, line[first : first + near]),
        (len(line) - 1 - last, line[last + 1 - near : last + 1]),
    ):
        enough = count >= max(_FEWEST_LINES, _LEAST_SHARE * len(line))
        found.append(count if enough and beside.max() > max(limit, _PICTURE) else 0)
    return found[0], found[1]


def find_bars(reader: VideoReader) -> Rectangle | None:
    """What lies between the bars of a video, from pictures spread over it; leaves the reader at its start."""
    info = reader.info
    if not info.seekable:
        raise PairingError(
            to_set("crop", AUTO),
            f" looks at the pictures first, and '{info.path}' can be read only once: write",
            " WIDTH:HEIGHT:LEFT:TOP instead",
        )
    look = Look(info)
    with contextlib.suppress(InputError):  # the length was a guess, or the comparison will say what is wrong
        for number in range(_PROBES):
            reader.seek(number * (info.frames or 1) // _PROBES)
            picture = next(iter(reader), None)
            if picture is None:
                break
            look.study(picture)
    reader.seek(0)
    return look.active


def remarks(plan: PairPlan, looks: tuple[Look, Look]) -> Iterator[Note]:
    """What the reader of the score should know about the pictures."""
    if plan.crop is None:
        yield from _about_bars(plan, looks)
    yield from _about_range(plan, looks)


def _about_bars(plan: PairPlan, looks: tuple[Look, Look]) -> Iterator[Note]:
    remedy = to_set("crop", AUTO)
    both = True
    for side, look, other, its in (
        (plan.ref, looks[0], plan.dis, looks[1]),
        (plan.dis, looks[1], plan.ref, looks[0]),
    ):
        mine = _shares(side, look.bars)
        dark = _shares(other, its.dark)
        both = both and any(mine)
        if side.info.rotation == other.info.rotation and any(
            share > least + _LEAST_SHARE for share, least in zip(mine, dark, strict=True)
        ):
            both = False
            text = f"{side.name} has black bars ({_named(look.bars)}) where {other.name} has a picture"
            yield notes.warning("bars", f"{text}: pass ", remedy, " to compare the part that both have")
    if both:
        text = f"both videos have black bars ({_named(looks[0].bars)})"
        yield notes.info("bars", f"{text}: pass ", remedy, " to compare the picture alone")


def _shares(side: Side, bars: tuple[int, int, int, int]) -> list[float]:
    whole = (side.info.width, side.info.width, side.info.height, side.info.height)
    return [count / size for count, size in zip(bars, whole, strict=True)]


def _named(bars: tuple[int, int, int, int]) -> str:
    return ", ".join(f"{count} pixels {where}" for count, where in zip(bars, _SIDES, strict=True) if count)


def _about_range(plan: PairPlan, looks: tuple[Look, Look]) -> Iterator[Note]:
    # A raw or Y4M file that says nothing may be of any range, and RGB is always full.
    limited = [side.range_known and not side.info.full_range for side in plan.sides]
    shares = [look.outside if counts else 0.0 for look, counts in zip(looks, limited, strict=True)]
    for side, share, other in zip(plan.sides, shares, shares[::-1], strict=True):
        if share <= _TRACE:
            continue
        said = "is tagged as limited range" if side.info.full_range is False else "is taken for limited range"
        text = f"{side.name} {said}, but {100 * share:.2g} % of its luma leaves 16 to 235"
        if share > _APART * other:
            yield notes.warning("range-samples", f"{text}: if it is full range, tag it so and score it again")
        else:
            yield notes.info("range-samples", f"{text}, as the other video's does")

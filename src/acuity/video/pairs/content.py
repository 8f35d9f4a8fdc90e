"""Black bars, other colours, and samples that contradict the range of their video, found in pictures."""

from __future__ import annotations

import cmath
import contextlib
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.arrays import np
from acuity.errors import InputError, PairingError, to_set
from acuity.video import notes
from acuity.video.card_picture import CardPicture
from acuity.video.pairs.pair_options import AUTO, Rectangle
from acuity.video.pairs.pair_plan import PairPlan, Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from acuity.video.notes import Note
    from acuity.video.picture import Picture
    from acuity.video.readers.reader import VideoInfo, VideoReader

# One of so many pictures is looked at, and one of so many of its samples in each direction.
EVERY: Final = 8
_STEP: Final = 4
_SMALL: Final = 256  # pixels of the shorter side of pictures that are looked at wholly
# How many pictures tell where the bars are before the comparison begins.
_PROBES: Final = 12
_SECOND: Final = 25  # frames from one of them to the next where the length is unknown

# Means of a line, in 8-bit levels above black: bars are below the first, the picture is above the second.
_BAR: Final = 8
_PICTURE: Final = 24
# Bars are at least so many lines, and so much of the picture, and leave so much of it.
_FEWEST_LINES: Final = 4
_LEAST_SHARE: Final = 0.01
_LEAST_PICTURE: Final = 0.25

# Means of blocks of so many pixels in each direction show neither noise nor ringing. Levels by which they may
# leave 16 to 235, and the share of them that may leave it further.
_BLOCK: Final = 16
_MARGIN: Final = 4
_TRACE: Final = 0.002
# A video contradicts its range only if so many times as much of its luma leaves it as of the other's.
_APART: Final = 4
# From full to limited range, about black.
_SQUEEZED: Final = 219 / 255
# Levels by which lines differ in brightness at least, and how many times less if one of the ranges is wrong.
_LEVELS: Final = 1.5
_BETTER: Final = 3
_CONTRAST: Final = 16  # levels between the brightest and the darkest line of pictures that can show a range

_PLACES: Final = tuple(place / 63 for place in range(64))  # at which the brightness of lines is compared
_SIDES: Final = ("left", "right", "above", "below")

Line: TypeAlias = list[float]  # brightness from one end of a picture to the other


class ContentFigures:
    """Figures of the pictures of one video, which several threads may look at, in any order."""

    def __init__(self, info: VideoInfo, *, full_range: bool, exact: bool = False) -> None:
        from acuity import _native

        self._info = info
        self._full_range = full_range
        self._exact = exact  # to the pixel, not to a few of them
        self.colours = Colours(full_range=full_range)
        self._step = _STEP if min(info.width, info.height) > _SMALL else 1
        self.sums = _native.LumaLook(
            step=self._step,
            line_step=_STEP if exact else 0,
            block=_BLOCK,
            lowest=16 - _MARGIN,
            highest=235 + _MARGIN,
        )

    def see(self, picture: Picture, number: int) -> None:
        """Take in the picture of this number; most are passed over, since bars don't come and go."""
        if number % EVERY == 0:
            self.study(picture, number // EVERY)

    def study(self, picture: Picture, place: int) -> None:
        """Take in this picture, the first, second or later that is looked at."""
        if isinstance(picture, CardPicture) and not self._exact:
            few: Any = np.ascontiguousarray(picture.thinned(self._step))
            self.sums.study(few, picture.format.depth, thinned=True)
        else:
            self.sums.study(picture.luma, picture.format.depth)
            self.colours.see(picture, place)

    @property
    def seen(self) -> bool:
        """Whether there was a picture."""
        return len(self.sums.rows) > 0

    @property
    def outside(self) -> float:
        """The share of the picture whose luma clearly leaves 16 to 235."""
        blocks, outside = self.sums.blocks
        return outside / max(blocks, 1)

    @property
    def bars(self) -> tuple[int, ...]:
        """Black columns at the left and right, black rows above and below."""
        return self._counted(_bars)

    @property
    def dark(self) -> tuple[int, ...]:
        """The same counts for lines that may be a dark part of the picture."""
        return self._counted(lambda line, _: _below(line, _PICTURE))

    @property
    def active(self) -> Rectangle | None:
        """The rectangle between the bars, with even edges; None where there are none."""
        left, right, above, below = (edge + edge % 2 for edge in self.bars)
        if not (left or right or above or below):
            return None
        width, height = self._info.width - left - right, self._info.height - above - below
        return Rectangle(width - width % 2, height - height % 2, left, above)

    @property
    def lines(self) -> tuple[Line, Line]:
        """The highest means of columns and of rows, as 8-bit levels of limited range."""
        unit = 1 << (self._info.format.depth - 8)
        scale, black = (_SQUEEZED, 16.0) if self._full_range else (1.0, 0.0)
        columns, rows = (
            [value / (count * unit) * scale + black for value in line]
            for line, count in zip((self.sums.columns, self.sums.rows), self.sums.samples, strict=True)
        )
        return columns, rows

    def _counted(self, count: Callable[[Line, int], tuple[int, int]]) -> tuple[int, ...]:
        if not self.seen:
            return 0, 0, 0, 0
        step = 1 if self._exact else self._step
        above = ([value - 16 for value in line] for line in self.lines)  # black
        return tuple(number * step for line in above for number in count(line, step))


def _below(line: Line, limit: int) -> tuple[int, int]:
    """How many values at either end are below the limit."""
    first, last = (
        next((place for place, value in enumerate(ends) if value > limit), len(line))
        for ends in (line, line[::-1])
    )
    return first, last


def _bars(line: Line, step: int) -> tuple[int, int]:
    """How many of every `step` lines at either end are a bar; 0 where little is left or the edge is soft."""
    first, last = _below(line, _BAR)
    left = len(line) - first - last
    if left < _LEAST_PICTURE * len(line):
        return 0, 0
    near = min(_FEWEST_LINES + len(line) // 100, left)
    least = max(_FEWEST_LINES / step, _LEAST_SHARE * len(line))
    found = [_edge(ends, count, near) for ends, count in ((line, first), (line[::-1], last))]
    return (found[0] if found[0] >= least else 0), (found[1] if found[1] >= least else 0)


def _edge(line: Line, first: int, near: int) -> int:
    """Where the picture begins, next to the first line that isn't black; 0 where it brightens gradually.

    Encoding blurs the edge, so the picture begins where half its brightness is reached.
    """
    beside = line[first : first + near]
    most = max(beside)
    return first + [value > most / 2 for value in beside].index(True) if most > _PICTURE else 0


def find_bars(reader: VideoReader) -> Rectangle | None:
    """The rectangle between the bars of a video, from pictures spread over it; rewinds the reader."""
    info = reader.info
    if not info.seekable:
        raise PairingError(
            to_set("crop", AUTO),
            f" looks at the pictures first, and '{info.path}' can be read only once: write",
            " WIDTH:HEIGHT:LEFT:TOP instead",
        )
    look = ContentFigures(info, full_range=bool(info.full_range) and not info.rgb, exact=True)
    with contextlib.suppress(InputError):  # the length was a guess, or the comparison will say what is wrong
        for number in range(_PROBES):
            reader.seek(number * (info.frames or _PROBES * _SECOND) // _PROBES)
            picture = next(iter(reader), None)
            if picture is None:
                break
            look.study(picture, number)
    reader.seek(0)
    return look.active


def remarks(plan: PairPlan, looks: Sequence[ContentFigures]) -> Iterator[Note]:
    """Notes about what the pictures of the two videos show."""
    if plan.crop is None:
        yield from _about_bars(plan, looks)
    about_range = [*_about_range(plan, looks)]
    yield from about_range
    if any(note.level == "warning" for note in about_range):
        return  # another range is another saturation
    if (how := looks[0].colours.difference(looks[1].colours)) is not None:
        text = f"the colours of {plan.dis.name} differ from those of {plan.ref.name} {how}"
        yield notes.warning("colours", f"{text}; VMAF sees luma alone, so its score doesn't show it")


def _about_bars(plan: PairPlan, looks: Sequence[ContentFigures]) -> Iterator[Note]:
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


def _shares(side: Side, bars: tuple[int, ...]) -> list[float]:
    whole = (side.info.width, side.info.width, side.info.height, side.info.height)
    return [count / size for count, size in zip(bars, whole, strict=True)]


def _named(bars: tuple[int, ...]) -> str:
    sides = zip(bars, _SIDES, strict=True)
    return ", ".join(f"about {count} pixels {where}" for count, where in sides if count)


def _about_range(plan: PairPlan, looks: Sequence[ContentFigures]) -> Iterator[Note]:
    lines = _lines(plan, looks)
    shifted = lines is not None and _same_contrast(*lines)  # brighter or darker, at both ends
    wrong = None if lines is None or shifted else _wrong_range(plan, *lines)
    # A raw or Y4M file that says nothing may be of any range, and RGB is always full.
    limited = [side.range_known and not side.info.full_range for side in plan.sides]
    shares = [
        0.0 if side.read_full_range else look.outside for side, look in zip(plan.sides, looks, strict=True)
    ]
    for side, other, counts, share, its in zip(
        plan.sides, plan.sides[::-1], limited, shares, shares[::-1], strict=True
    ):
        names = ("full", "limited") if side.info.full_range else ("limited", "full")
        taken = "taken for" if side.info.full_range is None else "tagged as"
        said = f"{side.name} is {taken} {names[0]} range"
        outside = f"{100 * share:.2g} % of its luma leaves 16 to 235"
        more = share > max(_TRACE, _APART * its)
        if side is wrong or (counts and more and not shifted):
            why = outside if share > _TRACE else f"its luma is that of {other.name} in {names[1]} range"
            advice = f"if it is {names[1]} range, tag it so and score it again"
            yield notes.warning("range-samples", f"{said}, but {why}: {advice}")
        elif counts and share > _TRACE and not more:
            yield notes.info("range-samples", f"{said}, but {outside}, as the other video's does")


def _wrong_range(plan: PairPlan, one: Line, other: Line) -> Side | None:
    """The video whose lines are as bright as the other's if its own range is taken for the opposite."""
    ref, dis = plan.sides
    apart = _distance(one, other)
    for narrow, wide, levels in ((ref, dis, (one, other)), (dis, ref, (other, one))):
        widened = [(level - 16) / _SQUEEZED for level in levels[0]]
        if apart > max(_LEVELS, _BETTER * _distance(widened, levels[1])):
            # At fault is the video tagged as full range that isn't, or else the one that is and isn't tagged.
            found = narrow if narrow.info.full_range and not narrow.info.rgb else wide
            return found if found.range_known and not found.info.rgb else None
    return None


def _lines(plan: PairPlan, looks: Sequence[ContentFigures]) -> tuple[Line, Line] | None:
    """The brightness of both videos' lines at the same places; None where it shows no range."""
    ref, dis = plan.sides
    if plan.crop or ref.info.rotation != dis.info.rotation or not all(look.seen for look in looks):
        return None
    one, other = ([level for line in look.lines for level in _thinned(line)] for look in looks)
    return None if min(max(one) - min(one), max(other) - min(other)) < _CONTRAST else (one, other)


def _thinned(line: Line) -> Iterator[float]:
    """The line at _PLACES, straight from each value to the next."""
    for place in _PLACES:
        whole = min(int(place * (len(line) - 1)), max(len(line) - 2, 0))
        left, right = line[whole], line[min(whole + 1, len(line) - 1)]
        yield left + (right - left) * (place * (len(line) - 1) - whole)


def _same_contrast(one: Line, other: Line) -> bool:
    """Whether the dark and the bright end differ alike: another range would bring them together or apart."""
    spread = [_distance(line, [sum(line) / len(line)] * len(line)) for line in (one, other)]
    return bool(_SQUEEZED**0.5 < spread[1] / spread[0] < _SQUEEZED**-0.5)


def _distance(one: Line, other: Line) -> float:
    """The root of the mean squared difference."""
    return math.dist(one, other) / math.sqrt(len(one))


_CELLS: Final = (9, 16)
_MOST_STRETCHES: Final = 64  # of a video, each with means of its own: over a whole film colours average out
# 8-bit steps by which chroma differs, as the root of a mean square, and the share of the chroma that it is.
_OFF: Final = 4.0
_OFF_SHARE: Final = 0.35
# The same where one turn of the hue and one saturation explain the difference of all stretches, and the
# chroma that they need: encoders may lose what is fainter.
_FEW_STEPS: Final = 2.0
_LITTLE: Final = 0.12
_FAINT: Final = 6.0
_LIMITED: Final = 224 / 255  # chroma of full range in limited range
_FITS: Final = 0.4  # share of the difference that its explanation may leave
_TURN: Final = 5.0  # degrees of hue that are worth a word
_GREY: Final = 0.15  # of the saturation, below which there is no hue

Chroma: TypeAlias = "NDArray[np.complex128]"  # Cb and Cr


class Colours:
    """Means of the chroma of pictures in a grid of cells, of each stretch of a video.

    VMAF sees luma alone.
    """

    def __init__(self, *, full_range: bool) -> None:
        self._scale = _LIMITED if full_range else 1.0
        self._stretch = 1  # pictures of one; doubled where there would be too many
        self._sums: dict[int, Chroma] = {}  # of stretches, by their number
        self._counts: Counter[int] = Counter()  # pictures of each
        self._joining = threading.Lock()  # because pictures may come from several threads

    def see(self, picture: Picture, number: int) -> None:
        """Take in the picture of this number, if its chroma is at hand."""
        from acuity import _native

        planes = picture.planes[1:] or picture.chroma
        if len(planes) < 2 or any(np.less(plane.shape, _CELLS).any() for plane in planes):
            return
        cells = np.empty((2, *_CELLS), np.float32)
        for plane, means in zip(planes, cells, strict=True):
            _native.signature(plane, picture.format.depth, means)
        with self._joining:
            self._add(number // self._stretch, self._scale * (cells[0] + 1j * cells[1]), 1)
            while len(self._sums) > _MOST_STRETCHES:
                self._join(2 * self._stretch)

    def difference(self, other: Colours) -> str | None:
        """In words how the other's colours differ from these; None where they don't or aren't known."""
        stretch = max(self._stretch, other._stretch)
        self._join(stretch)
        other._join(stretch)
        both = sorted(self._sums.keys() & other._sums.keys())
        if not both:
            return None
        mine, its = (np.stack([one._sums[n] / one._counts[n] for n in both]) for one in (self, other))
        off, most = _size(its - mine), max(_size(mine), _size(its))
        steps = f"by {off:.0f} of 255 steps"
        swapped = mine.imag + 1j * mine.real
        if off >= max(_OFF, _OFF_SHARE * most) and _size(its - swapped) < _FITS * off:
            return f"{steps}: Cb and Cr are swapped"
        factor = complex((np.conj(mine) * its).sum() / max(float(np.square(np.abs(mine)).sum()), 1e-9))
        explained = most >= _FAINT and _size(its - factor * mine) < _FITS * off
        if explained and off >= max(_FEW_STEPS, _LITTLE * most):
            degrees = math.degrees(cmath.phase(factor))
            words = [f"saturation {abs(factor):.0%}"]
            if abs(degrees) >= _TURN and abs(factor) > _GREY:
                words.append(f"hue turned by {abs(degrees):.0f} degrees")
            return f"{steps}: {', '.join(words)}"
        # An unexplained difference may come from frames of other moments: means over all hardly show it.
        mine, its = mine.mean(axis=0), its.mean(axis=0)
        off, most = _size(its - mine), max(_size(mine), _size(its))
        return f"by {off:.0f} of 255 steps" if off >= max(_OFF, _OFF_SHARE * most) else None

    def _add(self, stretch: int, sums: Chroma, count: int) -> None:
        self._sums[stretch] = self._sums.get(stretch, 0) + sums
        self._counts[stretch] += count

    def _join(self, pictures: int) -> None:
        """Make stretches of so many pictures, a multiple of what they have."""
        times, sums, counts = pictures // self._stretch, self._sums, self._counts
        self._stretch, self._sums, self._counts = pictures, {}, Counter()
        for stretch, one in sums.items():
            self._add(stretch // times, one, counts[stretch])


def _size(chroma: Chroma) -> float:
    return float(np.square(np.abs(chroma)).mean() ** 0.5)

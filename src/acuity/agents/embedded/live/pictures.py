"""Small copies of the pairs that are measured, while somebody watches; those of the worst frames are kept.

The measuring thread copies every sixth sample of a 1080p picture, about 320 across, and only as long as that
takes a small share of its time: where frames are quick, one in several is copied. Copies wait in a ring until
their frame has a score; the server's thread then keeps the lowest. Nothing is copied while nobody watches.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from acuity.measure import Measurement
from acuity.video.picture import LAYOUTS, Picture, PixelFormat
from acuity.video.rgb import usual_matrix

if TYPE_CHECKING:
    from acuity.features.extractor import Pair

logger: Final = logging.getLogger(__name__)

Kind: TypeAlias = Literal["reference", "distorted"]
KINDS: Final[tuple[Kind, ...]] = ("reference", "distorted")

ACROSS: Final = 320  # samples of a row, at most
WATCH: Final = 10.0  # seconds that a question for pictures counts as watching
KEPT: Final = 24  # pairs with the lowest scores
NEAR: Final = 12  # frames: how far a picture may be from the frame that it stands for
_WAITING: Final = 128  # pairs whose score isn't known yet: 15 MB of 8-bit luma
SHARE: Final = 0.003  # of the measurement's time
_BURST: Final = 0.02  # seconds of copying that need not be saved up


class SmallPair(NamedTuple):
    frame: int
    matrix: str  # that players take for videos of the whole picture's size
    reference: Picture
    distorted: Picture


class LivePictures:
    """The pictures of one measurement. show() is for the measuring thread, all else for the server's."""

    def __init__(
        self,
        measurement: Measurement,
        *,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
        share: float = SHARE,
        watch: float = WATCH,
    ) -> None:
        self._measurement, self._clock, self._spent = measurement, clock, spent
        self._share = share * measurement.threads
        self._watch = watch
        self._until = 0.0  # by the clock: when nobody watches any more
        self._remove: Callable[[], None] | None = None
        self._allowance = 0.0  # seconds of copying that are free now
        self._granted = 0.0  # up to when, by the clock, the share was added
        self._waiting: deque[SmallPair] = deque(
            maxlen=_WAITING
        )  # put in by one thread, taken out by the other
        self._kept: dict[int, tuple[float, SmallPair]] = {}  # by frame, with the score
        self._files: dict[tuple[int, Kind], bytes] = {}  # files that a client asked for, kept for the next

    # ---- the measuring thread ---------------------------------------------------------------

    def show(self, index: int, pair: Pair) -> None:
        """Copy a frame's pictures, if somebody watches and there is time for it."""
        now = self._clock()
        if now >= self._until:
            return
        self._allowance = min(self._allowance + (now - self._granted) * self._share, _BURST)
        self._granted = now
        if self._allowance <= 0.0:
            return
        begun = self._spent()
        try:
            matrix = usual_matrix(pair.ref.width, pair.ref.height)
            self._waiting.append(SmallPair(index, matrix, small(pair.ref), small(pair.dis)))
        except Exception:  # a fault of ours must not end somebody's measurement
            logger.exception("pictures of frame %d could not be copied", index)
            self.close()
        self._allowance -= self._spent() - begun

    # ---- the server's thread ----------------------------------------------------------------

    def watch(self) -> None:
        """Copy pictures from now on, for some seconds."""
        now = self._clock()
        if now >= self._until:
            self._allowance, self._granted = _BURST, now
        self._until = now + self._watch
        if self._remove is None and not self._measurement.over:
            self._remove = self._measurement.boundary.on_pictures(self.show)

    def close(self) -> None:
        """Copy nothing more; what is kept stays."""
        self._until = 0.0
        if self._remove is not None:
            self._remove()
            self._remove = None

    def settle(self, newest: int, score_of: Callable[[int], float | None]) -> None:
        """Keep the pictures of the lowest frames up to the newest that has a score, and drop the others."""
        while self._waiting and self._waiting[0].frame <= newest:
            pair = self._waiting.popleft()
            score = score_of(pair.frame)
            if score is None:
                continue
            self._kept[pair.frame] = score, pair
            if len(self._kept) > KEPT:
                dropped = max(self._kept, key=lambda frame: (self._spare(frame), self._kept[frame][0], frame))
                del self._kept[dropped]
                for kind in KINDS:
                    self._files.pop((dropped, kind), None)
        if self._remove is not None and self._clock() >= self._until:
            self.close()

    def _spare(self, frame: int) -> bool:
        """Whether a lower frame close by shows the same place: the lowest frames are often neighbours."""
        score = self._kept[frame][0], frame
        return any(
            abs(other - frame) <= NEAR // 2 and (lower, other) < score
            for other, (lower, _) in self._kept.items()
        )

    def nearest(self, frame: int) -> int | None:
        """The frame whose picture stands for this one: itself, or one close by."""
        found = min(self._kept, key=lambda other: (abs(other - frame), other), default=None)
        return found if found is not None and abs(found - frame) <= NEAR else None

    def png(self, frame: int, kind: Kind) -> bytes | None:
        """A picture that is kept, as a PNG file, which is made once."""
        if (kept := self._kept.get(frame)) is None:
            return None
        if (file := self._files.get((frame, kind))) is None:
            pair = kept[1]
            file = encoded(pair.reference if kind == "reference" else pair.distorted, pair.matrix)
            self._files[frame, kind] = file
        return file

    @property
    def kept(self) -> Mapping[int, float]:
        return {frame: score for frame, (score, _) in self._kept.items()}


def small(picture: Picture) -> Picture:
    """A copy with every nth sample of every nth row, ACROSS wide at most; where there is chroma, as 4:4:4."""
    depth, layout = picture.format.depth, picture.format.layout
    shift = LAYOUTS[layout] if len(picture.planes) == 3 else None
    step = -(-picture.width // ACROSS)
    if shift is None:  # no chroma, or nobody reads it
        return Picture((picture.luma[::step, ::step].copy(),), PixelFormat("400", depth))
    if step == 1:
        return Picture(tuple(plane.copy() for plane in picture.planes), picture.format)
    step += step & max(shift)  # even, so that samples of chroma lie under those of luma
    across, down = shift
    planes = [picture.luma[::step, ::step]]
    planes += [plane[:: step >> down, :: step >> across] for plane in picture.planes[1:]]
    rows, columns = (min(plane.shape[axis] for plane in planes) for axis in (0, 1))
    return Picture(tuple(plane[:rows, :columns].copy() for plane in planes), PixelFormat("444", depth))


def encoded(picture: Picture, matrix: str) -> bytes:
    """A picture as a PNG file. The video's range isn't known here, so the limited one is assumed.

    One without chroma becomes a grey file, in a third of the time.
    """
    from acuity.png import grey_png, rgb_png
    from acuity.video.rgb import to_rgb8

    if len(picture.planes) == 1:
        return grey_png(np.take(_shades(picture.format.depth), picture.luma, mode="clip"))
    return rgb_png(to_rgb8(picture, matrix))


@cache
def _shades(depth: int) -> NDArray[np.uint8]:
    """The grey of a display for each value of luma of the limited range."""
    values = np.arange(1 << depth, dtype=np.float32) / (1 << (depth - 8))
    return np.rint(np.clip((values - 16) / 219, 0, 1) * 255).astype(np.uint8)

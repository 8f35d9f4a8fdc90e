"""The conveyor: batches of frames that are uploaded, computed and fetched in several streams at once.

A batch is one chain of work in its stream: pictures up, kernels, sums down, an event. Nothing waits for the
card until the oldest batch is finished, when two younger ones are already under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acuity.devices.cpu import check_layouts
from acuity.devices.cuda.batch import BatchFigures
from acuity.devices.cuda.fitting import CardFit, Needs, fits, too_small
from acuity.devices.cuda.hardware.card import Card
from acuity.devices.cuda.pictures import Pictures
from acuity.devices.cuda.stage import Stage, TwinGroup
from acuity.errors import CardMemoryError

if TYPE_CHECKING:
    from acuity.features.extractor import Extractor, Frame, Geometry


class CudaConveyor:
    """Computes batches of frames on one card, several at once; used by one thread at a time.

    `most` is how many frames a batch has at most.
    """

    def __init__(self, card: Card, geometry: Geometry, share: int = 1) -> None:
        self._card = card
        self._geometry = geometry
        self._smaller = iter(fits(geometry, share))
        self._build(next(self._smaller))

    def _build(self, fit: CardFit) -> None:
        self.most = fit.most
        self._pictures = Pictures(self._card, self._geometry, fit.slots)
        self._idle: deque[Stage] = deque(
            Stage(self._card, self._geometry, fit.most) for _ in range(fit.streams)
        )
        self._busy: deque[Stage] = deque()

    @property
    def pending(self) -> int:
        """How many frames are under way."""
        return sum(len(stage.frames) for stage in self._busy)

    @property
    def full(self) -> bool:
        """Whether a batch has to be finished before another one starts."""
        return not self._idle

    def runner(self, kind: type[Extractor], members: Sequence[Extractor]) -> TwinGroup:
        """The runner for start() of these extractors, which are of one kind and share work."""
        return TwinGroup(kind, members)

    def prepare(self, planes: int | None, runners: Sequence[TwinGroup], *, uploads: bool = True) -> None:
        """Reserve memory for these runners, on so many planes; batches become smaller if it is short.

        With `uploads` also for pictures that are uploaded: those that lie on the card need none. Raises
        CardMemoryError if it doesn't even suffice for one frame, or if other batches must be finished before
        they can become smaller.
        """
        with self._card.in_place():
            while (error := self._reserve(planes, runners, uploads)) is not None:
                if self._busy:
                    raise error
                self._idle.clear()  # frees their memory
                del self._pictures
                if (fit := next(self._smaller, None)) is None:
                    raise too_small(self._card, Needs(self._geometry, planes, runners, uploads), error)
                self._build(fit)

    def _reserve(
        self, planes: int | None, groups: Sequence[TwinGroup], uploads: bool
    ) -> CardMemoryError | None:
        """Reserve memory for batches of these groups; returns an error if the card has too little."""
        try:
            if not self._pictures.fits(planes):
                self._settle()
                self._pictures.reserve(planes)
            if uploads:
                self._pictures.allocate()
            for stage in (*self._idle, *self._busy):
                stage.prepare(planes, groups)
        except CardMemoryError as error:
            # Its traceback would keep the memory of what was being made.
            return error.with_traceback(None)
        return None

    def start(
        self, frames: Sequence[Frame], planes: int | None, work: Sequence[tuple[TwinGroup, Sequence[int]]]
    ) -> None:
        """Start a batch of at most `most` frames, for which everything was prepared.

        `work` has each runner with the positions of the frames that it computes.
        """
        if planes != 1:  # luma is as large in all pictures
            for frame in frames:
                check_layouts(frame, planes)
        with self._card.in_place():
            stage = self._idle.popleft()
            self._busy.append(stage)
            stage.start(self._pictures, frames, planes, work, self._release_oldest)

    def _settle(self) -> None:
        """Let all batches reach their end; their figures are fetched later."""
        for stage in self._busy:
            stage.wait()

    def _release_oldest(self) -> bool:
        """Release the pictures of the oldest batch when it has read them; returns whether there is one."""
        stage = next((stage for stage in self._busy if stage.reads), None)
        if stage is None:
            return False
        stage.wait()
        stage.reads = False
        self._pictures.release()
        return True

    def finish(self) -> list[BatchFigures]:
        """Wait for the oldest batch, and return its figures."""
        stage = self._busy[0]
        if stage.reads:
            self._release_oldest()
        found = stage.finish()
        self._idle.append(self._busy.popleft())
        return found

    def close(self) -> None:
        """Wait for everything under way, and give all memory back."""
        self._settle()
        self._busy.clear()

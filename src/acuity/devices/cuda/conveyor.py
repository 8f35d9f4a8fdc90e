"""The conveyor: batches of frames that are uploaded, computed and fetched in several streams at once.

A batch is one chain of work in its stream: pictures up, kernels, sums down, an event. Nothing waits for the
card until the oldest batch is finished, when two younger ones are already under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cpu import check_layouts
from acuity.devices.cuda.batch import FRAME, Batch, Bench, Columns, Twin
from acuity.devices.cuda.card import Card, Event, Memory
from acuity.devices.cuda.pictures import Pictures, Staging
from acuity.devices.cuda.samples import SampleCheck, may_be_deeper
from acuity.devices.cuda.table import TWINS
from acuity.devices.device import Figures
from acuity.features.extractor import REACH

if TYPE_CHECKING:
    from acuity.features.extractor import Extractor, Frame, Geometry

STREAMS: Final = 3
_SAMPLES: Final = 1 << 24  # of luma in a batch, about: eight frames of 1080p
_MOST: Final = 64  # frames of a batch
_WORD: Final = 8
_MOST_LAUNCHES: Final = 256  # of each stream that are remembered


def batch_frames(geometry: Geometry) -> int:
    """How many frames a batch has at most: enough to fill the card."""
    return max(1, min(_MOST, _SAMPLES // (geometry.width * geometry.height)))


class _Launch(NamedTuple):
    """What a twin's kernels are started with: addresses of FRAME records and of sums, for so many frames."""

    twin: Twin
    frames: int
    size: int
    sums: int


class Group:
    """A group of extractors, with a twin for each stream."""

    def __init__(self, kind: type[Extractor], members: Sequence[Extractor]) -> None:
        self.kind = kind
        self.members = members


class CudaConveyor:
    """Batches on one card; an implementation of Conveyor."""

    def __init__(self, card: Card, geometry: Geometry) -> None:
        self.most = batch_frames(geometry)
        self._card = card
        self._geometry = geometry
        # A slot for each picture of the batches under way and of the pairs before them.
        self._pictures = Pictures(card, geometry, 2 * (self.most * (STREAMS + 1) + REACH))
        self._idle: deque[_Stage] = deque(_Stage(card, geometry, self.most) for _ in range(STREAMS))
        self._busy: deque[_Stage] = deque()

    @property
    def pending(self) -> int:
        return sum(len(stage.frames) for stage in self._busy)

    @property
    def full(self) -> bool:
        return not self._idle

    def runner(self, kind: type[Extractor], members: Sequence[Extractor]) -> Group:
        return Group(kind, members)

    def start(
        self, frames: Sequence[Frame], planes: int | None, work: Sequence[tuple[Group, Sequence[int]]]
    ) -> None:
        if planes != 1:  # luma is as large in all pictures
            for frame in frames:
                check_layouts(frame, planes)
        with self._card.in_place():
            if not self._pictures.fits(planes):
                self._settle()
                self._pictures.reserve(planes)
            stage = self._idle.popleft()
            self._busy.append(stage)
            stage.start(self._pictures, frames, planes, work)

    def _settle(self) -> None:
        """Let all batches reach their end; their figures are fetched later."""
        for stage in self._busy:
            stage.wait()

    def finish(self) -> list[Figures]:
        stage = self._busy[0]
        found = stage.finish()
        self._pictures.release()
        self._idle.append(self._busy.popleft())
        return found

    def close(self) -> None:
        self._settle()
        self._busy.clear()


class _Stage:
    """One stream, with its twins and the memory of one batch."""

    def __init__(self, card: Card, geometry: Geometry, most: int) -> None:
        self.frames: Sequence[Frame] = ()
        self._card = card
        self._geometry = geometry
        self._bench = Bench(card, most)
        self._stream = card.stream()
        self._staging = Staging(card)
        self._twins: dict[Group, Twin] = {}
        self._checks: dict[int | None, SampleCheck] = {}  # by the number of planes
        self._tables = _Buffer(card)
        self._sums = _Buffer(card)
        self._launches: dict[_Launch, Callable[[], None]] = {}  # those that were done before
        # Of the batch under way: each twin, the positions of its frames, and where its sums start.
        self._work: list[tuple[Twin, Sequence[int], int]] = []
        self._done: Event | None = None

    def start(
        self,
        pictures: Pictures,
        frames: Sequence[Frame],
        planes: int | None,
        work: Sequence[tuple[Group, Sequence[int]]],
    ) -> None:
        self.frames = frames
        self._done = None
        self._staging.clear()
        records = pictures.upload(frames, self._stream, self._staging)
        self._twins = {group: self._twins.get(group) or self._make(group) for group, _ in work}
        twins = [(self._twins[group], positions) for group, positions in work if len(positions)]
        if may_be_deeper(self._geometry.depth):
            twins.insert(0, (self._sample_check(planes), range(len(frames))))
        self._work, words = [], 0
        for twin, positions in twins:
            self._work.append((twin, positions, words))
            words += twin.words * len(positions)
        self._sums.reserve(words * _WORD)
        self._stream.clear(self._sums.address, words * _WORD)
        places = self._upload_tables(records, [positions for _, positions in twins])
        for twin, positions, start in self._work:
            sums = self._sums.address + start * _WORD
            self._launch(_Launch(twin, places[tuple(positions)], len(positions), sums))
        self._stream.download(self._sums.host[: words * _WORD], self._sums.address)
        self._done = self._stream.mark()

    def _launch(self, launch: _Launch) -> None:
        """Start a twin's kernels: the same calls as before, if they were made with these arguments."""
        if (again := self._launches.get(launch)) is not None:
            again()
            return
        if len(self._launches) >= _MOST_LAUNCHES:
            self._launches.clear()
        twin, frames, size, sums = launch
        batch = Batch(self._stream, frames, size)
        self._launches[launch] = self._stream.repeatable(lambda: twin.launch(batch, sums))

    def _sample_check(self, planes: int | None) -> SampleCheck:
        if planes not in self._checks:
            self._checks[planes] = SampleCheck(self._geometry, planes, self._bench)
        return self._checks[planes]

    def _make(self, group: Group) -> Twin:
        twin: Twin = TWINS[group.kind].twin()(group.members, self._geometry, self._bench)
        return twin

    def _upload_tables(
        self, records: NDArray[Any], wanted: Sequence[Sequence[int]]
    ) -> dict[tuple[int, ...], int]:
        """Upload the records of each choice of frames once; returns their addresses."""
        choices = dict.fromkeys(tuple(positions) for positions in wanted)
        size = sum(map(len, choices)) * FRAME.itemsize
        self._tables.reserve(size)
        host = self._tables.host[:size].view(FRAME)
        places, start = {}, 0
        for choice in choices:
            chosen = records if len(choice) == len(records) else records[list(choice)]
            host[start : start + len(choice)] = chosen
            places[choice] = self._tables.address + start * FRAME.itemsize
            start += len(choice)
        if size:
            self._stream.upload(self._tables.address, size, self._tables.host[:size].reshape(1, -1))
        return places

    def wait(self) -> None:
        if self._done is None:  # its start failed midway, and what it had started reads pictures
            self._done = self._stream.mark()
        self._done.wait()

    def finish(self) -> list[Figures]:
        self.wait()
        words = self._sums.host.view(np.int64)
        found: list[Figures] = []
        for twin, positions, start in self._work:
            count = len(positions)
            sums = words[start : start + count * twin.words].reshape(count, twin.words)
            frames = self.frames if count == len(self.frames) else [self.frames[p] for p in positions]
            found += _figures(twin, sums, frames)
        self.frames, self._work = (), []
        return found


def _figures(twin: Twin, sums: NDArray[np.int64], frames: Sequence[Frame]) -> Iterator[Figures]:
    """The figures of a twin's frames: those of all at once, if it gives them so."""
    columns: Columns | None = getattr(twin, "columns", None)
    if columns is not None:
        yield Figures([frame.index for frame in frames], columns(sums, frames))
        return
    for row, frame in zip(sums, frames, strict=True):
        figures = twin.figures(row, frame)
        yield Figures([frame.index], {key: [value] for key, value in figures.items()})


class _Buffer:
    """Memory on the card with as much page-locked memory beside it; it grows as needed."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._memory: Memory | None = None
        self.host = np.zeros(0, np.uint8)

    @property
    def address(self) -> int:
        return self._memory.address if self._memory is not None else 0

    def reserve(self, size: int) -> None:
        if self._memory is None or self._memory.size < size:
            self._memory = self._card.allocate(max(size, _WORD))
            self.host = self._card.pinned(max(size, _WORD))

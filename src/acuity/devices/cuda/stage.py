"""A stage of the conveyor: one stream, with its twins and the memory of one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cpu import check_depths
from acuity.devices.cuda.batch import FRAME, Batch, BatchFigures, Bench, Columns, Twin
from acuity.devices.cuda.hardware.card import Card, CardEvent, CardMemory
from acuity.devices.cuda.pictures import Pictures, Staging, plane_layouts
from acuity.devices.cuda.table import TWINS

if TYPE_CHECKING:
    from acuity.features.extractor import Extractor, Frame, Geometry

_BLOCKS: Final = 32  # for each plane
_BLOCK: Final = (256, 1, 1)
_WORD: Final = 8
_MOST_LAUNCHES: Final = 256  # of each stream that are remembered


class _Launch(NamedTuple):
    """The arguments of a twin's kernels: addresses of FRAME records and of sums, for so many frames."""

    twin: Twin
    frames: int
    size: int
    sums: int


@dataclass(frozen=True, slots=True, eq=False)
class TwinGroup:
    """A group of extractors, with a twin for each stream."""

    kind: type[Extractor]
    members: Sequence[Extractor]


class Stage:
    """One stream, with its twins and the memory of one batch."""

    def __init__(self, card: Card, geometry: Geometry, most: int) -> None:
        self.frames: Sequence[Frame] = ()
        self.reads = False  # whether a batch under way may still read its pictures
        self._card = card
        self._geometry = geometry
        self._most = most
        self._bench = Bench(card, most)
        self._stream = card.stream()
        self._staging = Staging(card)
        self._twins: dict[TwinGroup, Twin] = {}
        self._checks: dict[int | None, SampleCheck] = {}  # by the number of planes
        self._tables = _Buffer(card)
        self._sums = _Buffer(card)
        self._launches: dict[_Launch, Callable[[], None]] = {}  # those that were done before
        # Of the batch under way: each twin, the positions of its frames, and where its sums start.
        self._work: list[tuple[Twin, Sequence[int], int]] = []
        self._done: CardEvent | None = None

    def prepare(self, planes: int | None, groups: Sequence[TwinGroup]) -> None:
        """Reserve memory for batches of these groups; raises CardMemoryError."""
        place = self._geometry, self._bench
        self._twins = {g: self._twins.get(g) or TWINS[g.kind].twin()(g.members, *place) for g in groups}
        words = sum(twin.words for twin in self._twins.values())
        if may_be_deeper(self._geometry.depth):
            words += self._sample_check(planes).words
        self._sums.reserve(words * self._most * _WORD)
        # Groups are computed for all frames of a batch, or for those that subsampling counts.
        self._tables.reserve(2 * self._most * FRAME.itemsize)

    def start(
        self,
        pictures: Pictures,
        frames: Sequence[Frame],
        planes: int | None,
        work: Sequence[tuple[TwinGroup, Sequence[int]]],
        settle: Callable[[], bool],
    ) -> None:
        self.frames = frames
        self._done = None
        self._staging.clear()
        records = pictures.upload(frames, self._stream, self._staging, settle)
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
        for (twin, positions, start), place in zip(self._work, places, strict=True):
            sums = self._sums.address + start * _WORD
            self._launch(_Launch(twin, place, len(positions), sums))
        self._stream.download(self._sums.host[: words * _WORD], self._sums.address)
        self._done = self._stream.mark()
        self.reads = True

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

    def _upload_tables(self, records: NDArray[np.uint64], wanted: Sequence[Sequence[int]]) -> list[int]:
        """Upload the records of each choice of frames once; returns the address for each of those wanted."""
        starts: dict[tuple[int, ...], int] = {}
        keys = [() if len(positions) == len(records) else tuple(positions) for positions in wanted]
        host = self._tables.host.view(records.dtype).reshape(-1, records.shape[1])
        used = 0
        for key in keys:
            if key not in starts:
                chosen = records[list(key)] if key else records
                starts[key] = used
                host[used : used + len(chosen)] = chosen
                used += len(chosen)
        size = used * records.itemsize * records.shape[1]
        if size:
            self._stream.upload(self._tables.address, size, self._tables.host[:size].reshape(1, -1))
        return [self._tables.address + starts[key] * FRAME.itemsize for key in keys]

    def wait(self) -> None:
        if self._done is None:  # its start failed midway, and what it had started reads pictures
            self._done = self._stream.mark()
        self._done.wait()

    def finish(self) -> list[BatchFigures]:
        self.wait()
        words = self._sums.host.view(np.int64)
        found: list[BatchFigures] = []
        for twin, positions, start in self._work:
            count = len(positions)
            sums = words[start : start + count * twin.words].reshape(count, twin.words)
            frames = self.frames if count == len(self.frames) else [self.frames[p] for p in positions]
            found += _figures(twin, sums, frames)
        self.frames, self._work = (), []
        return found


def _figures(twin: Twin, sums: NDArray[np.int64], frames: Sequence[Frame]) -> Iterator[BatchFigures]:
    """The figures of a twin's frames: of all frames at once, if the twin can."""
    columns: Columns | None = getattr(twin, "columns", None)
    if columns is not None:
        yield BatchFigures([frame.index for frame in frames], columns(sums, frames))
        return
    for row, frame in zip(sums, frames, strict=True):
        figures = twin.figures(row, frame)
        yield BatchFigures([frame.index], {key: [value] for key, value in figures.items()})


class _Buffer:
    """Memory on the card with as much page-locked memory beside it; it grows as needed."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._memory: CardMemory | None = None
        self.host = np.zeros(0, np.uint8)

    @property
    def address(self) -> int:
        return self._memory.address if self._memory is not None else 0

    def reserve(self, size: int) -> None:
        if self._memory is None or self._memory.size < size:
            self._memory = self._card.allocate(max(size, _WORD))
            self.host = self._card.pinned(max(size, _WORD))


def may_be_deeper(depth: int) -> bool:
    """Whether samples of this depth are stored in more bits than they have."""
    return depth not in (8, 16)


class SampleCheck:
    """Refuses frames with samples that exceed the bit depth; has the interface of a twin."""

    words = 1

    def __init__(self, geometry: Geometry, planes: int | None, bench: Bench) -> None:
        self._planes = planes
        count = len(plane_layouts(geometry, planes))
        (self._count,) = bench.card.kernels("samples", ["count_deep"])
        self._grid = _BLOCKS, count
        chroma = geometry.chroma or (0, 0)
        numbers = geometry.width, geometry.height, *chroma, (1 << geometry.depth) - 1
        self._numbers = [np.int32(number) for number in numbers]

    def launch(self, batch: Batch, sums: int) -> None:
        self._count(batch.stream, (*self._grid, batch.count), _BLOCK, batch.frames, *self._numbers, sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        """No figures; raises InputError."""
        if sums[0]:
            check_depths(frame, self._planes)
        return {}

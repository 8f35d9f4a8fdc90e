"""Batches of frames on the card, as kernels see them: the twin of kernels/pictures.cuh."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.hardware.card import Card, CardMemory, CardStream
from acuity.features.extractor import REACH

if TYPE_CHECKING:
    from acuity.features.extractor import Frame


def fields(declared: str) -> list[tuple[Any, ...]]:
    """The fields of a structure for numpy, from declarations as C has them: "int32 size[2] depth"."""
    found: list[tuple[Any, ...]] = []
    for part in declared.split(";"):
        kind, *names = part.split()
        for name in names:
            bare, _, count = name.rstrip("]").partition("[")
            found.append((bare, kind, int(count)) if count else (bare, kind))
    return found


PLANES: Final = 3
PICTURE: Final = np.dtype([("plane", np.uint64, PLANES), ("pitch", np.int32, PLANES), ("unused", np.int32)])
FRAME: Final = np.dtype(
    [("ref", PICTURE), ("dis", PICTURE), ("before_ref", PICTURE, REACH), ("before_dis", PICTURE, REACH)]
)

# Sums in a fixed order by the whole card, in chunks: the twin of kernels/ordered_chunks.cuh.
_CHUNK: Final = 4096  # numbers
_GUESSES: Final = 4
CHUNK_BLOCK: Final = (256, 1, 1)

# The addition of a chunk to a sum, for each power of two that the sum may have reached.
SINGLE: Final = np.dtype([("most", np.int32), ("at", np.uint32, (_GUESSES, 2))], align=True)
DOUBLE: Final = np.dtype([("most", np.int32), ("at", np.uint64, (_GUESSES, 2))], align=True)


@dataclass(frozen=True, slots=True)
class Batch:
    """Frames that are computed together, and the stream they are computed in."""

    stream: CardStream
    frames: int  # address of `count` FRAME records on the card
    count: int


class BatchFigures(NamedTuple):
    """Figures of some frames of a batch, by key: one for each frame."""

    numbers: Sequence[int]  # of the frames, which rise
    columns: Mapping[str, Sequence[float] | NDArray[np.float64]]


class Bench(NamedTuple):
    """Where a twin computes: it allocates its scratch memory for `most` frames there."""

    card: Card
    most: int


class Twin(Protocol):
    """Computes a group of extractors on batches, with the digits of the CPU. It belongs to one stream.

    Its constructor takes the members, the geometry and the bench: Twin(members, geometry, bench).
    """

    @property
    def words(self) -> int:
        """How many 64-bit words a frame's sums take."""
        ...

    def launch(self, batch: Batch, sums: int) -> None:
        """Start the kernels that add each frame's sums to its words, which are 0; does not wait."""
        ...

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        """A frame's figures by key, from its sums."""
        ...


# The figures of several frames by key, from their sums, a row for each frame. A twin may have a method
# `columns` of this kind beside or in place of `figures`, which takes less time than calling that for each.
Columns = Callable[
    [NDArray[np.int64], "Sequence[Frame]"], Mapping[str, Sequence[float] | NDArray[np.float64]]
]


def placed(card: Card, values: NDArray[np.uint8]) -> CardMemory:
    """Bytes on the card that stay as they are."""
    memory = card.allocate(values.nbytes)
    held = card.pinned(values.nbytes)
    held[:] = values
    stream = card.stream()
    stream.upload(memory.address, values.nbytes, held.reshape(1, -1))
    stream.mark().wait()
    return memory


def cleared(card: Card, size: int) -> CardMemory:
    """Memory on the card that is 0 at first."""
    memory = card.allocate(size)
    stream = card.stream()
    stream.clear(memory.address, size)
    stream.mark().wait()
    return memory


def chunks_of(count: int) -> int:
    """How many chunks so many numbers have."""
    return -(-count // _CHUNK)

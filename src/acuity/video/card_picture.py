"""A picture whose planes lie in the memory of a graphics card."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from acuity.arrays import np
from acuity.records import NamedTuple
from acuity.video.picture import Picture, PixelFormat, Samples


class CardPlane(NamedTuple):
    """Where a plane lies on the card; columns are contiguous. It has the shape and type of an array."""

    address: int
    pitch: int  # bytes from one row to the next
    shape: tuple[int, int]  # rows and columns
    dtype: np.dtype[np.uint8] | np.dtype[np.uint16]


# Copies of planes in the machine's memory, complete when it returns.
Fetch = Callable[[tuple[CardPlane, ...]], tuple[Samples, ...]]


class CardPicture(Picture):
    """One frame on a card, which computes from it where it lies. Any thread may read it.

    `planes` are fetched to the machine's memory when something on the CPU reads them first; the size and the
    format are known without.
    """

    __slots__ = ("_fetched", "_fetching", "card", "card_planes", "fetch", "owner", "written")

    def __init__(
        self,
        planes: tuple[CardPlane, ...],
        format: PixelFormat,
        pts: float | None = None,
        *,
        card: int,
        fetch: Fetch,
        owner: object,
        written: Any = None,
    ) -> None:
        self.card_planes = planes
        self.format = format
        self.pts = pts
        self.card = card  # its number
        self.fetch = fetch
        self.owner = owner  # of the memory, which stays for as long as this
        self.written = written  # the event of that card after which the samples are there; None: they are
        self.signed = self.kept = self.loan = self.finer = None
        self.chroma = ()
        self._fetched: tuple[Samples, ...] | None = None
        self._fetching = threading.Lock()

    @property
    def planes(self) -> tuple[Samples, ...]:
        """The samples in the machine's memory, fetched once."""
        with self._fetching:
            if self._fetched is None:
                self._fetched = self.fetch(self.card_planes)
            return self._fetched

    @property
    def samples(self) -> tuple[Samples, ...]:  # type: ignore[override]
        return self.planes

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(plane.shape for plane in self.card_planes)

    @property
    def width(self) -> int:
        return self.card_planes[0].shape[1]

    @property
    def height(self) -> int:
        return self.card_planes[0].shape[0]

    def share(self) -> CardPicture:
        """The same samples as an object of its own."""
        shared = CardPicture(
            self.card_planes,
            self.format,
            self.pts,
            card=self.card,
            fetch=self.fetch,
            owner=self.owner,
            written=self.written,
        )
        shared.signed = self.signed
        return shared

    def thinned(self, step: int) -> Samples:
        """Every `step`th luma sample in both directions, in the machine's memory."""
        luma = self.card_planes[0]
        rows = -(-luma.shape[0] // step)
        few = CardPlane(luma.address, luma.pitch * step, (rows, luma.shape[1]), luma.dtype)
        return self.fetch((few,))[0][:, ::step]

    def __repr__(self) -> str:
        return f"CardPicture({self.width}x{self.height}, {self.format}, card {self.card})"

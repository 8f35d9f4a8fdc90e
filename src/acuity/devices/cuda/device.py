"""The CUDA device: extractors that have a twin, in batches on one card."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from acuity.devices.cuda.conveyor import CudaConveyor
from acuity.devices.cuda.fitting import STREAMS, batch_frames
from acuity.devices.cuda.hardware.card import Bytes, Card
from acuity.devices.cuda.table import TWINS
from acuity.devices.device import Lane

if TYPE_CHECKING:
    from acuity.devices.cuda.card_arrays import CardArrays
    from acuity.features.extractor import Extractor, Geometry
    from acuity.video.readers.reader import BaseReader

NAME: Final = "cuda"


class CudaDevice:
    """One card; an implementation of Device."""

    name = NAME

    def __init__(self, card: Card, share: int = 1) -> None:
        """`share` is the number of measurements that compute on the card side by side."""
        self.card = card
        self._share = share

    def describe(self) -> dict[str, Any]:
        card = self.card.properties
        return {"card": card.name, "number": card.number, "driver": card.driver}

    def workers(self, threads: int) -> int:
        return 1

    def computes(self, kind: type[Extractor]) -> bool:
        return kind in TWINS

    def window(self, geometry: Geometry) -> int:
        return batch_frames(geometry, self._share) * (STREAMS + 1)

    @property
    def allocate(self) -> Callable[[int], Bytes]:
        return self.card.pinned

    def port(self) -> CardArrays:
        from acuity.devices.cuda.card_arrays import CardArrays

        return CardArrays(self.card)

    def containers(self, *, required: bool) -> Callable[..., BaseReader] | None:
        from acuity.devices.cuda.nvdec.library import load_functions

        library = load_functions()
        from acuity.devices.cuda.nvdec.reader import NvdecReader  # which imports PyAV

        return partial(NvdecReader, card=self.card, library=library, required=required)

    def lane(self, geometry: Geometry) -> Lane:
        raise NotImplementedError("a card computes frames in batches")

    def conveyor(self, geometry: Geometry) -> CudaConveyor:
        return CudaConveyor(self.card, geometry, self._share)

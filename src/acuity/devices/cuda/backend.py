"""CUDA as a backend: its entry in lists, and the device of a measurement."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Final, NoReturn

from acuity.devices.cuda.conveyor import CudaConveyor
from acuity.devices.cuda.fitting import STREAMS, batch_frames
from acuity.devices.cuda.hardware import cards
from acuity.devices.cuda.hardware.card import Bytes, Card
from acuity.devices.cuda.hardware.card_context import Properties
from acuity.devices.cuda.table import TWINS
from acuity.devices.device import Backend
from acuity.errors import BackendError

if TYPE_CHECKING:
    from acuity.devices.cuda.card_arrays import CardArrays
    from acuity.features.extractor import Extractor, Geometry
    from acuity.video.readers.reader import BaseReader

NAME: Final = "cuda"


def describe_cuda(*, probe: bool) -> Backend:
    """The cards of this machine; `probe` runs a kernel on each."""
    if (signs := cards.look()).problem is not None:
        return Backend(NAME, signs.installed, False, _told(signs.problem))
    try:
        found = cards.CARDS.find()
    except BackendError as error:
        return Backend(NAME, True, False, _told(error))
    described = [_described(card, probe=probe) for card in found]
    problems = [str(card["problem"]) for card in described if card["problem"] is not None]
    usable = len(problems) < len(described)
    return Backend(NAME, True, usable, "ok" if usable else problems[0], cards=described)


def _described(card: Properties, *, probe: bool) -> dict[str, object]:
    problem = None
    if probe:
        try:
            cards.CARDS.open(card.number)
            cards.CARDS.release(card.number)
        except BackendError as error:
            problem = _told(error)
    return {**card._asdict(), "problem": problem}


def _told(error: BackendError) -> str:
    """The reason and what to do about it, without the advice to take another backend."""
    return "".join(piece for piece in error.args if isinstance(piece, str)).removesuffix(", or pass ")


def open_cuda(number: int | None, excluded: Collection[int], share: int = 1) -> CudaDevice | None:
    """The device on the card of that number, or on the least used one; None if it is excluded.

    It is one of `share` devices on that card. Raises BackendError.
    """
    if (card := cards.CARDS.open(number, excluded)) is None:
        return None
    device = CudaDevice(card, share)
    weakref.finalize(device, cards.CARDS.release, card.properties.number).atexit = False
    return device


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

        def open_container(*arguments: Any, **options: Any) -> BaseReader:
            from acuity.devices.cuda.nvdec.reader import NvdecReader  # which imports PyAV

            return NvdecReader(*arguments, card=self.card, library=library, required=required, **options)

        return open_container

    def lane(self, geometry: Geometry) -> NoReturn:
        raise NotImplementedError("a card computes frames in batches")

    def conveyor(self, geometry: Geometry) -> CudaConveyor:
        return CudaConveyor(self.card, geometry, self._share)

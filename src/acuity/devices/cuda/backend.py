"""CUDA as a backend: what is listed of it, and the device of a measurement."""

from __future__ import annotations

import weakref
from collections.abc import Collection

from acuity.devices.cuda.device import NAME, CudaDevice
from acuity.devices.cuda.hardware import cards
from acuity.devices.cuda.hardware.card import Properties
from acuity.devices.device import Backend
from acuity.errors import BackendError


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

    It is one of `share` on that card. Raises BackendError.
    """
    if (card := cards.CARDS.open(number, excluded)) is None:
        return None
    device = CudaDevice(card, share)
    weakref.finalize(device, cards.CARDS.release, card.properties.number).atexit = False
    return device

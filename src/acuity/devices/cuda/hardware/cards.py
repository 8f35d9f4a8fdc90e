"""The cards of this machine: whether there are any, what they are, and which one a measurement takes.

Looking costs as little as it can. `look()` imports nothing, `find()` starts the driver, and only `open()`
starts a card and runs a kernel on it.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acuity.devices import signs
from acuity.devices.cuda.hardware.bindings import INSTALL, Bindings, load_bindings
from acuity.devices.cuda.hardware.card_context import Properties
from acuity.devices.cuda.hardware.cuda_errors import INSTEAD, NO_DEVICE, start_failure, status_of
from acuity.devices.device import WORKER_VARIABLE, Signs
from acuity.errors import BackendError

if TYPE_CHECKING:
    from acuity.devices.cuda.compiler.build import KernelBuilder
    from acuity.devices.cuda.hardware.card import Card

MASK: Final = "CUDA_VISIBLE_DEVICES"

_DRIVER_FILE: Final = Path("/proc/driver/nvidia/version")
_DRIVER_VERSION: Final = re.compile(r"\s(\d{3}\.\d+(?:\.\d+)?)\s")
# The oldest driver for each CUDA.
_DRIVERS: Final = {12: "525", 13: "580"}


def look() -> Signs:
    """The facts about cards that are known without starting anything."""
    installed, traces = signs.is_installed(), signs.has_traces()
    problem = None
    if not installed:
        card = "there is a card, and " if traces else ""
        problem = BackendError(f"{card}CuPy is not installed: {INSTALL}", *INSTEAD)
    elif not traces:
        problem = no_driver()
    return Signs(installed, installed or traces, problem)


def no_driver() -> BackendError:
    return BackendError("there is no NVIDIA driver on this machine: install one", *INSTEAD)


class Cards:
    """The cards as one process uses them; each is started once."""

    def __init__(
        self,
        load: Callable[[], Bindings] = load_bindings,
        make_builder: Callable[[Bindings, str], KernelBuilder] | None = None,
    ) -> None:
        self._load = load
        self._make_builder = make_builder or _builder
        self.forget()

    def forget(self) -> None:
        """Forget everything: in a process that was forked nothing of it can be used."""
        self._lock = threading.Lock()  # which another thread may have held
        self._bindings: Bindings | None = None
        self._found: list[Properties] = []
        self._open: dict[int, Card] = {}
        self._users: Counter[int] = Counter()

    def find(self) -> list[Properties]:
        """All cards that CUDA shows; raises BackendError if there are none, or if they can't be used."""
        if not self._found:
            self._bindings = self._bindings or self._load()
            self._found = _find(self._bindings)
        return self._found

    def open(self, number: int | None = None, excluded: Collection[int] = ()) -> Card | None:
        """A card that works: the one of that number, or the least used one; None if it is excluded.

        Raises BackendError. The caller gives the card back with release().
        """
        with self._lock:
            if (card := self._started(number, excluded)) is not None:
                self._users[card.properties.number] += 1
            return card

    def prepare(self, number: int | None = None) -> None:
        """Start the card that open() would give, so that open() takes no time; raises BackendError."""
        with self._lock:
            self._started(number, ())

    def _started(self, number: int | None, excluded: Collection[int]) -> Card | None:
        found = self.find()
        if number is not None and not 0 <= number < len(found):
            raise _no_such_card(number, len(found))
        wanted = range(len(found)) if number is None else [number]
        allowed = [number for number in wanted if number not in excluded]
        if not allowed:
            return None
        number = self._least_used(allowed)
        card = self._open.get(number) or self._start(found[number])
        if card.lost is not None:
            raise card.lost
        return card

    def release(self, number: int) -> None:
        """Note that a measurement on this card has ended."""
        with self._lock:
            self._users[number] -= 1

    def are_spent(self) -> bool:
        """Whether a card was lost, which this process can't use any more."""
        return any(card.lost is not None for card in self._open.values())

    def notes(self) -> list[str]:
        """Notes on what makes cards that are open start more slowly than they could."""
        return list(dict.fromkeys(note for card in self._open.values() for note in card.builder.notes))

    def _start(self, properties: Properties) -> Card:
        from acuity.devices.cuda.hardware.card import Card
        from acuity.devices.cuda.hardware.probe import KERNEL, PROGRAM, check_card

        assert self._bindings is not None
        builder = self._make_builder(self._bindings, properties.architecture)
        builder.prefetch(PROGRAM, [KERNEL])  # while the card starts
        card = Card(self._bindings, properties, builder)
        check_card(card)
        self._open[properties.number] = card
        return card

    def _least_used(self, allowed: Sequence[int]) -> int:
        """The card with the fewest measurements; processes side by side begin with different ones."""
        worker = os.environ.get(WORKER_VARIABLE, "0")
        first = int(worker) if worker.isdigit() else 0
        places = {number: (place - first) % len(allowed) for place, number in enumerate(allowed)}

        def burden(number: int) -> tuple[bool, int, int]:
            card = self._open.get(number)
            return card is not None and card.lost is not None, self._users[number], places[number]

        return min(allowed, key=burden)


def _builder(bindings: Bindings, architecture: str) -> KernelBuilder:
    from acuity.devices.cuda.compiler.build import KernelBuilder
    from acuity.devices.cuda.compiler.compile import NvrtcCompiler
    from acuity.devices.cuda.compiler.kernel_cache import KernelCache

    return KernelBuilder(architecture, NvrtcCompiler(bindings.nvrtc), KernelCache())


CARDS: Final = Cards()
os.register_at_fork(after_in_child=CARDS.forget)


def _find(bindings: Bindings) -> list[Properties]:
    runtime = bindings.runtime
    try:
        supported, needed = runtime.driverGetVersion(), runtime.runtimeGetVersion()
        if not supported:
            raise no_driver()
        if supported // 1000 < needed // 1000:
            raise _old_driver(supported, needed)
        count = runtime.getDeviceCount()
        if not count:
            raise _no_card()
        return [_properties(bindings, number, supported) for number in range(count)]
    except bindings.errors as error:
        raise (_no_card() if status_of(error) == NO_DEVICE else start_failure(error)) from error


def _properties(bindings: Bindings, number: int, supported: int) -> Properties:
    about = bindings.runtime.getDeviceProperties(number)
    driver = driver_version()
    cuda = f"CUDA {_cuda(supported)}"
    return Properties(
        number=number,
        name=about["name"].decode("utf-8", "replace"),
        memory=int(about["totalGlobalMem"]),
        architecture=f"sm_{about['major']}{about['minor']}",
        driver=cuda if driver is None else f"{driver} ({cuda})",
        processors=int(about["multiProcessorCount"]),
    )


def driver_version(file: Path = _DRIVER_FILE) -> str | None:
    """The version of the driver that is loaded, where the system tells it."""
    try:
        found = _DRIVER_VERSION.search(file.read_text("utf-8", "replace"))
    except OSError:
        return None
    return None if found is None else found[1]


def _cuda(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _old_driver(supported: int, needed: int) -> BackendError:
    have, want = supported // 1000, needed // 1000
    driver = driver_version()
    update = f"update it to {_DRIVERS[want]} or newer" if want in _DRIVERS else "update it"
    other = f", install cupy-cuda{have}x in place of cupy-cuda{want}x" if have in _DRIVERS else ""
    return BackendError(
        f"NVIDIA's driver{f' {driver}' if driver else ''} is too old: it knows CUDA {_cuda(supported)}, and "
        f"CuPy needs CUDA {want}: {update}{other}",
        *INSTEAD,
    )


def _no_card() -> BackendError:
    if (mask := os.environ.get(MASK)) is not None:
        return BackendError(f"{MASK}={mask!r} hides every card: unset it, or name a card in it", *INSTEAD)
    return BackendError(
        "NVIDIA's driver finds no card in this machine: 'nvidia-smi' lists those that it sees", *INSTEAD
    )


def _no_such_card(number: int, count: int) -> BackendError:
    there = "is only card 0" if count == 1 else f"are cards 0 to {count - 1}"
    mask = os.environ.get(MASK)
    hidden = "" if mask is None else f", because {MASK} is {mask!r}"
    return BackendError(f"there is no card {number}: there {there}{hidden}; choose one of these", *INSTEAD)

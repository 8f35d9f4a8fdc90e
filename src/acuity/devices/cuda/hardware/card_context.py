"""CardContext: calls of CUDA for one card, from any thread, with failures as sentences.

CUDA works on the card that is current in the calling thread. Threads may belong to others, a program with
PyTorch among them, so each call makes its card current and restores the former one, or a block of calls does
so once. A thread without a card counts as one with card 0, which therefore may stay.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import ParamSpec, TypeVar

from acuity.devices.cuda.hardware.bindings import Bindings
from acuity.devices.cuda.hardware.cuda_errors import start_failure, use_failure
from acuity.errors import BackendError, CardLost
from acuity.records import NamedTuple

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Properties(NamedTuple):
    """The properties of a card."""

    number: int
    name: str
    memory: int  # bytes
    architecture: str  # as compilers name it: sm_90
    driver: str
    processors: int

    @property
    def label(self) -> str:
        """The card as sentences name it."""
        return f"card {self.number} ({self.name})"


class CardContext:
    """The context of one card in this process."""

    def __init__(self, bindings: Bindings, properties: Properties) -> None:
        """Start the card; raises BackendError."""
        self.number = properties.number
        self.name = properties.label
        self.lost: BackendError | None = None  # the failure after which the card answers nothing here
        self._driver = bindings.driver
        self._errors = bindings.errors
        self._process = os.getpid()
        self._prepared: set[int] = set()  # threads in which the card is current
        # CUDA's own handle, for native code that works on the same card.
        self.handle = _primary_context(bindings, self.number, self.name)

    def call(self, function: Callable[_P, _T], *arguments: _P.args, **named: _P.kwargs) -> _T:
        """Call a function of CUDA for this card; raises BackendError."""
        if threading.get_ident() not in self._prepared:
            with self.in_place():
                return self.call(function, *arguments, **named)
        try:
            return function(*arguments, **named)
        except self._errors as error:
            raise self.failure(error) from error

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Make the card current for all calls of this thread in the block; raises BackendError."""
        thread = threading.get_ident()
        if thread in self._prepared:
            yield
            return
        other = None
        try:
            if (current := self._driver.ctxGetCurrent()) != self.handle:
                self._driver.ctxSetCurrent(self.handle)
                other = current if current or self.number else None
        except self._errors as error:
            raise self.failure(error) from error
        self._prepared.add(thread)
        try:
            yield
        finally:
            self._prepared.discard(thread)
            if other is not None:
                self._driver.ctxSetCurrent(other)

    def failure(self, error: Exception) -> BackendError:
        """The sentence about a failure; remembers a failure that ends the use of this card."""
        found = use_failure(error, self.name)
        if isinstance(found, CardLost):
            self.lost = self.lost or found
        return found

    def give_back(self, function: Callable[[int], None], handle: int) -> None:
        """Free what a finished object had; a card that is lost, or another process's, keeps it."""
        if self.lost is None and self._process == os.getpid():
            with suppress(BackendError):
                self.call(function, handle)


def _primary_context(bindings: Bindings, number: int, name: str) -> int:
    """The card's context that all parts of a process share.

    It is started in a thread of its own, because the call that does so changes the calling thread's card.
    """
    found: list[int | Exception] = []

    def start() -> None:
        try:
            bindings.runtime.setDevice(number)
            found.append(bindings.driver.ctxGetCurrent())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=start, name="acuity-card-start", daemon=True)
    thread.start()
    thread.join()
    (answer,) = found
    if isinstance(answer, Exception):
        raise start_failure(answer, name) from answer
    return answer

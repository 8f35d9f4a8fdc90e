"""The reference of a group of pairs: opened and decoded once, as each pair would open it."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from acuity.video.readers.open import open_as
from acuity.video.readers.shared import SharedReader

if TYPE_CHECKING:
    from acuity.video.readers.open import OpenOptions, RawGeometry
    from acuity.video.readers.reader import BaseReader

# Threads that decode a reference: each holds a picture, and the encodes need cores too.
_MOST_THREADS: Final = 8


class SharedReference:
    """A place for each pair of a group."""

    def __init__(self, places: int, threads: int) -> None:
        self.places = [Place(self) for _ in range(places)]
        self._threads = min(threads, _MOST_THREADS)
        self._shared = SharedReader(places)
        self._lock = threading.Lock()
        self._way: tuple[RawGeometry, OpenOptions] | None = None  # in which the first pair opened it

    def open(self, path: str | os.PathLike[str], said: RawGeometry, options: OpenOptions) -> BaseReader:
        """A tap; a reader that isn't shared for a pair that opens it in another way."""
        with self._lock:
            self._way = self._way or (said, options)
            same = self._way == (said, options)
        if not same:
            self.give_up()
            return open_as(path, said, options)
        few = options if options.allow_damaged else replace(options, threads=self._threads)
        return self._shared.tap(lambda: open_as(path, said, few))

    def give_up(self) -> None:
        self._shared.give_up()


class Place:
    """The place of one pair, which opens the reference or leaves."""

    def __init__(self, reference: SharedReference) -> None:
        self._reference = reference
        self._taken = False

    def open(self, path: str | os.PathLike[str], said: RawGeometry, options: OpenOptions) -> BaseReader:
        """Open the reference, as open_as() does."""
        reader = self._reference.open(path, said, options)
        self._taken = True
        return reader

    def leave(self) -> None:
        """Let the others go on, if the reference wasn't opened; a reader leaves when it is closed."""
        if not self._taken:
            self._taken = True
            self._reference.give_up()

"""The reference of a group of pairs: opened and decoded once, as each pair would open it."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from acuity.errors import AcuityError
from acuity.video.readers.open import RawGeometry, open_as, says_its_size
from acuity.video.readers.shared import SharedReader

if TYPE_CHECKING:
    from acuity.scoring.request import Request
    from acuity.video.readers.open import OpenOptions
    from acuity.video.readers.reader import BaseReader

# Threads that decode a reference: each holds a picture, and the encodes need cores too.
_MOST_THREADS: Final = 8


def picture_bytes(path: str, scoring: Request) -> int | None:
    """The bytes of a reference's picture; None for what can't be opened, or only once."""
    if not (os.path.isfile(path) or os.path.isdir(path)):
        return None
    try:
        said = RawGeometry() if says_its_size(path) else scoring.geometry
        with open_as(path, said, replace(scoring.opening, stream=scoring.streams[0], threads=1)) as reader:
            return reader.info.format.frame_bytes(reader.info.width, reader.info.height)
    except (AcuityError, OSError):  # scoring has the sentence for it
        return None


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
            reader = open_as(path, said, options)
            self.give_up()  # only now: a pair that can't open it gives its place up when it leaves
            return reader
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

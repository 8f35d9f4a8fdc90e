"""SharedReader: one video that is read once for several readers, its taps.

Each tap gets every picture in order, the same objects as the others. No thread belongs to a SharedReader:
the tap that needs a picture first reads it, and the others find it. At most a window of pictures is kept: a
tap that is far ahead waits for the slowest one, and a tap that is closed leaves.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

from acuity.errors import InputError, NoFramesError
from acuity.video.notes import Note
from acuity.video.picture import Kept, Picture
from acuity.video.readers.reader import BaseReader, RgbTarget, VideoInfo, check_frame

# Pictures that the fastest tap may be ahead of the slowest one.
_MOST: Final = 8
_MOST_BYTES: Final = 64 << 20


def window_of(info: VideoInfo) -> int:
    """How many pictures of a video the taps may be apart."""
    return max(2, min(_MOST, _MOST_BYTES // info.format.frame_bytes(info.width, info.height)))


@dataclass(eq=False, slots=True)
class _Slot:
    """A picture that was read, what was made of it, and the number of notes until then."""

    picture: Picture
    notes: int
    made: dict[Hashable, Picture] = field(default_factory=dict)  # each of them once, under the lock
    lock: threading.Lock = field(default_factory=threading.Lock)


class SharedReader:
    """Reads a video once for a fixed number of places, each of which becomes a tap or is given up."""

    def __init__(self, places: int, window: Callable[[VideoInfo], int] = window_of) -> None:
        self._window = window
        self._changed = threading.Condition()
        self._reader: BaseReader | None = None
        self._opening_notes = 0  # notes that its opening made
        self._prepared: tuple[bool, RgbTarget | None] | None = None
        self._places = places  # that may still become taps
        self._taps: list[Tap] = []
        self._slots: deque[_Slot] = deque()
        self._first = 0  # the number of the first slot's picture
        self._reading = False  # whether a tap reads the next picture just now
        self._ended = False
        self._error: BaseException | None = None
        self._closed = False

    def tap(self, open_reader: Callable[[], BaseReader]) -> Tap:
        """Turn a place into a tap; the first one opens the video."""
        with self._changed:
            if self._reader is None:
                self._reader = open_reader()
                self._opening_notes = len(self._reader.notes)
            self._places -= 1
            tap = Tap(self, self._reader.info, open_reader)
            self._taps.append(tap)
            return tap

    def give_up(self) -> None:
        """Give up a place that will not become a tap."""
        with self._changed:
            self._places -= 1
            self._left()

    def prepare(self, chroma: bool, rgb: RgbTarget | None) -> bool:
        """Settle how pictures are handed out; returns False if they are handed out otherwise already."""
        with self._changed:
            if self._prepared is None and self._reader is not None:
                self._prepared = chroma, rgb
                self._reader.prepare(chroma=chroma, rgb=rgb)
            return self._prepared == (chroma, rgb)

    def leave(self, tap: Tap) -> None:
        """Remove a tap that needs no more pictures."""
        with self._changed:
            if tap in self._taps:
                self._taps.remove(tap)
                self._left()

    def _left(self) -> None:
        self._forget()
        # Also while a tap that has left still reads: closing makes a read fail that waits for a slow pipe.
        if not self._taps and not self._places and not self._closed:
            self._closed = True
            self._slots.clear()
            if self._reader is not None:
                self._reader.close()
        self._changed.notify_all()

    def notes_until(self, slot: _Slot | None, *, over: bool) -> list[Note]:
        """The notes that were known when the slot's picture was read; None: when the video was opened."""
        found = [] if self._reader is None else self._reader.notes
        return list(found) if over else found[: self._opening_notes if slot is None else slot.notes]

    def read(self, tap: Tap) -> _Slot | None:
        """The picture at the tap's position; None after the last one. Waits for taps that are far behind."""
        with self._changed:
            while True:
                if tap.closed:
                    raise InputError(f"'{tap.info.path}' was closed, so it cannot be read any more")
                number = tap.position - self._first
                if number < len(self._slots):
                    return self._slots[number]
                if self._error is not None:
                    raise self._error
                if self._ended:
                    return None
                if self._reading or tap.position >= self._slowest() + self._window(tap.info):
                    self._changed.wait()
                    continue
                self._read_next()

    def moved(self) -> None:
        """Forget the pictures that all taps have passed, after one has moved on."""
        with self._changed:
            self._forget()
            self._changed.notify_all()

    def _slowest(self) -> int:
        """The position of the slowest tap, or of a place that has still to become one."""
        if self._places:
            return 0
        return min((tap.position for tap in self._taps), default=self._first)

    def _forget(self) -> None:
        # The picture before a tap's position may still be in its hands.
        while self._slots and self._first < self._slowest() - 1:
            self._slots.popleft()
            self._first += 1

    def _read_next(self) -> None:
        """Read one picture, with the lock released."""
        reader = self._reader
        assert reader is not None
        self._reading = True
        skip = self._slowest() if not self._slots else 0
        self._changed.release()
        picture: Picture | None = None
        error: BaseException | None = None
        try:
            if skip > self._first:
                reader.seek(skip)
            picture = reader.read()
        except NoFramesError as found:
            error = None if skip > self._first else found
        except BaseException as found:
            error = found
        finally:
            self._changed.acquire()
            self._reading = False
        self._first = max(self._first, skip)
        if picture is not None and not self._closed:
            picture.kept = Kept(self._first + len(self._slots))
            self._slots.append(_Slot(picture, len(reader.notes)))
        self._error = error
        self._ended = picture is None and error is None
        self._changed.notify_all()


class Tap(BaseReader):
    """One of the readers of a shared video. Where it needs what the others don't, it reads for itself."""

    def __init__(self, shared: SharedReader, info: VideoInfo, open_reader: Callable[[], BaseReader]) -> None:
        self.info = info
        self.position = 0  # of the next picture
        self.closed = False
        self._shared = shared
        self._open_reader = open_reader
        self._own: BaseReader | None = None  # if it reads for itself
        self._slot: _Slot | None = None  # of the last picture
        self._over = False

    @property
    def shares(self) -> bool:
        """Whether its pictures are those of the other taps."""
        return self._own is None

    @property
    def notes(self) -> list[Note]:  # type: ignore[override]
        """The notes that a reader of its own would have by now."""
        if self._own is not None:
            return self._own.notes
        return self._shared.notes_until(self._slot, over=self._over)

    def read(self) -> Picture | None:
        if self._own is not None:
            return self._own.read()
        slot = self._shared.read(self)
        if slot is None:
            self._over = True
            return None
        self._slot = slot
        self.position += 1
        self._shared.moved()
        return slot.picture

    def seek(self, frame: int) -> None:
        check_frame(self.info, frame)
        if self._own is None and self._slot is None and not self._over and frame >= self.position:
            self.position = frame
            self._shared.moved()
            return
        self._read_alone().seek(frame)

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        if self._own is None and not self._shared.prepare(chroma, rgb):
            self._read_alone()
        if self._own is not None:
            self._own.prepare(chroma=chroma, rgb=rgb)

    def once(self, picture: Picture, key: Hashable, make: Callable[[Picture], Picture]) -> Picture:
        slot = self._slot
        if slot is None or slot.picture is not picture or self._own is not None:
            return make(picture)
        with slot.lock:
            if (made := slot.made.get(key)) is None:
                made = make(picture)
                if made is not picture:
                    assert picture.kept is not None
                    made.kept = Kept(picture.kept.number)
                slot.made[key] = made
            return made

    def close(self) -> None:
        self.closed = True
        if self._own is not None:
            self._own.close()
        self._shared.leave(self)

    def _read_alone(self) -> BaseReader:
        """Leave the others, and open the video once more."""
        if self._own is None:
            if not self.info.seekable:
                raise InputError(
                    f"'{self.info.path}' can be read only once, and the pairs need it in different forms:"
                    " pass a file"
                )
            self._own = self._open_reader()
            self._shared.leave(self)
        return self._own

"""Reads ahead in threads, by a bounded number of pictures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from acuity.records import NamedTuple
from acuity.video.picture import Picture

# Returns a picture by its number, or None after the last one. One thread asks for them in order; of several,
# each asks for the next number that no other has asked for.
Produce = Callable[[int], Picture | None]

# Pictures of one video read ahead: enough to keep the scorer busy, little enough for 2160p.
_MOST_AHEAD: Final = 4
_AHEAD_BYTES: Final = 32 << 20
# The threads for one video, and what they read ahead: as fast as many cores score.
_MOST_THREADS: Final = 4
_SHARED_AHEAD: Final = 8
_SHARED_BYTES: Final = 64 << 20
# Bytes below which a picture is read faster than it is handed from thread to thread, and how many such
# pictures are read at once.
_SMALL: Final = 1 << 16
_SMALL_AHEAD: Final = 32
# Pictures that a card has decoded are handed from thread to thread many at a time.
_DECODED_AHEAD: Final = 32
_DECODED_BYTES: Final = 128 << 20  # bytes that these may take where the CPU goes on decoding


class ReadAhead(NamedTuple):
    """How one video is read ahead."""

    ahead: int  # pictures
    threads: int = 1
    room: int = 1  # pictures that are taken before a thread that waits reads on

    @classmethod
    def of(
        cls, frame_bytes: int, *, ahead: int | None = None, concurrent: bool = False, decoded: bool = False
    ) -> ReadAhead:
        """For pictures of so many bytes; `ahead` is what the caller wants, None: let their size decide.

        `decoded` says that a card decodes them before they are asked for.
        """
        if decoded and ahead is None:
            ahead = max(_MOST_AHEAD, min(_DECODED_AHEAD, _DECODED_BYTES // frame_bytes))
            return cls(ahead, room=ahead // 2)
        shared = concurrent and frame_bytes >= _SMALL
        if ahead is None:
            most, room = (_SHARED_AHEAD, _SHARED_BYTES) if shared else (_MOST_AHEAD, _AHEAD_BYTES)
            if concurrent and not shared:
                most = _SMALL_AHEAD
            ahead = max(1, min(most, room // frame_bytes))
        return cls(ahead, min(_MOST_THREADS, ahead) if shared else 1)


class Prefetch:
    """Calls `produce` in threads until it returns None; take() returns the pictures in order.

    One thread takes them.
    """

    def __init__(self, produce: Produce, reading: ReadAhead, *, name: str) -> None:
        self._ahead = reading.ahead
        self._least = reading.ahead - reading.room  # pictures at which threads go on
        lock = threading.Lock()
        self._room = threading.Condition(lock)  # a picture was taken: wakes one of the producing threads
        self._news = threading.Condition(lock)  # the next picture is there, or none will come
        self._pictures: dict[int, Picture] = {}  # by number
        self._first = 0  # the number of the next to be taken
        self._next = 0  # and of the next to be produced
        self._end: int | None = None  # the number of the first that couldn't be produced
        self._error: BaseException | None = None  # why not; None: it is after the last one
        self._stopped = False
        self._threads: list[threading.Thread] = []
        for number in range(reading.threads):
            thread = threading.Thread(
                target=self._fill, args=(produce,), name=f"acuity-read-{name}-{number}", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:  # the system's limit; the threads that it allows do it too
                if not self._threads:
                    raise
                break
            self._threads.append(thread)

    def ready(self, seconds: float) -> bool:
        """Wait at most that many seconds; returns whether take() need not wait."""
        if self._has_news():
            return True
        with self._news:
            return self._news.wait_for(self._has_news, seconds)

    def take(self) -> Picture | None:
        """The next picture, None at the end; an error is raised after the pictures before it."""
        with self._news:
            while not self._has_news():
                self._news.wait()
            picture = self._pictures.pop(self._first, None)
            if picture is not None:
                self._first += 1
                if self._next - self._first <= self._least:
                    self._room.notify()
                return picture
        if self._error is not None and not self._stopped:
            raise self._error
        return None

    def stop(self) -> None:
        """Ask the threads to end; join() waits for them."""
        with self._news:
            self._stopped = True
            self._pictures.clear()
            self._news.notify_all()
            self._room.notify_all()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _has_news(self) -> bool:
        """Whether the next picture is there, or none will come."""
        return self._first in self._pictures or self._first == self._end or self._stopped

    def _fill(self, produce: Produce) -> None:
        """Produce pictures, in one of the threads."""
        while (number := self._claim()) is not None:
            error = None
            try:
                picture = produce(number)
            except BaseException as raised:
                picture, error = None, raised
            with self._news:
                if picture is None:
                    if self._end is None or number < self._end:
                        self._end, self._error = number, error
                    self._room.notify_all()
                elif not self._stopped:
                    self._pictures[number] = picture
                if picture is None or number == self._first:
                    self._news.notify()
            del picture  # or the buffer stays in use while this thread waits

    def _claim(self) -> int | None:
        """The number of a picture to produce, as soon as there is room for it; None: no more are wanted."""
        with self._room:
            while not self._over and self._next >= self._first + self._ahead:
                self._room.wait()
            if self._over:
                return None
            self._next += 1
            return self._next - 1

    @property
    def _over(self) -> bool:
        return self._stopped or self._end is not None

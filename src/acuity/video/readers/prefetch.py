"""Reads ahead in threads, by a bounded number of pictures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from acuity.video.picture import Picture

# Returns a picture by its number, or None after the last one. One thread asks for them in order; of several,
# each asks for the next number that no other has asked for.
Produce = Callable[[int], Picture | None]

# Pictures of one video read ahead: enough to keep the scorer busy, little enough for 2160p.
_MOST_AHEAD: Final = 4
_AHEAD_BYTES: Final = 32 << 20
# And by several threads, which read as fast as many cores score.
_MOST_THREADS: Final = 4
_SHARED_AHEAD: Final = 8
_SHARED_BYTES: Final = 64 << 20
# Bytes of a picture that is read faster than it is handed from thread to thread, and how many of them are
# read at once.
_SMALL: Final = 1 << 16
_SMALL_AHEAD: Final = 32
# Pictures that a card has decoded are handed from thread to thread many at a time.
_DECODED_AHEAD: Final = 32
_DECODED_BYTES: Final = 128 << 20  # that they may take if the CPU goes on


class Reading(NamedTuple):
    """How one video is read ahead."""

    ahead: int  # pictures
    threads: int = 1
    room: int = 1  # pictures that are taken before a thread that waits reads on

    @classmethod
    def of(
        cls, frame_bytes: int, *, ahead: int | None = None, concurrent: bool = False, decoded: bool = False
    ) -> Reading:
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


class Ahead(Protocol):
    """Pictures that are read ahead, taken in order by one thread."""

    def ready(self, seconds: float) -> bool:
        """Wait at most that many seconds; returns whether take() need not wait."""
        ...

    def take(self) -> Picture | None:
        """The next picture, None at the end; an error is raised after the pictures before it."""
        ...

    def stop(self) -> None:
        """Ask the threads to end; join() waits for them."""
        ...

    def join(self) -> None: ...


class _Queue:
    """The pictures between the threads. The producing threads refer to this, not to the Prefetch."""

    def __init__(self, ahead: int, room: int) -> None:
        self.ahead = ahead
        self.least = ahead - room  # pictures at which threads go on
        lock = threading.Lock()
        self.room = threading.Condition(lock)  # a picture was taken: wakes one of the producing threads
        self.news = threading.Condition(lock)  # the next picture is there, or none will come
        self.pictures: dict[int, Picture] = {}  # by number
        self.first = 0  # the number of the next to be taken
        self.next = 0  # and of the next to be produced
        self.end: int | None = None  # the number of the first that couldn't be produced
        self.error: BaseException | None = None  # why not; None: it is after the last one
        self.stopped = False

    def fill(self, produce: Produce) -> None:
        while (number := self._claim()) is not None:
            try:
                picture = produce(number)
            except BaseException as error:
                self._finish(number, error)
                break
            if picture is None:
                self._finish(number, None)
                break
            with self.news:
                if not self.stopped:
                    self.pictures[number] = picture
                if number == self.first:
                    self.news.notify()
            del picture  # or the buffer stays in use while this thread waits

    def has_news(self) -> bool:
        """Whether the next picture is there, or none will come."""
        return self.first in self.pictures or self.first == self.end or self.stopped

    def _claim(self) -> int | None:
        """The number of a picture to produce, as soon as there is room for it; None: no more are wanted."""
        with self.room:
            while not self._over and self.next >= self.first + self.ahead:
                self.room.wait()
            if self._over:
                return None
            self.next += 1
            return self.next - 1

    @property
    def _over(self) -> bool:
        return self.stopped or self.end is not None

    def _finish(self, number: int, error: BaseException | None) -> None:
        with self.news:
            if self.end is None or number < self.end:
                self.end, self.error = number, error
            self.news.notify()
            self.room.notify_all()


class Prefetch:
    """Calls `produce` in threads until it returns None; take() returns the pictures in order.

    One thread takes them.
    """

    def __init__(self, produce: Produce, reading: Reading, *, name: str) -> None:
        self._queue = _Queue(reading.ahead, reading.room)
        self._threads: list[threading.Thread] = []
        for number in range(reading.threads):
            thread = threading.Thread(
                target=self._queue.fill, args=(produce,), name=f"acuity-read-{name}-{number}", daemon=True
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
        queue = self._queue
        if queue.has_news():
            return True
        with queue.news:
            return queue.news.wait_for(queue.has_news, seconds)

    def take(self) -> Picture | None:
        """The next picture, None at the end; an error is raised after the pictures before it."""
        queue = self._queue
        with queue.news:
            while not queue.has_news():
                queue.news.wait()
            picture = queue.pictures.pop(queue.first, None)
            if picture is not None:
                queue.first += 1
                if queue.next - queue.first <= queue.least:
                    queue.room.notify()
                return picture
        if queue.error is not None and not queue.stopped:
            raise queue.error
        return None

    def stop(self) -> None:
        """Ask the threads to end; join() waits for them."""
        queue = self._queue
        with queue.news:
            queue.stopped = True
            queue.pictures.clear()
            queue.news.notify_all()
            queue.room.notify_all()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

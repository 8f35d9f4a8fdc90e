"""Reads ahead in a thread, by a bounded number of pictures."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from acuity.video.picture import Picture

Produce = Callable[[], Picture | None]

# Pictures read ahead for one video: enough to keep the scorer busy, little enough for 2160p.
_MOST_AHEAD: Final = 4
_AHEAD_BYTES: Final = 32 << 20


def how_far_ahead(frame_bytes: int) -> int:
    """How many pictures of so many bytes to read ahead."""
    return max(1, min(_MOST_AHEAD, _AHEAD_BYTES // frame_bytes))


class _Queue:
    """The pictures between the two threads. The producing thread refers to this, not to the Prefetch."""

    def __init__(self, ahead: int) -> None:
        self.ahead = ahead
        self.changed = threading.Condition()
        self.pictures: deque[Picture] = deque()
        self.error: BaseException | None = None
        self.ended = False
        self.stopped = False

    def fill(self, produce: Produce) -> None:
        try:
            while self._has_room():
                picture = produce()
                if picture is None:
                    break
                with self.changed:
                    if not self.stopped:
                        self.pictures.append(picture)
                    self.changed.notify_all()
                del picture  # or the buffer stays in use while this thread waits
        except BaseException as error:
            self.error = error
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def has_news(self) -> bool:
        """Whether there is a picture, or none will come."""
        return bool(self.pictures) or self.ended or self.stopped

    def _has_room(self) -> bool:
        with self.changed:
            self.changed.wait_for(lambda: self.stopped or len(self.pictures) < self.ahead)
            return not self.stopped


class Prefetch:
    """Calls `produce` in a thread until it returns None; take() returns the pictures in order."""

    def __init__(self, produce: Produce, *, ahead: int, name: str) -> None:
        self._queue = _Queue(ahead)
        self._thread = threading.Thread(
            target=self._queue.fill, args=(produce,), name=f"acuity-read-{name}", daemon=True
        )
        self._thread.start()

    def ready(self, seconds: float) -> bool:
        """Wait at most that many seconds; returns whether take() need not wait."""
        queue = self._queue
        with queue.changed:
            return queue.changed.wait_for(queue.has_news, seconds)

    def take(self) -> Picture | None:
        """The next picture, None at the end; an error is raised after the pictures before it."""
        queue = self._queue
        with queue.changed:
            queue.changed.wait_for(queue.has_news)
            if queue.pictures:
                queue.changed.notify_all()
                return queue.pictures.popleft()
        if queue.error is not None and not queue.stopped:
            raise queue.error
        return None

    def stop(self) -> None:
        """Ask the thread to end; join() waits for it."""
        with self._queue.changed:
            self._queue.stopped = True
            self._queue.pictures.clear()
            self._queue.changed.notify_all()

    def join(self) -> None:
        self._thread.join()

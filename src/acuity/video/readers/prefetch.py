"""Reading ahead in a thread, by a bounded number of pictures."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from acuity.video.picture import Picture

Produce = Callable[[], Picture | None]


class _Shelf:
    """What the two threads share. The producing thread knows this, not the Prefetch."""

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
        """Whether there is a picture, or nothing to wait for."""
        return bool(self.pictures) or self.ended or self.stopped

    def _has_room(self) -> bool:
        with self.changed:
            self.changed.wait_for(lambda: self.stopped or len(self.pictures) < self.ahead)
            return not self.stopped


class Prefetch:
    """Calls `produce` in a thread until it returns None; take() hands out what it made, in order."""

    def __init__(self, produce: Produce, *, ahead: int, name: str) -> None:
        self._shelf = _Shelf(ahead)
        self._thread = threading.Thread(
            target=self._shelf.fill, args=(produce,), name=f"acuity-read-{name}", daemon=True
        )
        self._thread.start()

    def ready(self, seconds: float) -> bool:
        """Whether take() need not wait; waits for that at most so many seconds."""
        shelf = self._shelf
        with shelf.changed:
            return shelf.changed.wait_for(shelf.has_news, seconds)

    def take(self) -> Picture | None:
        """The next picture, None at the end; an error comes after the pictures made before it."""
        shelf = self._shelf
        with shelf.changed:
            shelf.changed.wait_for(shelf.has_news)
            if shelf.pictures:
                shelf.changed.notify_all()
                return shelf.pictures.popleft()
        if shelf.error is not None and not shelf.stopped:
            raise shelf.error
        return None

    def stop(self) -> None:
        """Ask the thread to end; join() waits for it."""
        with self._shelf.changed:
            self._shelf.stopped = True
            self._shelf.pictures.clear()
            self._shelf.changed.notify_all()

    def join(self) -> None:
        self._thread.join()

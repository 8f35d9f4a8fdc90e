"""Progress of tuning: which encodes are under way, how far they are, and the best one so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from acuity.errors import AcuityError


class Stopped(AcuityError):
    """The work was stopped on request; finished points are in the cache."""

    def __init__(self) -> None:
        super().__init__("stopped: the encodes that were finished are in the cache")


@dataclass(frozen=True, slots=True)
class Progress:
    task: str  # what is encoded now, as "libx265 crf 28"
    encodes_done: int  # those taken from the cache included
    encodes_planned: int | None  # the most that are expected; a search may need fewer
    frames: int = 0  # of the encodes under way
    total: int | None = None
    fps: float | None = None
    eta_seconds: float | None = None
    best: str | None = None  # the best result so far, as "crf 27: VMAF 93.4 at 1,830 kbit/s"

    def line(self) -> str:
        """`2 of 5 encodes, libx265 crf 28: 120 of 480 frames, 84.2 fps, 0:04 left, best …`."""
        planned = "" if self.encodes_planned is None else f" of {self.encodes_planned}"
        parts = [f"{self.encodes_done}{planned} encodes"]
        of = f" of {self.total}" if self.total else ""
        parts.append(f"{self.task}: {self.frames}{of} frames" if self.frames or of else self.task)
        if self.fps is not None:
            parts.append(f"{self.fps:.1f} fps")
        if self.eta_seconds is not None:
            minutes, seconds = divmod(round(self.eta_seconds), 60)
            parts.append(f"{minutes}:{seconds:02d} left")
        if self.best is not None:
            parts.append(f"best {self.best}")
        return ", ".join(parts)

    def details(self) -> dict[str, Any]:
        return asdict(self)


Listener: TypeAlias = Callable[[Progress], None]


_EVERY: Final = 0.1  # seconds between two calls of the listener while frames come


class Tally:
    """The encodes of a workbench: made, from the cache, planned, under way, and the best so far."""

    def __init__(self, listener: Listener | None) -> None:
        self.made = 0
        self.cached = 0
        self._listener = listener
        self._planned = 0
        self._best: str | None = None
        self._under_way: dict[object, tuple[str, int, int | None]] = {}  # title, frames, total
        self._frames = 0  # of encodes that have ended
        self._longest = 0  # frames of an encode
        self._busy = 0.0  # seconds with an encode under way, up to `_since`
        self._since = 0.0
        self._last_call = 0.0
        self._lock = threading.RLock()  # a listener may ask for a figure

    @property
    def done(self) -> int:
        return self.made + self.cached

    @property
    def planned(self) -> int:
        return max(self._planned, self.done + len(self._under_way))

    def plan(self, encodes: int) -> None:
        """Expect so many more encodes, or fewer if the number is negative."""
        with self._lock:
            self._planned += encodes

    def set_best(self, text: str) -> None:
        with self._lock:
            self._best = text

    def add_cached(self, title: str) -> None:
        with self._lock:
            self.cached += 1
            self._tell(title)

    @contextmanager
    def encode(self, title: str) -> Iterator[Callable[[int, int | None], None]]:
        """Count an encode for the `with` block; its function takes the frames done and their total."""
        key = object()
        with self._lock:
            if not self._under_way:
                self._since = time.monotonic()
            self._under_way[key] = (title, 0, None)
            self._tell(title)

        def frames(count: int, total: int | None) -> None:
            with self._lock:
                self._under_way[key] = (title, count, total)
                if count == total or time.monotonic() - self._last_call >= _EVERY:
                    self._tell(title)

        try:
            yield frames
        finally:
            with self._lock:
                _, count, _ = self._under_way.pop(key)
                self._frames += count
                self._longest = max(self._longest, count)
                if not self._under_way:
                    self._busy += time.monotonic() - self._since
        with self._lock:
            self.made += 1
            self._tell(title)

    def _tell(self, title: str) -> None:
        if self._listener is None:
            return
        self._last_call = now = time.monotonic()
        titles = [each for each, _, _ in self._under_way.values()] or [title]
        frames = sum(count for _, count, _ in self._under_way.values())
        totals = [total for _, _, total in self._under_way.values()]
        seconds = self._busy + (now - self._since if self._under_way else 0.0)
        fps = (self._frames + frames) / seconds if seconds > 0 and self._frames + frames else None
        each = max([self._longest, *(total for total in totals if total is not None)])
        left = (self.planned - self.done) * each - frames
        self._listener(
            Progress(
                task=", ".join(titles),
                encodes_done=self.done,
                encodes_planned=self.planned,
                frames=frames,
                total=sum(total for total in totals if total is not None) if None not in totals else None,
                fps=fps,
                eta_seconds=None if fps is None or not each else max(left, 0) / fps,
                best=self._best,
            )
        )

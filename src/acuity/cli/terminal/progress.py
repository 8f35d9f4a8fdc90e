"""Shows progress while scoring: a bar for people, lines for logs, or libvmaf's meter."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TextIO

from acuity.cli.terminal.style import Style, clock

_BAR: Final = 24
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_SPINNER: Final = "|/-\\"


class ProgressDisplay:
    """Shows progress, at most every `every` seconds; the last state is always shown."""

    wants_mean = True  # whether to compute the mean score of the frames so far
    known = 0  # frames that are read, but were computed by an earlier run

    def __init__(self, stream: TextIO, every: float, now: Callable[[], float]) -> None:
        self._stream, self._every, self._now = stream, every, now
        self._start = now()
        self._drawn = self._start
        self._state: tuple[int, int | None, float | None] | None = None
        self._shown = False
        self._reason: str | None = None  # of the present pause
        self._since = self._start  # when that began

    def frame(self, frames: int, total: int | None, mean: float | None) -> None:
        self._state = (frames, total, mean)
        self._shown = False
        if frames <= self.known:
            self._start = self._now()  # the speed is that of computing
        if self._now() - self._drawn >= self._every:
            self._show()

    def paused(self, reason: str | None) -> None:
        """Called some times a second with the reason of a pause, and with None when it is over."""
        now = self._now()
        begins = self._reason is None
        if reason is None:
            self._start += 0.0 if begins else now - self._since  # a pause doesn't count for the speed
        elif begins:
            self._since = now
        self._reason = reason
        if reason is not None and (begins or now - self._drawn >= self._every):
            self._state = self._state or (0, None, None)
            self._shown = False
            self._show()

    def _show(self) -> None:
        if self._state is not None and not self._shown:
            self._drawn = self._now()
            self._shown = True
            frames, total, mean = self._state
            speed = max(frames - self.known, 0) / max(self._drawn - self._start, 1e-9)
            self._stream.write(self.text(frames, total, mean, speed))
            self._stream.flush()

    def text(self, frames: int, total: int | None, mean: float | None, speed: float) -> str:
        raise NotImplementedError

    def done(self) -> None:
        """Called once at the end, also after a failure."""
        self._show()


class ProgressBar(ProgressDisplay):
    """One line that is redrawn in place: frames, percent, fps, time left, running mean."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, 0.1, now)
        self._style = Style(stream)

    def text(self, frames: int, total: int | None, mean: float | None, speed: float) -> str:
        line = describe(frames, total, mean, speed, self._reason)
        room = min(_BAR, self._style.columns - len(line) - 4)
        if total and room > 3:
            line = f"{self._bar(min(frames / total, 1.0), room)} {line}"
        while len(line) >= self._style.columns and "  " in line:
            line = line.rpartition("  ")[0]  # drop whole parts: half a number would mislead
        return f"\r{line}\033[K"

    def _bar(self, share: float, width: int) -> str:
        if not self._style.unicode:
            return f"[{'#' * round(share * width):<{width}}]"
        full, rest = divmod(round(share * width * 8), 8)
        return f"{'█' * full + (_EIGHTHS[rest] if rest else ''):<{width}}▕"

    def done(self) -> None:
        super().done()
        if self._state is not None:
            self._stream.write("\n")
            self._stream.flush()


class ProgressLines(ProgressDisplay):
    """A line every few seconds, for logs; a short run prints none."""

    def __init__(self, stream: TextIO, every: float = 5.0, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, every, now)

    def text(self, frames: int, total: int | None, mean: float | None, speed: float) -> str:
        return describe(frames, total, mean, speed, self._reason) + "\n"

    def done(self) -> None:
        pass


class LibvmafMeter(ProgressBar):
    """libvmaf's meter: frames, a spinner, frames a second (of wall time)."""

    wants_mean = False

    def text(self, frames: int, total: int | None, mean: float | None, speed: float) -> str:
        plural = " " if frames == 1 else "s"
        pace = self._reason or f"{_SPINNER[frames % 4]} {speed:.2f} FPS"
        return f"\r{frames} frame{plural} {pace}\033[K"


def describe(
    frames: int, total: int | None, mean: float | None, speed: float, reason: str | None = None
) -> str:
    """`12/48 frames  25%  61.0 fps  0:01 left  mean 76.67`, without the unknown parts.

    During a pause its reason replaces speed and time left.
    """
    parts = [f"{frames}/{total} frames" if total else f"{frames} frames"]
    if total:
        parts.append(f"{100 * min(frames / total, 1.0):.0f}%")
    parts.append(reason or f"{speed:.1f} fps")
    if total and speed > 0 and reason is None:
        parts.append(f"{clock(max(total - frames, 0) / speed)} left")
    if mean is not None:
        parts.append(f"mean {mean:.2f}")
    return "  ".join(parts)


def for_people(stream: TextIO, quiet: bool) -> ProgressDisplay | None:
    if quiet:
        return None
    return ProgressBar(stream) if stream.isatty() else ProgressLines(stream)

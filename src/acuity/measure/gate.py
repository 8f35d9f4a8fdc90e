"""The gate of a measurement: pauses and stops, which decide whether the next frame may be fed.

A pause belongs to the host or to a client of a server. There may be several at once, and frames continue when
none is left. A client's pause has a lease, so that a client that disappears can't hold the measurement for
ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final, Literal, Self

from acuity.errors import InputError
from acuity.measure.boundary import FrameBoundary
from acuity.records import NamedTuple
from acuity.text import note

if TYPE_CHECKING:
    from datetime import datetime

HOST: Final = "host"

# Called repeatedly with the reason while the feeding thread waits, and with None when it continues.
WaitCallback = Callable[[str | None], None]


class Pause(NamedTuple):
    """One pause: its owner, and when it ends by itself."""

    by: str  # the owner's name
    transport: str | None = None  # the owner's, if that is a client; None: the host's own pause
    until: float | None = None  # seconds of the gate's clock; None: until its owner ends it
    ends_at: datetime | None = None  # the same as a time of day
    thread: int | None = None  # the thread whose add() doesn't wait: perhaps no other ends the pause
    shared: bool = False  # the host's, but any client may end it

    @property
    def is_clients(self) -> bool:
        """Whether clients may end it, and it ends with the server."""
        return self.transport is not None or self.shared


class Failure(NamedTuple):
    """Why a measurement ended before its input did."""

    state: Literal["failed", "interrupted"]
    reason: str

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """The failure as those who watch are told it; Ctrl-C and the end of the program are none."""
        text = f"{type(error).__name__}: {error}".removesuffix(": ")
        return cls("failed" if isinstance(error, Exception) else "interrupted", note(text))


INTERRUPTED: Final = Failure("interrupted", "the program was asked to end")


class Gate:
    """The pauses of a measurement, which any thread may begin and end, and the frame to stop after."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.last: int | None = None  # the frame to stop after
        self.stopped = False  # after whichever frame was fed last
        self.interrupted = False  # stopped because the program is asked to end
        self._pauses: dict[Hashable, Pause] = {}  # by owner
        self._changed = threading.Condition()
        self._watchers: tuple[WaitCallback, ...] = ()

    # ---- pauses -----------------------------------------------------------------------------

    @property
    def pauses(self) -> tuple[Pause, ...]:
        """The pauses in effect now."""
        if not self._pauses:
            return ()
        now = self.clock()
        return tuple(pause for pause in tuple(self._pauses.values()) if _holds(pause, now))

    def hold(self, owner: Hashable, pause: Pause) -> None:
        """Begin a pause, which replaces an earlier one of the same owner."""
        with self._changed:
            self._pauses[owner] = pause
            self._changed.notify_all()

    def holds(self, owner: Hashable) -> bool:
        """Whether a pause of this owner is in effect."""
        pause = self._pauses.get(owner)
        return pause is not None and _holds(pause, self.clock())

    def change(self, owner: Hashable, pause: Pause) -> None:
        """Replace a pause that is in effect; one that has ended stays so."""
        with self._changed:
            if self.holds(owner):
                self._pauses[owner] = pause
                self._changed.notify_all()

    def release(self, *owners: Hashable) -> tuple[Pause, ...]:
        """End the pauses of these owners; returns those that were in effect."""
        with self._changed:
            now = self.clock()
            ended = [self._pauses.pop(owner) for owner in owners if owner in self._pauses]
            self._changed.notify_all()
        return tuple(pause for pause in ended if _holds(pause, now))

    def release_clients(self) -> tuple[Pause, ...]:
        """End all pauses except the host's own; returns those that were in effect."""
        owners = [owner for owner, pause in tuple(self._pauses.items()) if pause.is_clients]
        return self.release(*owners) if owners else ()

    def release_all(self) -> None:
        """End every pause."""
        self.release(*tuple(self._pauses))

    def on_wait(self, callback: WaitCallback) -> None:
        """Call back on the feeding thread while it waits for a pause to end, and when it continues."""
        self._watchers = (*self._watchers, callback)

    def wait(self, boundary: FrameBoundary, fed: int, *, adding: bool = False) -> None:
        """Wait until no pause is in effect, or until the measurement is finished after `fed` frames.

        `adding`: in add(), which doesn't wait for a pause that its own thread began.
        """
        if not self._pauses:
            return
        thread = threading.get_ident() if adding else None
        told = False
        while (holding := self._holding(thread)) and not self.is_last(fed):
            told = True
            self._call_back(describe_pauses(holding, self.clock()))
            if boundary.waiter is not None:
                boundary.waiter()
            else:
                self._sleep(thread, fed)
        if told:
            self._call_back(None)
        with self._changed:
            now = self.clock()
            self._pauses = {owner: pause for owner, pause in self._pauses.items() if _holds(pause, now)}

    def _holding(self, thread: int | None) -> list[Pause]:
        return [pause for pause in self.pauses if thread is None or pause.thread != thread]

    def _sleep(self, thread: int | None, fed: int) -> None:
        """Sleep until a pause begins or ends, or the measurement is stopped."""
        with self._changed:
            holding = self._holding(thread)
            if holding and not self.is_last(fed):
                ends = [pause.until - self.clock() for pause in holding if pause.until is not None]
                self._changed.wait(max(min(ends), 0.0) if ends else None)

    def _call_back(self, reason: str | None) -> None:
        for watcher in self._watchers:
            watcher(reason)

    # ---- stopping ---------------------------------------------------------------------------

    def stop(self) -> None:
        """Take no more frames; any thread may call this."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()

    def interrupt(self) -> None:
        """Take no more frames, because the program is asked to end; a signal handler may call this."""
        self.interrupted = True
        self.stop()

    def stop_after(self, frame: int | None, fed: int) -> None:
        """Stop after this frame, when `fed` frames were fed; None: don't stop."""
        if self.stopped:
            raise InputError("the measurement was stopped already, so it takes no more frames")
        earliest = max(fed - 1, 0)
        if frame is not None and frame < earliest:
            raise InputError(
                f"the measurement cannot stop after frame {frame}: name {earliest} or a later one"
            )
        self.last = frame

    def is_last(self, fed: int) -> bool:
        """Whether no more frames may follow after `fed` frames."""
        return self.stopped or (self.last is not None and fed > self.last)


def _holds(pause: Pause, now: float) -> bool:
    return pause.until is None or now < pause.until


def describe_pauses(pauses: Sequence[Pause], now: float) -> str:
    """The owners and the longest time left, as in `paused by inspector (uds), 4:32 left`."""
    owners = (p.by if p.transport is None else f"{p.by} ({p.transport})" for p in pauses)
    text = f"paused by {', '.join(owners)}"
    ends = [pause.until for pause in pauses if pause.until is not None]
    if len(ends) < len(pauses):
        return text
    minutes, seconds = divmod(max(round(max(ends) - now), 0), 60)
    return f"{text}, {minutes}:{seconds:02} left"

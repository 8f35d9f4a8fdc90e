"""Signs of life of a worker: when it was heard last, and pings, of which one is under way at a time."""

from __future__ import annotations

from typing import Final

HELLO_SECONDS: Final = 5.0
PING_SECONDS: Final = 15.0  # of silence, after which a worker is asked whether it is alive
PONG_SECONDS: Final = 10.0  # for its answer, if it has nothing else to do
SILENT_SECONDS: Final = 60.0  # for its answer while it runs calls: many programs do one thing at a time
DOUBT_SECONDS: Final = 1.0  # without an answer, after which it gets no more calls
FRAME_SECONDS: Final = 30.0  # from a frame's first byte to its last
_LOOK: Final = 1.0  # seconds between two looks at the clock, at most


class SignsOfLife:
    """The signs of life on one connection. Times are those of the event loop."""

    def __init__(self) -> None:
        self.heard = 0.0  # when the last frame came
        self.asked: float | None = None  # since when nothing came, after a question whether it is alive
        self.doubted = False  # it gets no calls until it says that it is
        self.pings = 0  # the number of the last ping, which is its id
        self.awaited = 0  # the number of the ping that has no pong yet; 0: none
        self.calls_before = 0  # the number of the last call before that ping
        self._part_since: float | None = None  # when the frame began of which only a part has come

    def note(self, now: float, came: bool, partial: bool) -> None:
        """Note bytes. Only whole frames are a sign of life: one that never ends would be sent for ever."""
        if came:
            self.heard, self.asked, self.doubted = now, None, False
        if not partial:
            self._part_since = None
        elif came or self._part_since is None:
            self._part_since = now

    def ping(self, last_call: int) -> str:
        """The id of the next ping."""
        self.pings += 1
        self.awaited, self.calls_before = self.pings, last_call
        return f"p{self.pings}"

    def is_awaited(self, pong: str) -> bool:
        """Whether this is the id of the ping that has no pong yet; the ping is answered then."""
        if pong != f"p{self.awaited}":
            return False
        self.awaited = 0
        return True

    def look_after(self, *limits: float) -> float:
        """Seconds until the next look at the clock, where these limits count too."""
        return min(_LOOK, *(limit / 4 for limit in (*limits, PONG_SECONDS, FRAME_SECONDS)))

    def broken(self, now: float, greeted: bool) -> str | None:
        """The sentence about a part of the contract that took too long; None: none did."""
        if not greeted:
            too_long = now - self.heard > HELLO_SECONDS
            return f"it did not say 'hello' within {HELLO_SECONDS:g} s" if too_long else None
        if self._part_since is not None and now - self._part_since > FRAME_SECONDS:
            return f"it did not end a frame within {FRAME_SECONDS:g} s"
        return None

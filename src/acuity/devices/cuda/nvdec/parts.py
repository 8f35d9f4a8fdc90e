"""Several decoders of the card for one video: it is split where decoding may begin anew.

Every part is decoded by one session, the next part by the next session, and the frames come out in order: the
digits are those of one session. What is decoded ahead is bounded, and so is what waits to be decoded.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from acuity.devices.cuda.nvdec.complaints import COMPLAINTS
from acuity.devices.cuda.nvdec.session import CardFrame, Doubt, Packet, Session

# Frames of the part that is handed out just now may always be decoded so far ahead.
_AT_LEAST: Final = 8
# Parts of fewer packets are joined: a decoder that ends a part has to begin anew.
_SHORTEST: Final = 24
_BYTES: Final = 128 << 20  # of packets that wait


class _Part:
    """Packets that are decoded by one session, and the frames of them that were not taken yet."""

    def __init__(self) -> None:
        self.packets: deque[Packet] = deque()
        self.frames: deque[CardFrame] = deque()
        self.count = 0  # packets that it was given
        self.complete = False  # no more packets will come
        self.done = False  # no more frames will come


class Parts:
    """Sessions side by side. One thread feeds packets and takes frames."""

    def __init__(self, make: Callable[[], Session], sessions: int, most: int) -> None:
        """`most` is how many frames may be decoded ahead."""
        self._make = make
        self._sessions = sessions
        self._most = max(most, _AT_LEAST)
        lock = threading.Lock()
        self._changed = threading.Condition(lock)  # for the threads: packets, or room for frames
        self._news = threading.Condition(lock)  # for take(): frames of the first part, or its end
        self._parts: deque[_Part] = deque()  # from the one that frames are taken from on
        self._lanes: list[deque[_Part]] = []  # parts that each thread has still to decode
        self._threads: list[threading.Thread] = []
        self._waiting = 0  # frames that were not taken yet
        self._bytes = 0  # of packets that wait
        self._packets = 0
        self._made = 0  # parts
        self._error: BaseException | None = None
        self._stopped = False
        self._complaints = COMPLAINTS.count()
        self._last: int | None = None  # the time of the last frame that was taken

    def feed(self, packet: Packet, *, anew: bool) -> None:
        """Give a packet to its session."""
        with self._changed:
            part = self._parts[-1] if self._parts else None
            if part is None or (anew and self._sessions > 1 and part.count >= _SHORTEST):
                if part is not None:
                    part.complete = True
                part = self._begin()
            part.packets.append(packet)
            part.count += 1
            self._packets += 1
            self._bytes += packet.size
            if len(part.packets) == 1:
                self._changed.notify_all()

    def end(self) -> None:
        """No more packets will come."""
        with self._changed:
            if self._parts:
                self._parts[-1].complete = True
            self._changed.notify_all()

    def take(self, *, over: bool = False) -> CardFrame | None:
        """The next frame; None if more packets may be fed first, or, when it is over, after the last one."""
        with self._changed:
            while True:
                if self._error is not None:
                    raise self._error
                if COMPLAINTS.count() != self._complaints:
                    raise Doubt("the card's decoder met damage")
                if self._stopped or not self._parts:
                    return None
                part = self._parts[0]
                if part.frames:
                    return self._taken(part)
                if part.done:
                    self._parts.popleft()
                    self._changed.notify_all()
                elif over or self._is_far_ahead():
                    self._news.wait()
                else:
                    return None

    def close(self) -> None:
        """End the threads, which gives their decoders back. May be called again."""
        with self._changed:
            self._stopped = True
            self._parts.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _begin(self) -> _Part:
        part = _Part()
        self._parts.append(part)
        lane = self._made % self._sessions
        self._made += 1
        if lane == len(self._lanes):
            self._lanes.append(deque())
            thread = threading.Thread(
                target=self._work, args=(self._lanes[lane],), name=f"acuity-decode-{lane}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        self._lanes[lane].append(part)
        return part

    def _is_far_ahead(self) -> bool:
        return (
            self._waiting >= self._most
            or self._bytes >= _BYTES
            or self._packets >= self._most + 2 * _SHORTEST
        )

    def _taken(self, part: _Part) -> CardFrame:
        frame = part.frames.popleft()
        self._waiting -= 1
        self._packets -= 1
        if self._last is not None and frame.pts <= self._last:
            raise Doubt("parts of the video overlap")
        self._last = frame.pts
        # Not at every frame: to wake threads that go on waiting takes as long as their work.
        if len(part.frames) == _AT_LEAST - 1 or self._waiting == self._most - _AT_LEAST // 2:
            self._changed.notify_all()
        return frame

    # ---- in the threads ---------------------------------------------------------------------

    def _work(self, lane: deque[_Part]) -> None:
        session = None
        try:
            session = self._make()
            while (part := self._next_part(lane)) is not None:
                self._decode(session, part)
        except BaseException as error:  # raised again by take()
            with self._changed:
                self._error = self._error or error
                self._news.notify()
        finally:
            if session is not None:
                session.close()

    def _next_part(self, lane: deque[_Part]) -> _Part | None:
        with self._changed:
            while not lane and not self._stopped:
                self._changed.wait()
            return None if self._stopped else lane.popleft()

    def _decode(self, session: Session, part: _Part) -> None:
        while True:
            with self._changed:
                while not self._stopped and not self._may_go_on(part):
                    self._changed.wait()
                if self._stopped:
                    return
                packet = part.packets.popleft() if part.packets else None
                self._bytes -= 0 if packet is None else packet.size
            frames = list(session.flush() if packet is None else session.decode(packet))
            for frame in frames:
                frame.wait()
            with self._changed:
                part.frames.extend(frames)
                self._waiting += len(frames)
                self._packets -= packet is not None and packet.hidden
                part.done = packet is None
                if self._parts and part is self._parts[0]:
                    self._news.notify()
            frames.clear()
            if packet is None:
                return

    def _may_go_on(self, part: _Part) -> bool:
        """Whether there is something to decode, and room for its frames."""
        if not part.packets and not part.complete:
            return False
        first = bool(self._parts) and part is self._parts[0]
        return self._waiting < self._most or (first and len(part.frames) < _AT_LEAST)

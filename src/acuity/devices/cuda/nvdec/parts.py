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
# Packets and frames that change hands at once: to wake a thread takes as long as its work for several.
_BATCH: Final = 8
# Packets that each thread decodes one by one, so that the first frames come early.
_SINGLE: Final = 24


class _Part:
    """Packets that are decoded by one session, and the frames of them that were not taken yet."""

    def __init__(self, lane: _Lane) -> None:
        self.lane = lane
        self.packets: deque[Packet] = deque()
        self.frames: deque[CardFrame] = deque()
        self.count = 0  # packets that it was given
        self.complete = False  # no more packets will come
        self.done = False  # no more frames will come


class _Lane:
    """What one thread has to decode."""

    def __init__(self, lock: threading.Lock) -> None:
        self.changed = threading.Condition(lock)  # packets, or room for frames
        self.parts: deque[_Part] = deque()
        self.hungry = False  # whether it waits for packets
        self.begun = 0  # packets that were taken from it


class Parts:
    """Sessions side by side. One thread feeds packets and takes frames."""

    def __init__(self, make: Callable[[], Session], sessions: int, most: int) -> None:
        """`most` is how many frames may be decoded ahead."""
        self._make = make
        self._sessions = sessions
        self._most = max(most, _AT_LEAST)
        self._room = max(self._most - 4 * _BATCH, self._most // 2)  # waiting frames at which threads go on
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)  # for take(): frames of the first part, or its end
        self._parts: deque[_Part] = deque()  # from the one that frames are taken from on
        self._lanes: list[_Lane] = []
        self._threads: list[threading.Thread] = []
        self._waiting = 0  # frames that were not taken yet
        self._bytes = 0  # of packets that wait
        self._packets = 0
        self._made = 0  # parts
        self._full = 0  # threads that wait for room
        self._told = False  # whether there is news that take() hasn't seen
        self._error: BaseException | None = None
        self._stopped = False
        self._complaints = COMPLAINTS.count()
        self._last: int | None = None  # the time of the last frame that was taken
        # The feeding thread's own, without the lock.
        self._fresh: list[Packet] = []  # packets of the last part that its thread doesn't have yet
        self._ready: deque[CardFrame] = deque()  # frames that were fetched
        self._fetched = 0  # how many those were
        self._given = False  # whether a frame was taken since the last packet

    def feed(self, packet: Packet, *, anew: bool) -> None:
        """Give a packet to its session."""
        self._given = False
        part = self._parts[-1] if self._parts else None
        if part is None or (anew and self._sessions > 1 and part.count >= _SHORTEST):
            with self._lock:
                if part is not None:
                    self._hand_over()
                    part.complete = True
                    part.lane.changed.notify()
                part = self._begin()
        part.count += 1
        self._fresh.append(packet)
        if part.lane.hungry or len(self._fresh) >= _BATCH:
            with self._lock:
                self._hand_over()

    def end(self) -> None:
        """No more packets will come."""
        with self._lock:
            self._hand_over()
            if self._parts:
                self._parts[-1].complete = True
                self._parts[-1].lane.changed.notify()

    def take(self, *, over: bool = False) -> CardFrame | None:
        """The next frame; None if more packets may be fed first, or, when it is over, after the last one."""
        if self._given and not over and not self._is_far_ahead():
            return None  # a packet for each frame: or the sessions wait while frames that are there are taken
        if not self._ready:
            if self._fresh and not over and not self._told:
                return None
            self._fetch(over)
        if not self._ready or self._stopped:
            return None
        frame = self._ready.popleft()
        if self._last is not None and frame.pts <= self._last:
            raise Doubt("parts of the video overlap")
        self._last = frame.pts
        self._given = True
        return frame

    def close(self) -> None:
        """End the threads, which gives their decoders back. May be called again."""
        with self._lock:
            self._stopped = True
            self._wake()
            self._news.notify()
        for thread in self._threads:
            thread.join()

    def _hand_over(self) -> None:
        """Let the last part's thread have the packets that were fed."""
        if not self._fresh:
            return
        part = self._parts[-1]
        part.packets.extend(self._fresh)
        self._packets += len(self._fresh)
        self._bytes += sum(packet.size for packet in self._fresh)
        self._fresh.clear()
        if part.lane.hungry:
            part.lane.changed.notify()

    def _fetch(self, over: bool) -> None:
        """Fetch frames of the first part, if there are any, or if there is nothing else to do but wait."""
        with self._lock:
            self._hand_over()
            self._waiting -= self._fetched
            self._packets -= self._fetched
            self._fetched = 0
            while not self._stopped:
                self._told = False
                if self._error is not None:
                    raise self._error
                if COMPLAINTS.count() != self._complaints:
                    raise Doubt("the card's decoder met damage")
                if not self._parts:
                    return
                part = self._parts[0]
                if part.frames:
                    self._fetched = min(len(part.frames), _BATCH)
                    self._ready.extend(part.frames.popleft() for _ in range(self._fetched))
                if self._full and (self._waiting <= self._room or len(part.frames) < _AT_LEAST):
                    self._wake()
                if self._ready:
                    return
                if part.done:
                    self._parts.popleft()
                    self._wake()
                elif over or self._is_far_ahead():
                    self._news.wait()
                else:
                    return

    def _begin(self) -> _Part:
        number = self._made % self._sessions
        self._made += 1
        if number == len(self._lanes):
            self._lanes.append(_Lane(self._lock))
            thread = threading.Thread(
                target=self._work, args=(self._lanes[number],), name=f"acuity-decode-{number}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        part = _Part(self._lanes[number])
        self._parts.append(part)
        part.lane.parts.append(part)
        return part

    def _is_far_ahead(self) -> bool:
        return (
            self._waiting >= self._most
            or self._bytes >= _BYTES
            or self._packets >= self._most + 2 * _SHORTEST
        )

    def _wake(self) -> None:
        for lane in self._lanes:
            lane.changed.notify()

    # ---- in the threads ---------------------------------------------------------------------

    def _work(self, lane: _Lane) -> None:
        session = None
        try:
            session = self._make()
            while (part := self._next_part(lane)) is not None:
                self._decode(session, part)
        except BaseException as error:  # raised again by take()
            with self._lock:
                self._error = self._error or error
                self._tell()
        finally:
            if session is not None:
                session.close()

    def _next_part(self, lane: _Lane) -> _Part | None:
        with self._lock:
            lane.hungry = True
            while not lane.parts and not self._stopped:
                lane.changed.wait()
            lane.hungry = False
            return None if self._stopped else lane.parts.popleft()

    def _decode(self, session: Session, part: _Part) -> None:
        while (packets := self._next_packets(part)) is not None:
            frames = session.decode(packets) if packets else session.flush()
            hidden = sum(packet.hidden for packet in packets)
            with self._lock:
                part.frames.extend(frames)
                self._waiting += len(frames)
                self._packets -= hidden
                part.done = not packets
                if (frames or part.done) and self._parts and part is self._parts[0]:
                    self._tell()
            frames.clear()
            if not packets:
                return

    def _next_packets(self, part: _Part) -> list[Packet] | None:
        """What to decode next, which is nothing at the part's end; None if it is of no use any more."""
        with self._lock:
            while not self._stopped:
                room = self._room_for(part)
                if room and (part.packets or part.complete):
                    count = min(room, len(part.packets))
                    part.lane.begun += count
                    packets = [part.packets.popleft() for _ in range(count)]
                    self._bytes -= sum(packet.size for packet in packets)
                    return packets
                part.lane.hungry = not part.packets
                self._full += not room
                part.lane.changed.wait()
                self._full -= not room
                part.lane.hungry = False
            return None

    def _room_for(self, part: _Part) -> int:
        """How many packets may be decoded now."""
        free = (self._most - self._waiting) // self._sessions
        if part.lane.begun < _SINGLE or free < _BATCH:
            first = bool(self._parts) and part is self._parts[0]
            return int(self._waiting < self._most or (first and len(part.frames) < _AT_LEAST))
        return _BATCH

    def _tell(self) -> None:
        self._told = True
        self._news.notify()

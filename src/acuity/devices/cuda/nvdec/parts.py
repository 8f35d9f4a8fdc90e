"""Decoding on the card: parts of a video side by side, in native threads that need nothing of Python."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from av.video.frame import PictureType

from acuity.devices.cuda.nvdec.packet_stream import Doubt, Packet
from acuity.devices.cuda.nvdec.rooms import Room, Rooms

if TYPE_CHECKING:
    from acuity.video.card_picture import CardPicture

_BATCH: Final = 16  # frames that are taken at once
# Added to times, which may be negative. The decoder is given times, because it changes stamps that don't rise
# in the order of presentation.
_STAMPS: Final = 1 << 24


@dataclass(slots=True, eq=False)
class CardFrame:
    """A decoded frame on the card: what the reader asks of PyAV's, too."""

    pts: int
    duration: int
    room: Room
    rooms: Rooms

    is_corrupt = False
    interlaced_frame = False
    pict_type = PictureType.NONE

    def picture(self, seconds: float | None) -> CardPicture:
        """The frame as a picture that is shown at that time."""
        return self.rooms.picture(self.room, seconds)


class Parts:
    """One video's decoder. One thread feeds packets and takes frames."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._decoder = rooms.decoder
        self._durations: dict[int, int] = {}  # by stamp, of packets whose frames were not taken
        self._ready: deque[tuple[int, int]] = deque()  # stamps and rooms that were fetched
        self._last = 0  # the stamp of the last frame that was taken
        self._given = False  # whether a frame was taken since the last packet

    def feed(self, packet: Packet, *, anew: bool) -> None:
        """Give a packet to its session."""
        self._given = False
        stamp = packet.pts + _STAMPS
        if not packet.hidden:
            self._durations[stamp] = packet.duration
        try:
            self._decoder.feed(packet.address, packet.size, stamp, packet.hidden, anew)
        except OSError as error:
            raise Doubt("the system starts no more threads") from error

    def end(self) -> None:
        """No more packets will come."""
        self._decoder.end()

    def take(self, *, over: bool = False) -> CardFrame | None:
        """The next frame; None if more packets may be fed first, or, when it is over, after the last one."""
        if self._given and not over and not self._decoder.far_ahead:
            return None  # a packet for each frame: or the sessions wait while frames that are there are taken
        if not self._ready:
            self._fetch(over)
        if not self._ready:
            return None
        stamp, number = self._ready.popleft()
        room = Room(self._rooms, number)
        if stamp <= self._last:
            raise Doubt("parts of the video overlap")
        self._last = stamp
        self._given = True
        return CardFrame(stamp - _STAMPS, self._durations.pop(stamp), room, self._rooms)

    def _fetch(self, over: bool) -> None:
        decoder = self._decoder
        while True:
            if decoder.wants_room:
                self._rooms.grow()
            waits = over or decoder.far_ahead
            try:
                found = decoder.take(_BATCH, waits)
            except RuntimeError as error:
                raise Doubt(str(error)) from error
            self._ready.extend(found)
            if found or not waits or decoder.finished:
                return

    def close(self) -> None:
        """End the threads, which gives their decoders back. May be called again."""
        self._decoder.close()
        for _, number in self._ready:
            self._rooms.give_back(number)
        self._ready.clear()

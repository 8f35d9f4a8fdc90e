"""NvdecReader: a container that is decoded on the card; the CPU's reader is its base and its fallback."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import av
import numpy as np
from av.video.frame import PictureType

from acuity.devices.cuda.nvdec.library import CODECS, Functions, abilities
from acuity.devices.cuda.nvdec.packet_stream import Doubt, Packet, PacketStream
from acuity.devices.cuda.nvdec.rooms import Room, Rooms
from acuity.errors import InputError, to_set
from acuity.video.notes import info
from acuity.video.picture import Picture
from acuity.video.readers.container import ContainerReader
from acuity.video.readers.decoder import Decode, DecodedFrame, Decoder
from acuity.video.source import Place, Source

if TYPE_CHECKING:
    from acuity.devices.cuda.hardware.card import Card
    from acuity.video.card_picture import CardPicture
    from acuity.video.readers.reader import RgbTarget

_BATCH: Final = 16  # frames that are taken at once
# Added to times, which may be negative. The decoder is given times, because it changes stamps that don't rise
# in the order of presentation.
_STAMPS: Final = 1 << 24
CODE: Final = "decoder"  # of notes

_VIDEOS: Final = 2  # that share the card's decoders
_WORTHWHILE: Final = 100  # frames that a session decodes at least: to make one takes as long as 50
_SHARE: Final = 8  # the part of the card's free memory, one in so many, for what one video decodes ahead
_MOST_BYTES: Final = 2 << 30


class NvdecReader(ContainerReader):
    """Decodes on the card if pictures are compared as they are and the card can; otherwise on the CPU.

    The first picture is decoded by both and compared. If the card's decoder meets damage, or gives a picture
    that isn't where the demuxer has it, the CPU reads the video anew up to there, with its own refusals and
    notes, and goes on.
    """

    def __init__(
        self,
        path: Place,
        *,
        card: Card,
        library: Functions,
        required: bool,
        luma_only: bool = False,
        **opening: Any,
    ) -> None:
        self._card = card
        self._library = library
        self._required = required
        self._luma_only = luma_only
        self._begins = False  # whether the next read begins on the card
        self._parts: Parts | None = None  # while the card decodes
        self._engines = 1
        self._fits = True
        self._noted = 0  # notes before the card began
        super().__init__(path, luma_only=luma_only, **opening)
        if self._allow_damaged:
            self._decline("it may be damaged, and decoders make different pictures of that", told=False)
        elif (why := self._unfit()) is not None:
            self._decline(why, told=True)
        elif not CODECS[str(self.info.codec)].tells_damage:
            self._doubt_codec(str(self.info.codec).upper())

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        super().prepare(chroma=chroma, rgb=rgb)
        self._luma_only = self._luma_only and not chroma

    def expect(self, *, converted: bool) -> None:
        if converted:
            self._decline("its pictures are converted before they are compared", told=False)
        self._begins = self._fits and self._next == 0

    @property
    def decoded(self) -> bool:
        return self._begins or self._parts is not None

    def read(self) -> Picture | None:
        if self._begins:
            self._begin()
        if self._parts is None:
            return super().read()
        try:
            return super().read()
        except (Doubt, InputError) as error:
            if self._closed:
                raise
            self._doubt(error)
            return super().read()

    def seek(self, frame: int) -> None:
        if self._begins and frame:
            self._begin()
        try:
            super().seek(frame)
        except Doubt as error:
            self._doubt(error)
            super().seek(frame)

    def close(self) -> None:
        super().close()
        self._end_parts()

    def _unfit(self) -> str | None:
        """Why the card can't decode this video."""
        about = self.info
        if about.codec not in CODECS:
            return f"the card doesn't decode {about.codec}"
        if about.format.layout != "420" or self._planar.converts:
            return f"the card doesn't decode {self._planar.source}"
        profile, decoded = self._decoder.stream.profile, CODECS[about.codec].profiles
        if decoded is not None and profile not in decoded:
            return f"the card doesn't decode {about.codec.upper()} of the profile {profile}"
        if about.interlaced:
            return "it is interlaced"
        if not self._source.reopenable:
            return "it can be read only once"
        if self._timeless:
            return "its container doesn't say when frames are shown"
        found = abilities(self._library, self._card, about.codec, about.format, about.width, about.height)
        self._engines = found.engines
        return found.problem

    def _decline(self, why: str, *, told: bool) -> None:
        """Leave the video to the CPU, or refuse it where the card was asked for."""
        self._fits = self._begins = False
        if self._required:
            self._refuse(why)
        if told:
            self.notes.append(info(CODE, f"'{self._path}' is decoded on the CPU: {why}"))

    def _doubt_codec(self, codec: str) -> None:
        """Let the CPU decode a codec whose damage the card doesn't report, unless the card was asked for."""
        about = f"the card's decoder doesn't tell of damage in {codec}"
        if self._required:
            self.notes.append(info(CODE, f"'{self._path}' is decoded on the card: {about}"))
            return
        self._fits = False
        remedy = ", so pass ", to_set("decoder", "nvdec"), " only for files that are whole"
        self.notes.append(info(CODE, f"'{self._path}' is decoded on the CPU: {about}", *remedy))

    def _refuse(self, why: str) -> None:
        raise InputError(
            f"'{self._path}' can't be decoded on the card, because {why}: pass ",
            to_set("decoder", "auto"),
            " to have the CPU decode what the card can't",
        )

    def _begin(self) -> None:
        """Start over on the card, and compare the first picture with the CPU's."""
        self._begins = False
        with self._lock:
            expected = self._pending
            if expected is None or self._closed:
                return
            wanted = super()._picture(expected).planes
            self._noted = len(self.notes)
            self._parts = self._make_parts()
            try:
                self._start_over()
                first = next(self._frames, None)
                shown = first.picture(None).planes if isinstance(first, CardFrame) else ()
                same = len(shown) == len(wanted) and all(map(np.array_equal, shown, wanted))
                problem: Exception | None = None if same else Doubt("its first picture differs")
            except (Doubt, InputError) as error:
                first, problem = None, error
            self._pending = first if problem is None else None
        if problem is not None:
            self._doubt(problem)

    def _make_parts(self) -> Parts:
        about = self.info
        assert about.codec is not None
        size = about.width, about.height
        budget = min(self._card.free_memory() // _SHARE, _MOST_BYTES)
        most = budget // about.format.frame_bytes(*size)
        sessions = -(-self._engines // _VIDEOS)
        if about.frames is not None:
            sessions = max(1, min(sessions, about.frames // _WORTHWHILE))
        return Parts(
            Rooms(
                self._card,
                self._library,
                about.codec,
                size,
                about.format,
                luma_only=self._luma_only,
                sessions=sessions,
                most=most,
            )
        )

    def _doubt(self, error: Exception) -> None:
        """Let the CPU read up to where the card was, and go on from there."""
        self._end_parts()
        if self._required and isinstance(error, Doubt):
            self._refuse(str(error))
        with self._lock:
            reached = self._next
            del self.notes[self._noted :]
            self._hole = False
            self._start_over()
        for _ in range(reached):
            super().read()

    def _end_parts(self) -> None:
        parts, self._parts = self._parts, None
        if parts is not None:
            parts.close()

    # ---- the base's parts that differ on the card -------------------------------------------

    def _decoder_of(self, source: Source) -> Decoder:
        if self._parts is None:
            return super()._decoder_of(source)
        return Decoder(
            source, allow_damaged=self._allow_damaged, stream=self._stream, decoded_by=self._decoded_by
        )

    def _decoded_by(self, stream: av.VideoStream) -> Decode:
        parts = self._parts
        assert parts is not None
        assert self.info.codec is not None
        packets = PacketStream(stream, self.info.codec)

        def decode(packet: av.Packet[av.VideoStream]) -> Any:
            if packet.size:
                made, anew = packets.convert(packet)
                parts.feed(made, anew=anew)
                return parts.take
            parts.end()
            return lambda: parts.take(over=True)

        return decode

    def _start_over(self) -> None:
        if self._parts is not None:
            self._parts.close()
            self._parts = self._make_parts()
        super()._start_over()

    def _jump(self, frame: int) -> bool:
        return self._parts is None and super()._jump(frame)

    def _picture(self, frame: DecodedFrame) -> Picture:
        if isinstance(frame, CardFrame):
            return frame.picture(self._time(frame))
        return super()._picture(frame)


@dataclass(slots=True, eq=False)
class CardFrame:
    """A decoded frame on the card, with all that the reader asks of PyAV's frames."""

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
            return None  # feed a packet for each frame: otherwise sessions wait while ready frames are taken
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

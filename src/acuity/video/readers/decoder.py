"""Decodes one video stream with PyAV, and reports lost and damaged frames; or measures its packets alone."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any, Final, Protocol, TypeAlias

import av
from av.video.frame import PictureType

from acuity.errors import InputError, TruncatedError, to_set
from acuity.video.notes import Note, info, warning
from acuity.video.readers.av_open import AV_ERRORS, AvFile, choose_stream, known, open_container, reason
from acuity.video.readers.container_info import UNKNOWN_FRAMES, tagged_end
from acuity.video.source import Place, Source, open_source

# With these codecs one packet is one frame, so fewer frames than packets means that some were lost.
ONE_TO_ONE: Final = frozenset(
    ("h264", "hevc", "vvc", "av1", "libdav1d", "vp9", "ffv1", "prores", "dnxhd", "mjpeg", "utvideo")
)

_AHEAD_BYTES: Final = 64 << 20  # of the packets that look_ahead() keeps
_SLACK: Final = Fraction(3, 2)  # frames by which a declared length may be wrong


class DecodedFrame(Protocol):
    """A decoded frame as a pass sees it; PyAV's is one."""

    @property
    def pts(self) -> int | None: ...
    @property
    def duration(self) -> int: ...
    @property
    def is_corrupt(self) -> bool: ...
    @property
    def interlaced_frame(self) -> bool: ...
    @property
    def pict_type(self) -> int: ...


class UncertainDamage(Exception):
    """Several threads met damage, and may not have marked the pictures that have it."""


def listen() -> bool:
    """Count from now on what FFmpeg's decoders log about damaged pictures, for all decoders of this process.

    A decoder with several threads marks damaged pictures, but it may hand one out before the thread that
    decodes it has come to the damage. What that thread logs is counted by then. False if PyAV listens to
    FFmpeg's log, or FFmpeg's function isn't found.
    """
    register = _log_setter()
    if register is None or av.logging.get_level() is not None:
        return False
    from acuity import _native

    register(ctypes.c_void_p(_native.DAMAGE_LOG))
    return True


def logged() -> int:
    """How often damage was logged so far."""
    from acuity import _native

    return _native.damage_logged()


@cache
def _log_setter() -> Callable[..., Any] | None:
    """FFmpeg's function that sets the callback of its log, found in a module that is linked to FFmpeg."""
    try:
        return ctypes.CDLL(av.logging.__file__).av_log_set_callback
    except (OSError, AttributeError):
        return None


# Takes a packet, of which the last one is empty. Returns a function that returns the next frame, or None if
# another packet is needed first.
Decode: TypeAlias = "Callable[[av.Packet[av.VideoStream]], Callable[[], DecodedFrame | None]]"


class Decoder:
    """One pass over the frames of one video stream; closes its source."""

    def __init__(
        self,
        source: Source,
        *,
        threads: int = 0,
        allow_damaged: bool = False,
        stream: int | None = None,
        decoded_by: Callable[[av.VideoStream], Decode] | None = None,
    ) -> None:
        """`decoded_by` makes what decodes the stream in FFmpeg's place."""
        self.source = source
        self.path = source.path
        self.notes: list[Note] = []
        self._allow_damaged = allow_damaged
        self._file = AvFile(source)
        try:
            self.container = open_container(source, self._file)
            self.stream = choose_stream(self.container, self.path, stream)
        except BaseException:
            source.close()
            raise
        self.stream.thread_type = "AUTO"
        # Decoding damaged frames isn't deterministic with several threads.
        self.stream.codec_context.thread_count = 1 if allow_damaged else threads
        self.index = 0  # of the next frame
        self._demuxed = 0  # packets read, and those among them that should make a frame
        self._packets = 0
        self._early: list[int | None] = []  # times of the packets before the first frame that should make one
        self._first: tuple[int | None, bool] | None = None  # its time, and whether it is interlaced
        self._shown: tuple[int, int] | None = None  # time and duration of the last frame
        self._skip_before: int | None = None
        self._keyframe: int | None = None  # still to be seen after start_at()
        self._noted_damage = False
        self._ahead: deque[av.Packet[av.VideoStream]] = deque()  # read already
        self._demuxer = self.container.demux(self.stream)
        watched = decoded_by is None and self.stream.codec_context.thread_count != 1
        self._watched = watched and listen()
        self._logged = logged()
        self._elsewhere = None if decoded_by is None else decoded_by(self.stream)

    def frames(self) -> Iterator[DecodedFrame]:
        """Decode to the end. Raises an error if the stream is found to end early, or UncertainDamage."""
        packets = self.demux()
        for packet in packets:
            if packet.size:
                self._demuxed += 1
                self._packets += not packet.is_discard
                if self._first is None and not packet.is_discard:
                    self._early.append(packet.pts)
                if packet.is_corrupt or self._is_cut_off(packet):
                    # Frames come out later than their packets go in, by as many as there are threads.
                    near = self._demuxed - 1 if self._skip_before is None else self.index
                    if not self._allow_damaged:
                        self._check_rest(packets)
                    where = f"'{self.path}' is damaged or incomplete near frame {near}"
                    self._meet_damage(TruncatedError, where)
            try:
                take = self._decode(packet)
            except InputError:
                if self._allow_damaged:  # otherwise the packet that is cut off was refused before
                    self._check_rest(packets)
                raise
            while (frame := take()) is not None:
                if self._watched and logged() != self._logged:
                    self._suspect_damage()
                if not self._before_start(frame):
                    self._count(frame)
                    held = [frame]
                    del frame  # yielded without keeping a reference, because a frame is large
                    yield held.pop()
        if self._skip_before is None and self._first is not None:
            self._check_complete(*self._first)

    def demux(self) -> Iterator[av.Packet[av.VideoStream]]:
        """The packets of the stream, undecoded; the last ones are empty and flush the decoder."""
        while self._ahead:
            yield self._ahead.popleft()
        try:
            for packet in self._demuxer:  # noqa: UP028  # `yield from` would end it with this generator
                yield packet
        except AV_ERRORS as error:
            raise self._cannot_decode(error) from error
        self._file.check()

    def look_ahead(self, count: int, *, keep: bool = True) -> list[int]:
        """The times of the first packets; with `keep`, frames() will have these packets, too."""
        stamps: list[int] = []
        kept = 0
        for packet in islice(self.demux(), count):
            if packet.size and packet.pts is not None and not packet.is_discard:
                stamps.append(packet.pts)
            if keep:
                self._ahead.append(packet)
                kept += packet.size
                if kept > _AHEAD_BYTES:
                    break
        return stamps

    def start_at(self, keyframe: int, frame: int, index: int) -> None:
        """Make frames() begin with the one shown at tick `frame`, number `index`.

        The decoder starts at the keyframe shown at tick `keyframe`. Frames before the wanted one may lack
        their references, so they are dropped.
        """
        try:
            self.container.seek(keyframe, stream=self.stream)
        except AV_ERRORS as error:
            raise self._cannot_decode(error) from error
        self._keyframe = keyframe
        self._skip_before = frame
        self.index = index

    def close(self) -> None:
        self.container.close()
        self.source.close()

    def _before_start(self, frame: DecodedFrame) -> bool:
        if self._skip_before is None or frame.pts is None:
            return False
        # With intra refresh a "keyframe" only begins to repair the picture and is not complete.
        if frame.pts == self._keyframe and frame.pict_type == PictureType.I:
            self._keyframe = None
        if frame.pts < self._skip_before:
            return True
        if self._keyframe is not None:
            raise InputError(f"'{self.path}' cannot be decoded from frame {self.index} on")
        return False

    def _count(self, frame: DecodedFrame) -> None:
        if frame.is_corrupt:
            self._meet_damage(InputError, f"frame {self.index} of '{self.path}' is damaged")
        if self._first is None:
            self._first = frame.pts, frame.interlaced_frame
        self.index += 1
        if frame.pts is not None:
            self._shown = frame.pts, frame.duration

    def _is_cut_off(self, packet: av.Packet[av.VideoStream]) -> bool:
        """Whether a JPEG file lacks its end, which FFmpeg's decoder makes up without a word."""
        data = bytes(packet) if self.container.format.name == "jpeg_pipe" else b""
        return bool(data) and data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda")

    def _check_rest(self, packets: Iterator[av.Packet[av.VideoStream]]) -> None:
        """Read on to the end, and refuse a file that ends early: nothing can be done about that."""
        if self._skip_before is not None:  # its start was not read
            return
        shown = [] if self._shown is None else [self._shown]
        for packet in packets:
            self._demuxed += bool(packet.size)
            if packet.size and packet.pts is not None:
                shown.append((packet.pts, packet.duration or 0))
        self._shown = max(shown, key=lambda one: self._end_of(*one), default=None)
        self._check_length()

    def _meet_damage(self, error: type[InputError], what: str) -> None:
        """Refuse damage, or note it once: after a damaged frame, others may be damaged too."""
        self._file.check()
        if not self._allow_damaged:
            raise error(
                f"{what}: copy or encode it again, or pass ",
                to_set("allow_damaged", True),
                " to score what the decoder makes of it",
            )
        if not self._noted_damage:
            self._noted_damage = True
            text = f"{what}: what the decoder makes of this, and of any damage after it, is scored"
            self.notes.append(warning("damaged", text))

    def _suspect_damage(self) -> None:
        """Damage was logged, and of these frames some may lack their marks."""
        if self.source.reopenable:
            raise UncertainDamage
        self._watched = False
        text = f"'{self.path}' may be damaged near frame {self.index}, and it can't be read again to find out"
        self.notes.append(warning("damaged", text))

    def _end_of(self, pts: int, duration: int) -> Fraction:
        """The end of a frame's presentation, in seconds; a frame without a duration has the usual one."""
        base, rate = known(self.stream.time_base) or Fraction(1), known(self.stream.guessed_rate)
        return pts * base + (duration * base if duration or not rate else 1 / rate)

    def _decode(self, packet: av.Packet[av.VideoStream]) -> Callable[[], DecodedFrame | None]:
        if self._elsewhere is not None:
            return self._elsewhere(packet)
        try:
            decoded = packet.decode()[::-1]
        except AV_ERRORS as error:
            raise self._cannot_decode(error) from error
        return lambda: decoded.pop() if decoded else None

    def _cannot_decode(self, error: Exception) -> InputError:
        self._file.check()
        where = f"'{self.path}' cannot be decoded at frame {self.index} ({reason(error)})"
        return InputError(f"{where}: copy or encode it again, or score the frames before it alone")

    def _check_complete(self, start: int | None, interlaced: bool) -> None:
        self._check_length()
        if self.stream.codec_context.name not in ONE_TO_ONE or interlaced:
            return
        leading = sum(1 for pts in self._early if start is not None and pts is not None and pts < start)
        if leading:
            text = f"'{self.path}' starts with {leading} frames that cannot be decoded: they are left out"
            self.notes.append(warning("leading-frames", text))
        if hidden := self._demuxed - self._packets:
            text = f"'{self.path}' has {hidden} frames that its edit list hides: they are left out"
            self.notes.append(info("hidden-frames", text))
        lost = self._packets - leading - self.index
        if lost > 0:
            text = f"{lost} of the {self._packets} frames of '{self.path}' cannot be decoded"
            if not self._allow_damaged:
                raise InputError(f"{text}: encode it again, or the frames after them are compared wrongly")
            self.notes.append(warning("lost-frames", text))

    def _check_length(self) -> None:
        """Compare the decoded length with the length in the file's index or header."""
        formats = self.container.format.name.split(",")
        promised = len(self.stream.index_entries) if "mov" in formats else 0
        promised = self.stream.frames if "avi" in formats else promised
        if self._demuxed < promised < UNKNOWN_FRAMES:
            raise TruncatedError(
                f"'{self.path}' ends after {self._demuxed} of the {promised} frames it promises:"
                " the file is incomplete, so copy or encode it again"
            )
        expected = tagged_end(self.stream) if "matroska" in formats else None
        rate = known(self.stream.guessed_rate)
        end = None if self._shown is None else self._end_of(*self._shown)
        if expected is not None and rate and end is not None and end < expected - _SLACK / rate:
            raise TruncatedError(
                f"'{self.path}' ends at {float(end):.3f} s of the {float(expected):.3f} s it promises:"
                " the file is incomplete, so copy or encode it again"
            )


def measure_packets(
    path: Place, stream: int | None = None, *, skip: int = 0, frames: int = 0
) -> tuple[int, float] | None:
    """The bytes of all packets of the stream, and the seconds that they are shown; None if it has no times.

    Nothing is decoded, and nothing but this stream counts: neither sound nor the container. With `skip` and
    `frames`, only the packets of so many frames after the first ones count; None if that isn't known.
    """
    with closing(Decoder(open_source(path), threads=1, stream=stream)) as decoder:
        base, rate = known(decoder.stream.time_base), known(decoder.stream.guessed_rate)
        packets = [
            (packet.pts, packet.size, packet.duration or 0)
            for packet in decoder.demux()
            if packet.size and not (packet.is_discard and (skip or frames))
        ]
    usual = 1 / rate if rate else Fraction(0)
    size, count = sum(size for _, size, _ in packets), len(packets)
    shown = sorted((pts, own, duration) for pts, own, duration in packets if pts is not None)
    end = None
    if skip or frames:
        if len(shown) < count:
            return None  # in which order they are shown isn't known
        part = shown[skip : skip + frames if frames else None]
        end = shown[skip + len(part)][0] if skip + len(part) < count else None
        size, count, shown = sum(own for _, own, _ in part), len(part), part
    if not shown or base is None or (shown[0][0] == shown[-1][0] and end is None):
        seconds = count * usual
    elif end is not None:
        seconds = (end - shown[0][0]) * base
    else:
        seconds = (shown[-1][0] - shown[0][0]) * base + (shown[-1][2] * base or usual)
    return (size, float(seconds)) if seconds else None

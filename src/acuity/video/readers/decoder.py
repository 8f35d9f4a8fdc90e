"""Decodes one video stream with PyAV, and reports lost and damaged frames."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import BinaryIO, Final, NoReturn

import av
import av.error
from av.stream import Discard, Disposition
from av.video.frame import PictureType

from acuity.errors import (
    GEOMETRY,
    FormatError,
    InputError,
    NoFramesError,
    TruncatedError,
    to_give,
    to_set,
)
from acuity.video.notes import Note, info, warning
from acuity.video.source import open_source

# What PyAV raises for a file that it can't read.
AV_ERRORS: Final = (av.error.FFmpegError, OSError, ValueError, RuntimeError)

# Formats that only refer to other files, and the one that accepts any text as a picture.
_REFUSED: Final = frozenset(
    ("hls", "applehttp", "dash", "webm_dash_manifest", "concat", "imf", "sdp", "rtsp", "image2", "tty")
)

_PLAYLISTS: Final = (b"#EXTM3U", b"ffconcat", b"<MPD", b"v=0\n", b"v=0\r", b"[playlist]")

# With these codecs one packet is one frame, so fewer frames than packets means that some were lost.
ONE_TO_ONE: Final = frozenset(
    ("h264", "hevc", "vvc", "av1", "libdav1d", "vp9", "ffv1", "prores", "dnxhd", "mjpeg", "utvideo")
)

_READ_BYTES: Final = 1 << 18
_SLACK: Final = Fraction(3, 2)  # frames by which a declared length may be wrong
_DURATION: Final = re.compile(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)")


class _Nameless:
    """A file without its name, so that FFmpeg judges it by its content alone."""

    def __init__(self, file: BinaryIO) -> None:
        self.read = file.read
        self.seek = file.seek
        self.tell = file.tell
        self.close = file.close


def _refuse(url: str, flags: int, options: dict[str, str]) -> NoReturn:
    raise PermissionError(f"a video may not open another file ({url})")


@dataclass(frozen=True, slots=True)
class _First:
    """The facts about the first frame."""

    pts: int | None
    interlaced: bool


class Decoder:
    """One pass over the frames of the first video stream of a local file."""

    def __init__(self, path: str, *, threads: int = 0, allow_damaged: bool = False) -> None:
        self.path = path
        self.notes: list[Note] = []
        self._allow_damaged = allow_damaged
        self._file = _open_local(path)
        try:
            self.container = self._open()
            self.stream = self._choose()
        except BaseException:
            self._file.close()
            raise
        self.stream.thread_type = "AUTO"
        self.stream.codec_context.thread_count = threads
        self.index = 0  # of the next frame
        self._demuxed = 0  # packets read, and those among them that should make a frame
        self._packets = 0
        self._early: list[int | None] = []  # times of the packets before the first frame that should make one
        self._first: _First | None = None
        self._end: Fraction | None = None
        self._skip_before: int | None = None
        self._keyframe: int | None = None  # still to be seen after start_at()
        self._noted_damage = False

    def frames(self) -> Iterator[av.VideoFrame]:
        """Decode to the end. Raises an error if the stream is found to end early."""
        for packet in self.demux():
            if packet.size:
                self._demuxed += 1
                self._packets += not packet.is_discard
                if self._first is None and not packet.is_discard:
                    self._early.append(packet.pts)
                if packet.is_corrupt:
                    where = f"'{self.path}' is damaged or incomplete near frame {self.index}"
                    self._meet_damage(TruncatedError, where)
            decoded = self._decode(packet)[::-1]
            while decoded:  # yielded without keeping a reference, because a frame is large
                if self._before_start(decoded[-1]):
                    decoded.pop()
                else:
                    self._count(decoded[-1])
                    yield decoded.pop()
        if self._skip_before is None and self._first is not None:
            self._check_complete(self._first)

    def demux(self) -> Iterator[av.Packet[av.VideoStream]]:
        """The packets of the stream, undecoded; the last ones are empty and flush the decoder."""
        try:
            yield from self.container.demux(self.stream)
        except AV_ERRORS as error:
            raise self._cannot_decode(error) from error

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
        self._file.close()

    def _before_start(self, frame: av.VideoFrame) -> bool:
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

    def _count(self, frame: av.VideoFrame) -> None:
        if frame.is_corrupt:
            self._meet_damage(InputError, f"frame {self.index} of '{self.path}' is damaged")
        if self._first is None:
            self._first = _First(frame.pts, frame.interlaced_frame)
        self.index += 1
        if frame.pts is not None:
            self._end = self._end_of(frame.pts, frame.duration)

    def _meet_damage(self, error: type[InputError], what: str) -> None:
        """Refuse damage, or note it once: after a damaged frame, others may be damaged too."""
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

    def _end_of(self, pts: int, duration: int) -> Fraction:
        """The end of a frame's presentation, in seconds; a frame without a duration has the usual one."""
        base, rate = self.stream.time_base or Fraction(1), self.stream.guessed_rate
        return pts * base + (duration * base if duration or not rate else 1 / rate)

    def _decode(self, packet: av.Packet[av.VideoStream]) -> list[av.VideoFrame]:
        try:
            return packet.decode()
        except AV_ERRORS as error:
            raise self._cannot_decode(error) from error

    def _cannot_decode(self, error: Exception) -> InputError:
        return InputError(f"'{self.path}' cannot be decoded at frame {self.index}: {reason(error)}")

    def _open(self) -> av.container.InputContainer:
        head = self._file.read(16).lstrip(b"\xef\xbb\xbf")
        self._file.seek(0)
        if head.startswith(_PLAYLISTS):
            raise FormatError(f"'{self.path}' is a playlist, not a video: pass the video file itself")
        try:
            container = av.open(
                _Nameless(self._file),
                mode="r",
                buffer_size=_READ_BYTES,
                metadata_errors="replace",
                container_options={"protocol_whitelist": "none"},
                io_open=_refuse,
            )
        except AV_ERRORS as error:
            raise FormatError(
                f"'{self.path}' is not a video that can be read ({reason(error)}): check that it is complete;"
                " if it is raw YUV, ",
                to_give(*GEOMETRY),
            ) from error
        if _REFUSED.intersection(container.format.name.split(",")):
            container.close()
            raise FormatError(
                f"'{self.path}' is not a video ({container.format.long_name}): pass the video file itself"
            )
        return container

    def _choose(self) -> av.VideoStream:
        """The first video stream that is not a cover picture."""
        streams = [s for s in self.container.streams.video if not s.disposition & Disposition.attached_pic]
        if not streams:
            raise FormatError(f"'{self.path}' has no video in it ({self.container.format.long_name})")
        chosen = streams[0]
        if chosen.codec_context is None:
            raise FormatError(f"'{self.path}' has a video codec without a decoder here: convert it first")
        for stream in self.container.streams:
            if stream.index != chosen.index:
                stream.discard = Discard.all
        return chosen

    def _check_complete(self, first: _First) -> None:
        self._check_length()
        if self.stream.codec_context.name not in ONE_TO_ONE or first.interlaced:
            return
        start = first.pts
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
        if self._demuxed < promised:
            raise TruncatedError(
                f"'{self.path}' ends after {self._demuxed} of the {promised} frames it promises:"
                " the file is incomplete, so copy or encode it again"
            )
        expected = _tagged_duration(self.stream) if "matroska" in formats else None
        rate = self.stream.guessed_rate
        if expected is not None and rate and self._end is not None and self._end < expected - _SLACK / rate:
            raise TruncatedError(
                f"'{self.path}' ends at {float(self._end):.3f} s of the {float(expected):.3f} s it promises:"
                " the file is incomplete, so copy or encode it again"
            )


def reason(error: Exception) -> str:
    """The short reason that FFmpeg or the system gives."""
    text = error.strerror if isinstance(error, (av.error.FFmpegError, OSError)) else None
    return (text or str(error) or type(error).__name__).strip().lower()


def _open_local(path: str) -> BinaryIO:
    """Open a regular file; anything else is refused with one sentence."""
    with open_source(path) as source:
        if not source.seekable:
            raise InputError(f"'{source.path}' is a pipe: only Y4M and raw YUV can be read from a pipe")
        if source.size == 0:
            raise NoFramesError(f"'{source.path}' is empty: there is no frame to score")
        return os.fdopen(source.detach(), "rb", buffering=0)


def _tagged_duration(stream: av.VideoStream) -> Fraction | None:
    """The duration tag that Matroska writers give each stream, as 'HH:MM:SS.nnnnnnnnn'."""
    match = _DURATION.fullmatch(stream.metadata.get("DURATION", ""))
    if match is None:
        return None
    hours, minutes, seconds = match.groups()
    return int(hours) * 3600 + int(minutes) * 60 + Fraction(seconds)

"""Reads any container that PyAV decodes, from any frame on. Importing this module imports PyAV."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Final

import av
import numpy as np
from numpy.typing import NDArray

from acuity.errors import InputError, NoFramesError
from acuity.video.notes import warning
from acuity.video.picture import Picture
from acuity.video.readers.av_open import joined_at, known
from acuity.video.readers.avframes import ToPlanar, form_of
from acuity.video.readers.container_info import describe, indexed_stamps, uneven
from acuity.video.readers.decoder import ONE_TO_ONE, DecodedFrame, Decoder, UncertainDamage
from acuity.video.readers.reader import BaseReader, RgbTarget, check_frame
from acuity.video.source import Place, Source, open_source

# Packets that are read to find out whether the frame rate is even, if the container has no index.
_PROBE_PACKETS: Final = 400
_REORDERED: Final = 16

# Decoding this many frames is no slower than looking for a keyframe.
_NEAR: Final = 50

# Containers with reliable seeking and time stamps.
_TRUSTED: Final = {"mov", "matroska"}
_REMEMBERED: Final = 8  # files; an index has 16 bytes for each frame


@dataclass(frozen=True, slots=True)
class KeyframeIndex:
    """The presentation times, in ticks, of all frames and of the keyframes."""

    stamps: NDArray[np.int64]
    keys: NDArray[np.int64]

    def start(self, frame: int) -> tuple[int, int] | None:
        """(time of the last keyframe not after `frame`, time of `frame`); None past the end."""
        if frame >= self.stamps.size:
            return None
        target = self.stamps[frame]
        return int(self.keys[np.searchsorted(self.keys, target, "right") - 1]), int(target)


def index_keyframes(decoder: Decoder) -> KeyframeIndex | None:
    """Read all packets without decoding; None if they don't give the frame numbers.

    A frame's number is its rank among the time stamps only if every packet is one frame with a time of its
    own, and the decoder can use all of them from the first one on.
    """
    trusted = _TRUSTED.intersection(decoder.container.format.name.split(","))
    if not trusted or decoder.stream.codec_context.name not in ONE_TO_ONE:
        return None
    stamps: list[int] = []
    keys: list[int] = []
    for packet in decoder.demux():
        if not packet.size:
            continue
        if packet.pts is None or packet.is_discard or packet.is_corrupt:
            return None
        stamps.append(packet.pts)
        if packet.is_keyframe:
            keys.append(packet.pts)
    if not keys or stamps[0] != keys[0] or stamps[0] != min(stamps) or len(set(stamps)) != len(stamps):
        return None
    return KeyframeIndex(np.sort(np.array(stamps, np.int64)), np.sort(np.array(keys, np.int64)))


_INDEXES: Final[dict[Hashable, KeyframeIndex | None]] = {}  # of the files that were opened last
_LOCK: Final = threading.Lock()  # held while these are looked at


def _index_of(
    file: Hashable | None, source: Source, decoder_of: Callable[[Source], Decoder]
) -> KeyframeIndex | None:
    """The index of a file, which is closed then; a file that is opened again isn't read through again.

    `file` stays the same as long as the file does; None if that isn't known.
    """
    with _LOCK:
        if file is not None and file in _INDEXES:
            source.close()
            return _INDEXES[file]
    with closing(decoder_of(source)) as decoder:
        found = index_keyframes(decoder)
    if file is not None:
        with _LOCK:
            _INDEXES[file] = found
            while len(_INDEXES) > _REMEMBERED:
                del _INDEXES[next(iter(_INDEXES))]
    return found


class ContainerReader(BaseReader):
    """Decodes one video stream to planar YUV of its own layout and depth."""

    def __init__(
        self,
        path: Place,
        *,
        threads: int = 0,
        luma_only: bool = False,
        allow_damaged: bool = False,
        stream: int | None = None,
    ) -> None:
        super().__init__()
        self._source = open_source(path)
        self._path = self._source.path
        self._stream = stream
        self._threads = threads
        self._allow_damaged = allow_damaged
        self._lock = threading.Lock()  # held while the decoder is in use
        self._closed = False
        self._keyframes: KeyframeIndex | None = None
        self._indexed = False
        self._hole = False  # whether a hole in the times was noted
        self._pending: DecodedFrame | None = None
        self._last_time: float | None = None
        joined = joined_at(self._source)  # before anything else reads it
        self._open(self._source)
        try:
            seen = None if self._source.reopenable else self._decoder.look_ahead(_PROBE_PACKETS)
            first = next(self._frames, None)
            if first is None:
                raise NoFramesError(f"'{self._path}' has a video stream, but no frame in it can be decoded")
            assert isinstance(first, av.VideoFrame)
            self._pending = first
            self._form = form_of(first)
            self._planar = ToPlanar(first.format, luma_only=luma_only)
            self.info = describe(
                self._path,
                self._decoder.container,
                self._decoder.stream,
                first,
                self._planar,
                variable=self._variable(seen, first.pts),
                seekable=self._source.reopenable,
            )
            self._planar.jpeg = self.info.image and self.info.codec == "mjpeg"
            if stream is not None:
                self.info.extra["stream"] = str(stream)
        except BaseException:
            self._decoder.close()
            raise
        self._next = 0
        if joined is not None:
            text = f"'{self._path}' has another MP4 in it from byte {joined} on, which isn't read: "
            self.notes.append(warning("joined", text, "join files with FFmpeg's concat, not byte by byte"))

    def read(self) -> Picture | None:
        with self._lock:
            self._check_open()
            frame = self._pending or next(self._frames, None)
            self._pending = None
            if frame is None:
                return None
            picture = self._picture(frame)
            self._next += 1
            return picture

    def _picture(self, frame: DecodedFrame) -> Picture:
        assert isinstance(frame, av.VideoFrame)
        if (now := form_of(frame)) != self._form:
            raise InputError(
                f"'{self._path}' changes at frame {self._next} from {self._form} to {now}: cut it there and"
                " score the parts"
            )
        picture = self._planar.picture(frame, self._time(frame))
        picture.chroma = self._planar.chroma(frame)
        return picture

    def seek(self, frame: int) -> None:
        check_frame(self.info, frame)
        with self._lock:
            ahead = frame - self._next
            near = 0 <= ahead <= _NEAR or (ahead > 0 and not self._source.reopenable)
            jumps = self._source.reopenable and not self._timeless
            if not near and not (jumps and self._jump(frame)):
                self._start_over()
            while self._next < frame:
                if (self._pending or next(self._frames, None)) is None:
                    raise NoFramesError(f"'{self._path}' has no frame {frame}: it has {self._next} frames")
                self._pending = None
                self._last_time = None
                self._next += 1

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        self._planar.prepare(chroma=chroma, rgb=rgb)

    def close(self) -> None:
        self._closed = True
        self._decoder.source.close()  # makes a read fail that waits for a slow pipe
        with self._lock:
            self._decoder.close()

    def _start_over(self) -> None:
        self._check_open()
        source = self._source.reopen()
        self._decoder.close()
        self._open(source)
        self._next = 0

    def _open(self, source: Source) -> None:
        self._decoder = self._decoder_of(source)
        self._decoder.notes = self.notes
        self._frames = self._decoded()
        self._base: Fraction | None = None  # of the times of frames, from the first one on
        self._pending = None
        self._last_time = None

    def _decoded(self) -> Iterator[DecodedFrame]:
        """The decoder's frames. Where several threads met damage, a single one decodes on and marks it."""
        try:
            yield from self._decoder.frames()
            return
        except UncertainDamage:
            reached = self._decoder.index
        self._check_open()
        source = self._source.reopen()
        self._decoder.close()
        self._threads = 1
        self._decoder = self._decoder_of(source)
        self._decoder.notes = self.notes
        yield from islice(self._decoder.frames(), reached, None)

    def _check_open(self) -> None:
        if self._closed:
            raise InputError(f"'{self._path}' was closed, so it cannot be read any more")

    def _decoder_of(self, source: Source) -> Decoder:
        return Decoder(source, threads=self._threads, allow_damaged=self._allow_damaged, stream=self._stream)

    def _jump(self, frame: int) -> bool:
        """Start at the keyframe before `frame`; False if that would not be exact."""
        if not self._indexed:
            self._indexed = True
            source = self._source.reopen()
            identity = source.identity
            file = None if identity is None else (identity, self._stream, self._allow_damaged)
            self._keyframes = _index_of(file, source, self._decoder_of)
        start = self._keyframes.start(frame) if self._keyframes is not None else None
        if start is None:
            return False
        self._start_over()
        self._decoder.start_at(*start, frame)
        try:
            found = next(self._frames, None)
        except InputError:
            return False
        if found is None or found.pts != start[1]:
            return False
        self._pending = found
        self._next = frame
        return True

    def _time(self, frame: DecodedFrame) -> float | None:
        """The presentation time in seconds; a gap in an even sequence of times gets a note."""
        if self._base is None:
            self._base = None if self._timeless else known(self._decoder.stream.time_base)
        base = self._base
        if frame.pts is None or base is None:
            return None
        # Quotients of whole numbers are the floats of fractions, in a tenth of the time.
        now, before = frame.pts * base.numerator / base.denominator, self._last_time
        self._last_time = now
        rate = None if self.info.variable_rate else self.info.rate
        step = None if rate is None else rate.denominator / rate.numerator
        if step is not None and before is not None and now - before > 1.5 * step and not self._hole:
            self._hole = True
            jump = f"from {before:.3f} s to {now:.3f} s at frame {self._next}: frames may be missing there"
            self.notes.append(warning("time-gap", f"the times of '{self._path}' jump {jump}"))
        return now

    @property
    def _timeless(self) -> bool:
        """Whether the times of frames aren't in the file: AVI has those of decoding, at an even rate."""
        decoder = self._decoder
        return decoder.container.format.name == "avi" and decoder.stream.codec_context.has_b_frames

    def _variable(self, seen: list[int] | None, start: int | None) -> bool:
        """Whether the times of the frames shown are uneven, by the index or else by the first packets.

        `start` is the time of the first frame. Packets before it are hidden, or can't be decoded.
        """
        if self._timeless:
            return False
        stream, formats = self._decoder.stream, self._decoder.container.format.name.split(",")
        stamps = indexed_stamps(stream) if "mov" in formats else []
        if len(stamps) > 2:
            return uneven(stamps)
        if seen is None:
            try:
                with closing(self._decoder_of(self._source.reopen())) as probe:
                    seen = probe.look_ahead(_PROBE_PACKETS, keep=False)
            except InputError:
                return False  # the decoder will report the same damage
        # The last frames may still lack the times of earlier ones, because packets come in decoding order.
        shown = sorted(pts for pts in seen if start is None or pts >= start)
        return uneven(shown[:-_REORDERED] if len(shown) > 2 * _REORDERED else shown)

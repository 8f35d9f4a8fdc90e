"""Segments: cuts the fragmented MP4 that a muxer writes into files, one with the headers and one a segment.

FFmpeg's own HLS and DASH muxers write playlists and names of their choice. Its MP4 muxer writes a stream of
boxes, a fragment at each keyframe, and these are what segments are made of: their sizes and lengths are
known exactly.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import av
from av.container import OutputContainer
from av.stream import Stream

from acuity.errors import OutputError
from acuity.text import one_line
from acuity.tune.ladder.playlists import INIT, MEDIA, MediaSegment, SegmentTimes
from acuity.video.readers.av_open import AV_ERRORS, reason

_FLAGS: Final = (
    "empty_moov",  # headers first, without samples
    "frag_keyframe",
    "default_base_moof",  # so that each segment can be read by itself
    "cmaf",
    "negative_cts_offsets",  # so that the first frame is shown at 0, with reordered frames as well
    "skip_trailer",
)
_HEAD: Final = struct.Struct(">I4s")
_STYP: Final = struct.pack(">I4s4sI4s4s", 24, b"styp", b"cmfs", 0, b"cmfs", b"msdh")
_HEADERS: Final = (b"ftyp", b"moov")


class SegmentFiles(io.RawIOBase):
    """The file that a muxer writes to: complete boxes go on to the file of the segment they belong to."""

    def __init__(self, folder: str, seconds: Fraction) -> None:
        """Segment n, counted from 0, begins with the first fragment at or after n times `seconds`."""
        super().__init__()
        self._folder = folder
        self._seconds = seconds
        self._pending = bytearray()
        self._init = bytearray()
        self._fragment = b""  # the headers of a fragment, until its samples come
        self._ticks = 0  # of that fragment
        self._start = 0  # ticks before it
        self._segments: list[MediaSegment] = []
        self._timescale = 0
        self._file: io.BufferedWriter | None = None
        self.error: OSError | None = None  # of writing; FFmpeg would lose it

    @property
    def timeline(self) -> SegmentTimes:
        return SegmentTimes(self._timescale, tuple(self._segments))

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._pending += data
        try:
            while (box := self._next_box()) is not None:
                self._take(*box)
        except OSError as error:
            self.error = self.error or error
        return len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        super().close()

    def _next_box(self) -> tuple[bytes, bytes] | None:
        """The kind and bytes of the next box, if it is complete."""
        if len(self._pending) < _HEAD.size:
            return None
        size, kind = _HEAD.unpack_from(self._pending)
        if size == 1 and len(self._pending) >= 16:  # a large one: its size follows
            size = int.from_bytes(self._pending[8:16], "big")
        if size < _HEAD.size or len(self._pending) < size:
            return None
        box = bytes(self._pending[:size])
        del self._pending[:size]
        return kind, box

    def _take(self, kind: bytes, box: bytes) -> None:
        if kind in _HEADERS:
            self._init += box
            if kind == b"moov":
                self._timescale = timescale_of(box)
                with open(os.path.join(self._folder, INIT), "wb") as file:
                    file.write(self._init)
        elif kind == b"moof":
            self._fragment, self._ticks = box, ticks_of(box)
        elif kind == b"mdat":
            self._write(self._fragment + box)

    def _write(self, fragment: bytes) -> None:
        """Write a fragment into the segment under way, or a new one if it is its turn."""
        if self._file is None or self._start >= len(self._segments) * self._seconds * self._timescale:
            if self._file is not None:
                self._file.close()
            name = MEDIA.format(number=len(self._segments) + 1)
            self._file = open(os.path.join(self._folder, name), "wb")  # noqa: SIM115
            self._segments.append(MediaSegment(0, 0))
            fragment = _STYP + fragment
        self._file.write(fragment)
        ticks, size = self._segments[-1]
        self._segments[-1] = MediaSegment(ticks + self._ticks, size + len(fragment))
        self._start += self._ticks


class SegmentMuxer:
    """Writes the packets of one stream as segments into a folder; use it in a `with` block."""

    def __init__(self, folder: str, seconds: Fraction, *, fragment: Fraction | None = None) -> None:
        """`fragment` is the length of fragments where they don't begin at keyframes, as in sound."""
        os.mkdir(folder)
        self._folder = folder
        self._files = SegmentFiles(folder, seconds)
        # Decoding times before 0 are for the muxer to turn into offsets; else the first frame would be
        # shown late.
        options = {"movflags": "+".join(_FLAGS), "avoid_negative_ts": "disabled"}
        if fragment is None:
            options["use_editlist"] = "0"  # FFmpeg 9 prefers edit lists to negative offsets
        else:
            # Headers of AC-3 and the like are known with the first packet only.
            options["movflags"] += "+delay_moov"
            options["frag_duration"] = str(round(fragment * 1_000_000))
        self._container: OutputContainer = av.open(self._files, "w", format="mp4", container_options=options)
        self._stream: Stream | None = None

    def __enter__(self) -> SegmentMuxer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write what the muxer still holds, unless something failed."""
        try:
            if kind is None:
                with self._writing():
                    self._container.close()
                    self._files.flush()
        finally:
            with contextlib.suppress(*AV_ERRORS):
                self._container.close()
            self._files.close()

    @property
    def timeline(self) -> SegmentTimes:
        return self._files.timeline

    def add_stream(
        self, template: Stream, time_base: Fraction, *, extradata: bytes = b"", tag: str | None = None
    ) -> None:
        with self._writing():
            stream: Any = self._container.add_stream_from_template(template, opaque=True)
            if extradata:
                stream.codec_context.extradata = extradata
            if tag is not None:
                stream.codec_context.codec_tag = tag
            stream.time_base = time_base
            self._stream = stream

    def mux(self, packet: av.Packet[Any], pts: int, dts: int, duration: int, time_base: Fraction) -> None:
        assert self._stream is not None
        copy: av.Packet[Any] = av.Packet(bytes(packet))
        copy.time_base = time_base
        copy.pts, copy.dts, copy.duration = pts, dts, duration
        copy.is_keyframe = packet.is_keyframe
        copy.stream = self._stream
        with self._writing():
            self._container.mux(copy)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        failed: Exception | None = None
        try:
            yield
        except AV_ERRORS as error:
            failed = error
        if self._files.error is not None:
            why = self._files.error.strerror or str(self._files.error)
        elif failed is not None:
            why = one_line(reason(failed))
        else:
            return
        raise OutputError(f"the segments in '{self._folder}' could not be written: {why}") from failed


# Boxes ------------------------------------------------------------------------------------------------------


def timescale_of(moov: bytes) -> int:
    header = _find(moov[8:], b"trak", b"mdia", b"mdhd")
    return int.from_bytes(header[20:24] if header[0] == 1 else header[12:16], "big")


def ticks_of(moof: bytes) -> int:
    track = _find(moof[8:], b"traf")
    header, run = _find(track, b"tfhd"), _find(track, b"trun")
    flags = int.from_bytes(header[1:4], "big")
    at = 8 + (8 if flags & 0x1 else 0) + (4 if flags & 0x2 else 0)
    usual = int.from_bytes(header[at : at + 4], "big") if flags & 0x8 else 0
    flags, count = int.from_bytes(run[1:4], "big"), int.from_bytes(run[4:8], "big")
    if not flags & 0x100:  # samples have no lengths of their own
        return usual * count
    at = 8 + 4 * ((flags & 0x1 > 0) + (flags & 0x4 > 0))
    step = 4 * sum(flags & bit > 0 for bit in (0x100, 0x200, 0x400, 0x800))
    return sum(int.from_bytes(run[i : i + 4], "big") for i in range(at, at + count * step, step))


def _find(data: bytes, *path: bytes) -> bytes:
    """The content of the first box of each kind inside the one before."""
    for wanted in path:
        at = 0
        while at + _HEAD.size <= len(data):
            size, kind = _HEAD.unpack_from(data, at)
            if kind == wanted:
                data = data[at + _HEAD.size : at + size]
                break
            at += max(size, _HEAD.size)
        else:
            raise ValueError(f"an MP4 without {wanted.decode()}")
    return data

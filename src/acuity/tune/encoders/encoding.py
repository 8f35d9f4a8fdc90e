"""Encoding: an encoder at work in another process, seen from this one.

`PyavEncoding` is an encode in a process of encoders/process.py. Processes that have finished their encode
wait for the next, so a search doesn't start one for each.
"""

from __future__ import annotations

import atexit
import io
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias, cast

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from acuity.child_process import ChildProcess, document
from acuity.errors import EncodeFailed, EncoderError
from acuity.text import one_line
from acuity.tune.encoders import process as wire
from acuity.video.picture import Picture
from acuity.video.readers.avframes import DIRECT

Packet: TypeAlias = "av.Packet[VideoStream]"

_MODULE: Final = "acuity.tune.encoders.process"
_MOST_IDLE: Final = 8

# Decoders where they aren't called as the codec; "av1" itself decodes in hardware only.
_DECODERS: Final = {"av1": "libdav1d"}


class Encoding(ABC):
    """An encode under way. One thread sends pictures, another receives packets; any may kill it."""

    extradata: bytes  # headers of the stream that go with the packets; empty if they carry their own
    seconds = 0.0  # CPU time of the encoder so far, all its threads; of an ffmpeg, wall time

    def __init__(self, job: Job, codec: str, label: str) -> None:
        self._job, self._codec, self._label = job, codec, label

    @abstractmethod
    def send(self, picture: Picture) -> None: ...

    @abstractmethod
    def finish(self) -> None:
        """Say that there are no more pictures."""

    @abstractmethod
    def ready(self, seconds: float) -> bool:
        """Wait at most that many seconds; returns whether receive() need not wait long."""

    @abstractmethod
    def receive(self) -> Packet | None:
        """The next packet, in decoding order; None after the last one. Its times count frames."""

    def decoder(self) -> VideoCodecContext:
        """A decoder for the packets; call it after the first was received."""
        decoder = av.CodecContext.create(_DECODERS.get(self._codec, self._codec), "r")
        assert isinstance(decoder, VideoCodecContext)
        decoder.thread_type = "AUTO"
        decoder.extradata = self.extradata or None
        return decoder

    @abstractmethod
    def template(self) -> VideoStream:
        """A stream that describes the packets, for muxers; call it after the first was received."""

    @abstractmethod
    def close(self) -> None:
        """Give the process back if the encode is complete, else kill it. May be called again."""

    @abstractmethod
    def dispose(self) -> None:
        """Free what is left, after close(), when no thread sends or receives any more."""


_IDLE: Final[deque[ChildProcess]] = deque()  # processes that wait for an encode


def _process() -> ChildProcess:
    with suppress(IndexError):
        while (process := _IDLE.pop()).child.poll() is not None:
            process.close()
        return process
    return ChildProcess(_MODULE)


def end_idle_processes() -> None:
    """End the processes that wait for an encode; the next one starts its own."""
    with suppress(IndexError):
        while True:
            process = _IDLE.pop()
            process.kill()
            process.close()


atexit.register(end_idle_processes)


@dataclass(frozen=True, slots=True)
class Job:
    """All that an encoder is told before its first frame; colour tags by FFmpeg's numbers."""

    encoder: str
    options: dict[str, str]
    width: int
    height: int
    pixel_format: str
    rate: Fraction
    aspect: Fraction | None
    range: int
    matrix: int
    primaries: int
    transfer: int
    threads: int

    def document(self) -> dict[str, Any]:
        about = {**asdict(self), "time_base": 1 / self.rate}
        return {k: v.as_integer_ratio() if isinstance(v, Fraction) else v for k, v in about.items()}


def gray_job(
    encoder: str, options: dict[str, str], size: tuple[int, int], pixel_format: str, threads: int = 0
) -> Job:
    unsaid = 2, 2, 2
    return Job(encoder, options, *size, pixel_format, Fraction(25), None, 0, *unsaid, threads)


def encode_gray(encoding: Encoding, job: Job) -> None:
    """Send the one frame of a trial, which is gray."""
    format, shapes = DIRECT[job.pixel_format], DIRECT[job.pixel_format].plane_shapes(job.width, job.height)
    planes = tuple(np.full(shape, 1 << (format.depth - 1), format.dtype) for shape in shapes)
    encoding.send(Picture(cast("tuple[np.ndarray, ...]", planes), format))
    encoding.finish()


class PyavEncoding(Encoding):
    """An encode in a process of its own, with an encoder of PyAV."""

    def __init__(self, job: Job, codec: str, label: str) -> None:
        super().__init__(job, codec, label)
        self._header: bytes | None = None
        self._complete = False
        self._killed: ChildProcess | None = None
        self._lock = threading.Lock()
        self._headers: bytes | None = None  # known once the encoder is open
        self._said: tuple[bytes, bytes] | None = None  # a message that receive() has still to take
        self._process: ChildProcess | None = _process()
        try:
            self._process.write(document(job.document()))
        except OSError as error:
            self.close()
            raise EncodeFailed(f"{label} could not be started: {one_line(str(error))}") from error

    @property
    def extradata(self) -> bytes:  # type: ignore[override]
        """The stream's headers; waits until the encoder is open, and raises EncoderError if it refuses."""
        if self._headers is None:
            kind, content = self._message()
            if kind == wire.REFUSED:
                said = ", ".join(f"{name}={value}" for name, value in self._job.options.items())
                raise EncoderError(
                    f"{self._job.encoder} refuses its options ({said}): {one_line(content.decode())}"
                )
            self._headers = content
        return self._headers

    def send(self, picture: Picture) -> None:
        process = self._process
        if process is None:
            return
        process.write(wire.FRAME)
        for plane in picture.planes:
            process.write(np.ascontiguousarray(plane))

    def finish(self) -> None:
        if self._process is not None:
            self._process.write(wire.END)

    def ready(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self._process is not None and not self._complete and self._said is None:
            if not self._process.ready(max(end - time.monotonic(), 0.0)):
                return False
            self._hear()
        return True

    def receive(self) -> Packet | None:
        while self._process is not None and not self._complete:
            if self._said is None:
                self._hear()
                continue
            (kind, content), self._said = self._said, None
            if kind == wire.PACKETS:
                return self._packet(content)
            if kind == wire.FAILED:
                raise EncodeFailed(f"{self._label} failed: {one_line(content.decode())}")
            self._complete = True
            self.seconds = struct.unpack("<d", content)[0]
        return None

    def _hear(self) -> None:
        """Take the next message: headers of the stream are kept here, any other message is for receive()."""
        if self._headers is None:
            self.extradata  # noqa: B018  # takes the first message
            return
        message = self._message()
        if message[0] == wire.HEADER:
            self._header = message[1]
        else:
            self._said = message

    def _message(self) -> tuple[bytes, bytes]:
        process = self._process or self._killed
        if process is None:
            return wire.DONE, struct.pack("<d", self.seconds)
        try:
            return process.message()
        except (EOFError, OSError, ValueError):
            raise EncodeFailed(f"{self._label} ended early: {process.ending()}") from None

    def template(self) -> VideoStream:
        assert self._header is not None
        container = av.open(io.BytesIO(self._header), "r", format="matroska")
        return container.streams.video[0]

    def close(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        if self._complete and len(_IDLE) < _MOST_IDLE:
            _IDLE.append(process)
        else:
            process.kill()
            self._killed = process

    def dispose(self) -> None:
        if self._killed is not None:
            self._killed.close()

    def _packet(self, content: bytes) -> Packet:
        pts, dts, duration, key, self.seconds = wire.PACKET.unpack_from(content)
        packet = packet_of(memoryview(content)[wire.PACKET.size :])
        packet.pts, packet.dts, packet.duration = pts, dts, duration
        packet.time_base = 1 / self._job.rate
        packet.is_keyframe = key
        return packet


def packet_of(data: bytes | memoryview | Packet) -> Packet:
    """A packet with a copy of the data, in memory of FFmpeg's own.

    A packet made of Python's bytes takes Python's lock when it is freed. Decoding threads free packets, and
    closing a decoder waits for them with the lock held.
    """
    packet = cast("Packet", av.Packet(len(memoryview(cast("bytes", data)))))
    packet.update(cast("bytes", data))
    return packet

"""Encoders of the `ffmpeg` program that ACUITY_FFMPEG names: raw frames go in, an encoded stream comes out.

Its encoders are listed once, and each that is asked for has to encode a frame before it counts as usable.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import subprocess
import threading
import time
from functools import cache
from types import SimpleNamespace
from typing import Final, cast

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream

from acuity.errors import EncodeFailed
from acuity.text import one_line, shortened
from acuity.tune.encoders.encoder import Encoder
from acuity.tune.encoders.encoding import Encoding, Job, Packet, encode_gray, gray_job, packet_of
from acuity.video.picture import Picture
from acuity.video.readers.av_open import AV_ERRORS
from acuity.video.readers.container_info import MATRICES, PRIMARIES, TRANSFERS

VARIABLE: Final = "ACUITY_FFMPEG"
_SECONDS: Final = 20.0  # the most that a list or a probe may take
_PROBE: Final = (320, 240)  # the least that hardware takes
_AHEAD: Final = 64  # packets that wait to be decoded
_TAIL: Final = 8192  # bytes of the program's latest error output that are kept
# Containers that can be read as they are written; MPEG-TS where NUT has no name for the codec.
_STREAMED: Final = {"vvc": "mpegts"}
_RANGES: Final = {1: "tv", 2: "pc"}
# Lines that say only that something went wrong before.
_ADDRESS: Final = re.compile(r"^(\[\S+ @ 0x[0-9a-f]+\] )+")
_EMPTY_WORDS: Final = (
    *("Conversion failed", "Error opening output", "Error while opening"),
    *("Terminating", "Task "),
)
# Options that belong to the video where the program asks for it.
_OF_VIDEO: Final = {"b": "b:v"}


def program() -> str | None:
    return os.environ.get(VARIABLE) or None


def program_version() -> str:
    """`ffmpeg 7.0.2-static`, as the program says it."""
    named = program()
    if named is None:
        return "no ffmpeg"
    try:
        return _version(named)
    except (OSError, subprocess.SubprocessError, IndexError):  # a failure isn't remembered
        return os.path.basename(named)


def why_unusable(encoder: Encoder) -> str | None:
    """Why an encoder can't be used, after the encoder's name in a sentence; None if it can."""
    named = program()
    if named is None:
        return f"needs an ffmpeg that has it, and {VARIABLE} names none"
    try:
        return _tried(named, encoder)
    except (OSError, subprocess.SubprocessError) as error:
        return f"needs an ffmpeg, and '{named}' that {VARIABLE} names can't be run ({_said(error)})"


@cache
def _version(named: str) -> str:
    first = _asked(named, "-version").splitlines()[0]
    words = first.split()
    return f"{words[0]} {words[2]}" if words[1:2] == ["version"] and len(words) > 2 else shortened(first)


@cache
def _listed(named: str) -> frozenset[str]:
    """The second word of each line of the program's list: the encoders' names are among them."""
    lines = map(str.split, _asked(named, "-encoders").splitlines())
    return frozenset(words[1] for words in lines if len(words) > 1)


@cache
def _tried(named: str, encoder: Encoder) -> str | None:
    if encoder.name not in _listed(named):
        return f"is not in '{named}'"
    options = {**dict(encoder.options), encoder.knob: str(encoder.default)}
    job = gray_job(encoder.name, options, _PROBE, encoder.pixel_formats[0])
    encoding = ExternalEncoding(job, encoder.codec, encoder.name)
    try:
        encode_gray(encoding, job)
        if not encoding.ready(_SECONDS):
            return f"of '{named}' took too long to encode a frame"
        return None if encoding.receive() is not None else f"of '{named}' makes nothing of a frame"
    except EncodeFailed as error:
        return f"does not work with '{named}' ({error})"
    except BrokenPipeError:
        return f"does not work with '{named}' ({encoding.last_words()})"
    finally:
        encoding.close()
        encoding.dispose()


def _asked(named: str, what: str) -> str:
    words, none = [named, "-hide_banner", what], subprocess.DEVNULL
    told = subprocess.check_output(words, stdin=none, stderr=none, timeout=_SECONDS)
    return told.decode("utf-8", "replace")


def _said(error: Exception) -> str:
    return one_line(getattr(error, "strerror", None) or str(error))


class ExternalEncoding(Encoding):
    """An encode by the program, whose output a thread takes apart into packets."""

    def __init__(self, job: Job, codec: str, label: str) -> None:
        named = program()
        if named is None:
            raise EncodeFailed(f"{label} needs an ffmpeg that has it, and {VARIABLE} names none")
        super().__init__(job, codec, label)
        self.extradata = b""
        self._begin = time.perf_counter()
        self._format = _STREAMED.get(codec, "nut")
        try:
            self._child = subprocess.Popen(
                [named, *_arguments(job, self._format)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        except OSError as error:
            raise EncodeFailed(f"{label} can't be started with '{named}': {_said(error)}") from error
        self._tail = bytearray()
        self._container: InputContainer | None = None
        self._packets: queue.Queue[Packet | Exception | None] = queue.Queue(_AHEAD)
        self._next: list[Packet | Exception | None] = []  # one that ready() has seen
        self._ended = False
        self._closed = threading.Event()
        self._threads = [
            threading.Thread(target=target, name=f"acuity-{name}", daemon=True)
            for target, name in ((self._listen, "ffmpeg-words"), (self._demux, "ffmpeg-packets"))
        ]
        for thread in self._threads:
            thread.start()

    def send(self, picture: Picture) -> None:
        stdin = self._child.stdin
        assert stdin is not None
        for plane in picture.planes:
            view = memoryview(cast("bytes", np.ascontiguousarray(plane))).cast("B")
            while len(view):
                view = view[stdin.write(view) or 0 :]

    def finish(self) -> None:
        if self._child.stdin is not None:
            self._child.stdin.close()

    def ready(self, seconds: float) -> bool:
        if not self._next and not self._ended:
            try:
                self._next.append(self._packets.get(timeout=seconds))
            except queue.Empty:
                return False
        return True

    def receive(self) -> Packet | None:
        if self._ended:
            return None
        entry = self._next.pop() if self._next else self._packets.get()
        if isinstance(entry, Exception):
            self._ended = True
            raise EncodeFailed(f"{self._label} failed: {self.last_words()}") from entry
        if entry is None:
            self._ended = True
            if code := self._child.wait():
                how = f" (ended by signal {-code})" if code < 0 else ""
                raise EncodeFailed(f"{self._label} failed{how}: {self.last_words()}")
        self.seconds = time.perf_counter() - self._begin
        return entry

    def template(self) -> VideoStream:
        assert self._container is not None
        return self._container.streams.video[0]

    def close(self) -> None:
        self._closed.set()
        if self._child.poll() is None and not self._ended:
            self._child.kill()
        with contextlib.suppress(queue.Empty):  # the thread may wait for room
            while True:
                self._packets.get_nowait()

    def dispose(self) -> None:
        self._child.wait()
        for thread in self._threads:
            thread.join()
        for file in (self._child.stdin, self._child.stdout, self._child.stderr):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()

    def last_words(self) -> str:
        """The first telling line of the program's error output; later lines follow from that error."""
        if self._child.poll() is not None:
            self._threads[0].join(1.0)
        lines = [line.strip() for line in self._tail.decode("utf-8", "replace").splitlines() if line.strip()]
        telling = [line for line in lines if not line.startswith(_EMPTY_WORDS)]
        said = (telling or lines or ["it said nothing"])[0]
        return one_line(shortened(_ADDRESS.sub("", said).rstrip("."), 300))

    def _listen(self) -> None:
        assert self._child.stderr is not None
        while words := self._child.stderr.read(_TAIL):
            self._tail += words
            del self._tail[:-_TAIL]

    def _demux(self) -> None:
        assert self._child.stdout is not None
        try:
            pipe = SimpleNamespace(read=self._child.stdout.read)  # PyAV must not try to seek
            container = av.open(pipe, "r", format=self._format)
            self._container = container
            stream = container.streams.video[0]
            self.extradata = stream.codec_context.extradata or b""
            first, count = None, -stream.codec_context.reorder_depth
            for packet in container.demux(stream):
                if not packet.size or packet.pts is None:
                    continue
                first = packet.pts if first is None else first
                self._put(self._counted(packet, first, count))
                count += 1
            self._put(None)
        except (*AV_ERRORS, IndexError) as error:
            self._put(error)

    def _counted(self, packet: Packet, first: int, dts: int) -> Packet:
        """The packet with its times in frames; `dts`, its time of decoding, counts the packets."""
        assert packet.pts is not None
        counted = packet_of(packet)
        counted.pts, counted.dts = round((packet.pts - first) * packet.time_base * self._job.rate), dts
        counted.duration, counted.time_base = 1, 1 / self._job.rate
        counted.is_keyframe = packet.is_keyframe
        return counted

    def _put(self, entry: Packet | Exception | None) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._packets.put(entry, timeout=0.1)
                return


def tag_filters(job: Job) -> list[str]:
    """The filters of ffmpeg that mark frames with a job's colours and shape of samples."""
    filters = [f"setsar={job.aspect.numerator}/{job.aspect.denominator}"] if job.aspect else []
    tags = {
        "range": _RANGES.get(job.range),
        "colorspace": MATRICES.get(job.matrix),
        "color_primaries": PRIMARIES.get(job.primaries),
        "color_trc": TRANSFERS.get(job.transfer),
    }
    said = [f"{name}={value}" for name, value in tags.items() if value is not None]
    if said:
        filters.append("setparams=" + ":".join(said))
    return filters


def encoder_words(job: Job) -> list[str]:
    """The words of a command of ffmpeg that choose a job's encoder and its options."""
    return [
        *("-c:v", job.encoder, "-pix_fmt", job.pixel_format),
        *(word for name, value in job.options.items() for word in (f"-{_OF_VIDEO.get(name, name)}", value)),
        *(("-threads", str(job.threads)) if job.threads else ()),
    ]


def _arguments(job: Job, format: str) -> list[str]:
    filters = tag_filters(job)
    return [
        *("-hide_banner", "-loglevel", "error", "-f", "rawvideo", "-pixel_format", job.pixel_format),
        *("-video_size", f"{job.width}x{job.height}", "-framerate", str(job.rate), "-i", "pipe:0"),
        *(("-vf", ",".join(filters)) if filters else ()),
        *("-an", *encoder_words(job), "-f", format, "pipe:1"),
    ]

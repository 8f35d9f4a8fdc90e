"""EncodedReader: the frames of a clip as they come out of an encoder and a decoder, as a video to score."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from dataclasses import replace
from fractions import Fraction
from typing import Final, Protocol

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext
from numpy.typing import NDArray

from acuity.errors import EncodeFailed, InputError
from acuity.text import one_line
from acuity.tune.clip import Clip, Times
from acuity.tune.encoders.encode import PictureForm, encode_notes, open_encoding
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.encoding import Encoding, Packet
from acuity.tune.progress import Stopped
from acuity.video.picture import Picture
from acuity.video.readers.av_open import AV_ERRORS, reason
from acuity.video.readers.avframes import ToPlanar
from acuity.video.readers.container_info import MATRICES, PRIMARIES, TRANSFERS
from acuity.video.readers.reader import BaseReader, RgbTarget, VideoInfo


class Sink(Protocol):
    """Gets the packets of an encode, in decoding order."""

    def begin(self, encoding: Encoding, times: Times) -> None:
        """Learn about the stream before its first packet."""

    def __call__(self, packet: Packet) -> None: ...


_LOOK: Final = 0.1  # seconds between two checks for a stop


class EncodedReader(BaseReader):
    """Encodes a clip, decodes the packets at once, and hands out the decoded pictures.

    A thread reads the source and feeds the encoder; read() decodes what comes out. Nothing is kept but the
    sizes of the packets. `sink` gets every packet, in decoding order, on the thread that reads.
    """

    def __init__(
        self,
        clip: Clip,
        settings: EncoderSettings,
        quality: float,
        *,
        luma_only: bool = False,
        sink: Sink | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        super().__init__()
        self._name = settings.label(quality)
        self._clip, self._sink, self._stop = clip, sink, stop
        self._closed = False
        self._lock = threading.Lock()  # held while packets are received and decoded
        self._sizes: dict[int, int] = {}
        self._decoded: deque[av.VideoFrame] = deque()
        self._given = 0
        self._flushed = False
        self._decoder: VideoCodecContext | None = None
        self._target = PictureForm.of(clip, settings)
        self._feeder = Feeder(clip, self._target)
        self._encoding: Encoding | None = None
        try:
            self._encoding = open_encoding(settings, quality, self._target)
            self._feeder.start(self._encoding)
            first = self._next()
            if first is None:
                raise self._feeder.error or EncodeFailed(f"{self._name} made no frame of '{clip.path}'")
            self._decoded.appendleft(first)
            self._planar = ToPlanar(first.format, luma_only=luma_only)
            self.info = self._describe(first)
            self.notes += encode_notes(clip, settings, self._target)
        except BaseException:
            self.close()
            raise

    def _describe(self, first: av.VideoFrame) -> VideoInfo:
        """The description that a container with the packets would give."""
        decoder = self._decoder
        assert decoder is not None
        target = self._target  # its tags are in the container where the codec has no place for them
        return replace(
            self._feeder.info,
            path=f"{self._name} of {self._clip.path}",
            kind="container",
            width=first.width,
            height=first.height,
            format=self._planar.format,
            full_range=self._planar.source.startswith("yuvj") or {1: False, 2: True}.get(first.color_range),
            transfer=TRANSFERS.get(first.color_trc) or TRANSFERS.get(decoder.color_trc) or target.transfer,
            primaries=PRIMARIES.get(first.color_primaries) or target.primaries,
            matrix=MATRICES.get(first.colorspace) or MATRICES.get(decoder.colorspace) or target.matrix,
            aspect=target.aspect,
            codec=decoder.name,
            seekable=False,
            extra={"encoder": self._name},
        )

    @property
    def encode_seconds(self) -> float:
        """The CPU time of all the encoder's threads; for an external ffmpeg, wall time."""
        return 0.0 if self._encoding is None else self._encoding.seconds

    @property
    def rate(self) -> Fraction:
        """Frames a second, on average; for a sample, the rate of the whole source."""
        parts = self._clip.parts
        one = parts is not None and len(parts) == 1
        return self._feeder.times.rate(len(self._sizes)) if one else self._clip.rate

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The bytes of each frame, in the order they are shown."""
        return np.array([self._sizes[frame] for frame in sorted(self._sizes)], np.int64)

    def read(self) -> Picture | None:
        with self._lock:
            frame = self._next()
            if frame is None:
                if not self._given == self._feeder.sent == len(self._sizes):
                    raise EncodeFailed(
                        f"{self._name} got {self._feeder.sent} frames of '{self._clip.path}' and made"
                        f" {len(self._sizes)} packets and {self._given} decoded frames: these must be as many"
                    )
                return None
            picture = Picture(self._planar(frame), self.info.format, float(self._given / self._clip.rate))
            self._given += 1
            return picture

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        self._planar.prepare(chroma=chroma, rgb=rgb)

    def close(self) -> None:
        self._closed = True
        if self._encoding is not None:
            self._encoding.close()  # ends the waiting of the feeder and of read()
        self._feeder.close()
        with self._lock:
            self._decoded.clear()
            if self._encoding is not None:
                self._encoding.dispose()

    def _next(self) -> av.VideoFrame | None:
        """The next decoded frame; None after the last one."""
        assert self._encoding is not None
        while not self._decoded and not self._flushed:
            try:
                while not self._encoding.ready(_LOOK):
                    if self._stop is not None and self._stop.is_set():
                        raise Stopped
                packet = self._encoding.receive()
            except EncodeFailed:
                if self._closed:
                    raise InputError(f"{self._name} was closed") from None
                if self._feeder.error is not None:
                    raise self._feeder.error from None
                raise
            if self._feeder.error is not None:
                raise self._feeder.error
            self._take(packet)
        return self._decoded.popleft() if self._decoded else None

    def _take(self, packet: Packet | None) -> None:
        assert self._encoding is not None
        self._flushed = packet is None
        if self._decoder is None:
            if packet is None:
                return
            self._decoder = self._encoding.decoder()
            if self._sink is not None:
                self._sink.begin(self._encoding, self._feeder.times)
        if packet is not None:
            if packet.pts is None or packet.pts < 0:
                raise EncodeFailed(f"{self._name} made a packet without a time")
            self._sizes[packet.pts] = self._sizes.get(packet.pts, 0) + packet.size
        try:
            self._decoded.extend(self._decoder.decode(packet))
        except AV_ERRORS as error:
            raise EncodeFailed(
                f"what {self._name} made of '{self._clip.path}' can't be decoded: {one_line(reason(error))}"
            ) from error
        if packet is not None and self._sink is not None:
            self._sink(packet)


class Feeder:
    """A thread that reads a clip and feeds its pictures to an encoder."""

    def __init__(self, clip: Clip, target: PictureForm) -> None:
        self.sent = 0
        self.error: BaseException | None = None
        self._source = clip.reader()
        self.info = self._source.info
        self.times = self._source.times
        self._steps = target.steps(clip.info)
        self._thread: threading.Thread | None = None

    def start(self, encoding: Encoding) -> None:
        self._thread = threading.Thread(target=self._feed, args=(encoding,), name="acuity-feed", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; the encoding must be closed already."""
        self._source.close()
        if self._thread is not None:
            self._thread.join()

    def _feed(self, encoding: Encoding) -> None:
        try:
            while (picture := self._source.read()) is not None:
                for step in self._steps:
                    picture = step(picture)
                try:
                    encoding.send(picture)
                except (BrokenPipeError, ValueError):
                    return  # the encoder is gone, which the receiving side reports
                self.sent += 1
                del picture  # or its buffer stays in use while this thread waits
            with contextlib.suppress(BrokenPipeError, ValueError):
                encoding.finish()
        except BaseException as error:  # reading failed: without close(), receiving would wait for ever
            self.error = error
            encoding.close()

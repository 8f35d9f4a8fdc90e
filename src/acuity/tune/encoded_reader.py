"""EncodedReader: the frames of a clip as they come out of an encoder and a decoder, as a video to score."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import av
import numpy as np
from numpy.typing import NDArray

from acuity.errors import EncodeFailed, InputError
from acuity.text import one_line
from acuity.tune.clip import Clip
from acuity.tune.encode import Encoding, Packet, PyavEncoding, Target
from acuity.tune.progress import Stopped
from acuity.tune.settings import Settings
from acuity.video.picture import Picture
from acuity.video.readers.av_open import AV_ERRORS, reason
from acuity.video.readers.avframes import ToPlanar
from acuity.video.readers.container_info import MATRICES, PRIMARIES, TRANSFERS
from acuity.video.readers.reader import BaseReader, RgbTarget, VideoInfo

Sink = Callable[[Packet], None]


class EncodedReader(BaseReader):
    """Encodes a clip, decodes the packets at once, and hands out the decoded pictures.

    Nothing is kept but the sizes of the packets. `sink` gets every packet, in decoding order.
    """

    def __init__(
        self,
        clip: Clip,
        settings: Settings,
        quality: int,
        *,
        luma_only: bool = False,
        sink: Sink | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        super().__init__()
        self._name = settings.label(quality)
        self._clip = clip
        self._sink = sink
        self._stop = stop
        self._closed = False
        self._lock = threading.Lock()  # held while the encoder is in use
        self._target = Target.of(clip, settings)
        self._steps = self._target.steps(clip.info)
        self._sizes: dict[int, int] = {}
        self._decoded: deque[av.VideoFrame] = deque()
        self._sent = 0
        self._given = 0
        self._flushed = False
        self.encode_seconds = 0.0
        self._source = clip.reader()
        try:
            self._encoding: Encoding = PyavEncoding(settings, quality, self._target)
            self._decoder = self._encoding.decoder()
            first = self._next()
            if first is None:
                raise EncodeFailed(f"{self._name} made no frame of '{clip.path}'")
            self._decoded.appendleft(first)
            self._planar = ToPlanar(first.format, luma_only=luma_only)
            self.info = self._describe(first)
        except BaseException:
            self.close()
            raise

    def _describe(self, first: av.VideoFrame) -> VideoInfo:
        """What a container with the packets would say of them."""
        decoder = self._decoder
        return replace(
            self._source.info,
            path=f"{self._name} of {self._clip.path}",
            kind="container",
            width=first.width,
            height=first.height,
            format=self._planar.format,
            full_range=_said_range(first, self._planar),
            transfer=TRANSFERS.get(first.color_trc) or TRANSFERS.get(decoder.color_trc),
            primaries=PRIMARIES.get(first.color_primaries) or PRIMARIES.get(decoder.color_primaries),
            matrix=MATRICES.get(first.colorspace) or MATRICES.get(decoder.colorspace),
            aspect=self._target.aspect,
            codec=decoder.name,
            seekable=False,
            extra={"encoder": self._name},
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The bytes of each frame, in the order they are shown."""
        return np.array([self._sizes[frame] for frame in sorted(self._sizes)], np.int64)

    def read(self) -> Picture | None:
        with self._lock:
            frame = self._next()
            if frame is None:
                self._check_complete()
                return None
            picture = Picture(self._planar(frame), self.info.format, float(self._given / self._clip.rate))
            self._given += 1
            return picture

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        self._planar.prepare(chroma=chroma, rgb=rgb)

    def close(self) -> None:
        self._closed = True
        self._source.close()
        with self._lock:
            self._decoded.clear()
            if hasattr(self, "_encoding"):
                self._encoding.close()

    def _next(self) -> av.VideoFrame | None:
        """The next decoded frame; None after the last one."""
        while not self._decoded and not self._flushed:
            if self._closed:
                raise InputError(f"{self._name} was closed")
            if self._stop is not None and self._stop.is_set():
                raise Stopped
            picture = self._source.read()
            if picture is None:
                self._flushed = True
                self._take(None)
                self._decode(None)
            else:
                for step in self._steps:
                    picture = step(picture)
                self._take(self._target.frame(picture, self._sent))
                self._sent += 1
        return self._decoded.popleft() if self._decoded else None

    def _take(self, frame: av.VideoFrame | None) -> None:
        begin = time.perf_counter()
        packets = self._encoding.send(frame)
        self.encode_seconds += time.perf_counter() - begin
        for packet in packets:
            if not packet.size:
                continue
            if packet.pts is None:
                raise EncodeFailed(f"{self._name} made a packet without a time")
            self._sizes[packet.pts] = self._sizes.get(packet.pts, 0) + packet.size
            self._decode(packet)
            if self._sink is not None:
                self._sink(packet)

    def _decode(self, packet: Packet | None) -> None:
        try:
            self._decoded.extend(self._decoder.decode(packet))
        except AV_ERRORS as error:
            raise EncodeFailed(
                f"what {self._name} made of '{self._clip.path}' can't be decoded: {one_line(reason(error))}"
            ) from error

    def _check_complete(self) -> None:
        if not self._given == self._sent == len(self._sizes):
            raise EncodeFailed(
                f"{self._name} got {self._sent} frames of '{self._clip.path}' and made"
                f" {len(self._sizes)} packets and {self._given} decoded frames: these must be as many"
            )


def _said_range(first: av.VideoFrame, planar: ToPlanar) -> bool | None:
    return True if planar.source.startswith("yuvj") else {1: False, 2: True}.get(first.color_range)

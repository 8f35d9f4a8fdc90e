"""Reads a sequence of images, one file a frame. Importing this module imports PyAV."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import av

from acuity.errors import FormatError, InputError, NoFramesError
from acuity.video.picture import Picture
from acuity.video.readers.av_open import film_refused
from acuity.video.readers.avframes import ToPlanar, form_of
from acuity.video.readers.container_info import describe
from acuity.video.readers.decoder import Decoder
from acuity.video.readers.image_names import FILM_SUFFIXES, Images, suffix_of
from acuity.video.readers.reader import BaseReader, RgbTarget, check_frame
from acuity.video.source import open_source

if TYPE_CHECKING:
    from fractions import Fraction


class ImagesReader(BaseReader):
    """Decodes images of one size and format; a file is opened when its frame is read."""

    def __init__(
        self,
        images: Images,
        *,
        rate: Fraction | None = None,
        luma_only: bool = False,
        allow_damaged: bool = False,
    ) -> None:
        super().__init__()
        if (suffix := suffix_of(images.paths[0])) in FILM_SUFFIXES:
            raise film_refused(images.text, FILM_SUFFIXES[suffix], images.pattern)
        self._images = images
        self._rate = rate
        self._luma_only = luma_only
        self._allow_damaged = allow_damaged
        self._lock = threading.Lock()  # held while an image is decoded
        self._closed = False
        self._next = 0
        self._first = True
        self._decode(0)

    def read(self) -> Picture | None:
        with self._lock:
            if self._closed:
                raise InputError(f"'{self._images.text}' was closed, so it cannot be read any more")
            if self._next >= len(self._images.paths):
                return None
            frame = self._decode(self._next)
            self._next += 1
            return self._planar.picture(frame)

    def seek(self, frame: int) -> None:
        check_frame(self.info, frame)
        self._next = frame

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        self._planar.prepare(chroma=chroma, rgb=rgb)

    def close(self) -> None:
        self._closed = True

    def _decode(self, index: int) -> av.VideoFrame:
        """The one frame of an image; the first image describes them all."""
        path = self._images.paths[index]
        # A thread for each image would cost more than it gains: the images are small, and read ahead.
        decoder = Decoder(open_source(path), threads=1, allow_damaged=self._allow_damaged)
        decoder.index = index  # errors name the frame of the sequence
        try:
            frames = decoder.frames()
            frame = next(frames, None)
            if frame is None:
                raise NoFramesError(f"'{path}' has no picture that can be decoded")
            assert isinstance(frame, av.VideoFrame)
            if next(frames, None) is not None:
                raise FormatError(f"'{path}' has more than one picture: pass it as a video of its own")
            if self._first:
                self._first = False
                self._form = form_of(frame)
                self._planar = ToPlanar(frame.format, luma_only=self._luma_only)
                info = describe(
                    self._images.text, decoder.container, decoder.stream, frame, self._planar, variable=False
                )
                count = len(self._images.paths)
                self.info = replace(info, kind="images", frames=count, frames_exact=True, rate=self._rate)
                self._planar.jpeg = self.info.codec == "mjpeg"
        finally:
            decoder.close()
        if not self.notes:
            self.notes += decoder.notes
        if (now := form_of(frame)) != self._form:
            raise InputError(
                f"'{path}' is {now}, but '{self._images.paths[0]}' is {self._form}: the images of a sequence"
                " must be alike"
            )
        return frame

"""Reading one video of a pair: from its start or later, every frame or some, converted and signed."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from acuity.errors import NoFramesError
from acuity.video.alignment.signature import sign
from acuity.video.pairs.content import Look
from acuity.video.pairs.pair_plan import Side
from acuity.video.picture import Picture
from acuity.video.readers.prefetch import Prefetch, Reading
from acuity.video.readers.reader import BaseReader, VideoReader


class Producer:
    """Reads one video: skips its start, leaves out frames, applies the planned conversions, signs."""

    def __init__(
        self,
        reader: VideoReader,
        side: Side,
        skip: int,
        *,
        look: Look | None = None,
        signed: bool = False,
        again: bool = False,
    ) -> None:
        self._reader = reader
        self._side = side
        self._skip = skip
        self._look = look  # which sees the pictures as they come
        self._signed = signed  # whether the pictures get signatures
        self._again = again  # whether the video was read before
        self._pictures: Iterator[Picture] | None = None
        self._converting = threading.Lock()  # because some conversions reuse memory
        # Tells conversions apart: the steps are dataclasses that show all they depend on.
        self._way = (signed, tuple(map(repr, side.steps)))

    def start(self, ahead: int | None, name: str) -> Prefetch:
        """Begin to read ahead, in several threads if the reader can and the pictures are large."""
        reader, side = self._reader, self._side
        frame_bytes = side.format.frame_bytes(side.width, side.height)
        # Deinterlacing needs the frames around each.
        concurrent = side.deinterlace is None and isinstance(reader, BaseReader) and reader.concurrent
        if concurrent:  # a part of a picture keeps all of its buffer
            frame_bytes = max(frame_bytes, side.info.format.frame_bytes(side.info.width, side.info.height))
        reading = Reading.of(frame_bytes, ahead=ahead, concurrent=concurrent)
        return Prefetch(self.at if reading.threads > 1 else self.next, reading, name=name)

    def next(self, number: int) -> Picture | None:
        """The next picture, which has this number; None after the last one."""
        if self._pictures is None:
            self._pictures = self._open()
            leave_out = 0
        else:
            leave_out = self._side.stride - 1
        for _ in range(leave_out):
            if next(self._pictures, None) is None:
                return None
        picture = next(self._pictures, None)
        return None if picture is None else self._prepare(picture, number)

    def at(self, number: int) -> Picture | None:
        """The picture of this number, of a reader that is concurrent; None after the last one."""
        assert isinstance(self._reader, BaseReader)
        picture = self._reader.picture_at(self._skip + number * self._side.stride)
        return None if picture is None else self._prepare(picture, number)

    def _prepare(self, picture: Picture, number: int) -> Picture:
        if self._look is not None:
            self._look.see(picture, number)
        if isinstance(self._reader, BaseReader):
            return self._reader.once(picture, self._way, self._convert)
        return self._convert(picture)

    def _convert(self, picture: Picture) -> Picture:
        if self._side.steps:
            with self._converting:
                for step in self._side.steps:
                    picture = step(picture)
        if self._signed:
            picture.signature = sign(picture)
        return picture

    def _open(self) -> Iterator[Picture]:
        pictures = self._from_start()
        if self._side.deinterlace is None:
            return pictures
        from acuity.video.pairs.deinterlace import deinterlaced

        return deinterlaced(pictures, self._side.info, self._side.deinterlace)

    def _from_start(self) -> Iterator[Picture]:
        if (self._skip or self._again) and self._reader.info.seekable:
            try:
                self._reader.seek(self._skip)
            except NoFramesError:
                return iter(())  # as a video that can't seek: the pairing says that nothing is left
            return iter(self._reader)
        pictures = iter(self._reader)
        for _ in range(self._skip):
            if next(pictures, None) is None:
                break
        return pictures

"""Reading videos for a comparison: from the start or later, every frame or some, converted and signed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from itertools import islice
from typing import Self, TypeAlias

from acuity.errors import NoFramesError
from acuity.video.alignment.signature import cells_of, sign
from acuity.video.notes import Note
from acuity.video.pairs.content import EVERY, ContentFigures
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pair_plan import PairPlan, Side
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.file_reads import FileReads, WantedFrames
from acuity.video.readers.prefetch import Prefetch, ReadAhead
from acuity.video.readers.reader import BaseReader, VideoReader

# Pictures that are read ahead, taken in order by one thread.
Ahead: TypeAlias = Prefetch | FileReads


class Producer:
    """Reads one video: skips its start, leaves out frames, applies the planned conversions, signs."""

    def __init__(
        self,
        reader: VideoReader,
        side: Side,
        skip: int,
        *,
        look: ContentFigures | None = None,
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

    def start(self, ahead: int | None, name: str) -> Ahead:
        """Begin to read ahead, in several threads if the reader can and the pictures are large.

        Where the frames' places in the file are known and the frames aren't converted, no thread needs
        Python's lock.
        """
        reader, side = self._reader, self._side
        frame_bytes = side.format.frame_bytes(side.width, side.height)
        # Deinterlacing needs the frames around each.
        concurrent = side.deinterlace is None and isinstance(reader, BaseReader) and reader.concurrent
        if concurrent:  # a part of a picture keeps all of its buffer
            frame_bytes = max(frame_bytes, side.info.format.frame_bytes(side.info.width, side.info.height))
        decoded = isinstance(reader, BaseReader) and reader.decoded
        reading = ReadAhead.of(frame_bytes, ahead=ahead, concurrent=concurrent, decoded=decoded)
        if concurrent and (started := self._start_file_reads(reading)) is not None:
            return started
        return Prefetch(self.at if reading.threads > 1 else self.next, reading, name=name)

    def _start_file_reads(self, reading: ReadAhead) -> FileReads | None:
        """Read the file in threads without Python's lock; None where it can't be."""
        reader, side = self._reader, self._side
        in_order = reading.threads == 1  # where a thread would go on from the end of the picture before
        if side.steps or not isinstance(reader, BaseReader) or (in_order and side.stride > 1):
            return None
        if (places := reader.places) is None or side.info.frames is None:
            return None
        wanted = WantedFrames(
            self._skip,
            side.stride,
            max(-(-(side.info.frames - self._skip) // side.stride), 0),
            cells_of(side.width, side.height) if self._signed else (0, 0),
            None if self._look is None else self._look.sums,
            EVERY,
        )
        try:
            return FileReads(
                places,
                wanted,
                reading,
                self.next if in_order else self.at,
                size=(side.width, side.height),
                depth=side.format.depth,
                in_order=in_order,
            )
        except OSError:  # the system's limit of threads or descriptors
            return None

    def next(self, number: int) -> Picture | None:
        """The next picture, which has this number; None after the last one. The first call goes there."""
        leave_out = self._side.stride - 1
        if self._pictures is None:
            self._pictures, leave_out = self._open(number), 0
        picture = next(islice(self._pictures, leave_out, None), None)
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
            sign(picture)
        return picture

    def _open(self, first: int) -> Iterator[Picture]:
        pictures = self._from_start(first)
        if self._side.deinterlace is None:
            return pictures
        from acuity.video.pairs.convert import deinterlaced

        return deinterlaced(pictures, self._side.info, self._side.deinterlace)

    def _from_start(self, first: int) -> Iterator[Picture]:
        if (self._skip or self._again or first) and self._reader.info.seekable:
            try:
                self._reader.seek(self._skip + first)
            except NoFramesError:
                return iter(())  # as a video that can't seek: the pairing says that nothing is left
            return iter(self._reader)
        return islice(self._reader, self._skip, None)


class PictureSource:
    """The base of Pairing and LoneVideo, which hand out pictures that are read ahead: notes, and closing."""

    def __init__(
        self, readers: tuple[VideoReader, ...], plan: PairPlan, options: PairOptions, notes: list[Note]
    ) -> None:
        """Takes over the readers: closing this closes them."""
        side = plan.ref
        self.options = options
        self.width: int = side.width
        self.height: int = side.height
        self.aspect: float = side.aspect  # of one sample, width to height
        self.display: str = plan.display  # that the videos are scaled to, or 'native'
        self.format: PixelFormat = side.format
        # The tags of both after their conversions: those that one lacks are taken from the other.
        self.matrix: str | None = side.matrix or plan.dis.matrix
        self.full_range: bool = side.full_range
        self.notes = notes
        self.pairs = 0  # yielded so far
        self._plan = plan
        self._readers = readers
        self._started = False
        self._prefetches: list[Ahead] = []
        self._closer = weakref.finalize(self, _close, self._prefetches, readers)
        self._gather_notes()

    def close(self) -> None:
        """Stop reading and close the videos. May be called again."""
        self._closer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _enough(self) -> bool:
        """Whether there were as many pairs as are wanted."""
        return 0 < self.options.frames <= self.pairs

    def _gather_notes(self) -> None:
        for reader in self._readers:
            for note in getattr(reader, "notes", ()):
                if note not in self.notes:
                    self.notes.append(note)

    def _range(self) -> str | None:
        """The range in which the pictures are compared; None where the reference doesn't say it."""
        side = self._plan.ref
        said = side.info.full_range is not None or side.full_range
        return ("full" if side.full_range else "limited") if said else None


def _close(prefetches: list[Ahead], readers: tuple[VideoReader, ...]) -> None:
    for prefetch in prefetches:
        prefetch.stop()
    for reader in readers:  # makes a read that waits for a slow pipe fail
        reader.close()
    for prefetch in prefetches:
        prefetch.join()

"""Reads raw planar YUV: frames without a header, so the geometry has to be given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acuity.errors import NoFramesError, TruncatedError
from acuity.video.buffers import Allocate, BufferPool, Bytes, FrameLayout, allocate, check_size
from acuity.video.notes import warning
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.file_reads import FramePlaces
from acuity.video.readers.guess import RawFormat, other_geometry
from acuity.video.readers.reader import BaseReader, VideoInfo, check_frame
from acuity.video.source import Place, Source, name_of, open_source

if TYPE_CHECKING:
    from fractions import Fraction


class RawReader(BaseReader):
    """Reads a raw file or pipe; one read call and no copy for each frame, and from a file several at once."""

    def __init__(
        self,
        path: Place,
        width: int,
        height: int,
        format: PixelFormat,
        *,
        rate: Fraction | None = None,
        luma_only: bool = False,
        allocate: Allocate = allocate,
    ) -> None:
        super().__init__()
        check_size(name_of(path), width, height)
        self._source = open_source(path)
        try:
            self._layout, frames = _fit(self._source, width, height, format)
        except BaseException:
            self._source.close()
            raise
        geometry = RawFormat(width, height, format)
        if (other := other_geometry(self._source.path, self._source.size, geometry)) is not None:
            text = f"'{self._source.path}' is read as {geometry}, but its name says {other.said}"
            remedy = "check the geometry, because the score is wrong if the name is right"
            self.notes.append(warning("geometry-name", f"{text}: {remedy}"))
        self.info = VideoInfo(
            path=self._source.path,
            kind="raw",
            width=width,
            height=height,
            format=format,
            frames=frames,
            frames_exact=frames is not None,
            rate=rate,
            seekable=self._source.seekable,
        )
        # A pipe has to be read completely; in a file, unused chroma is skipped.
        self._skip_chroma = luma_only and self._source.seekable
        self._luma_only = luma_only
        self._wanted = self._layout.luma_bytes() if self._skip_chroma else self._layout.frame_bytes
        self._pool = BufferPool(self._wanted, allocate)
        self._next = 0

    @property
    def concurrent(self) -> bool:
        return self._source.concurrent

    @property
    def places(self) -> FramePlaces | None:
        if not self._source.concurrent:
            return None
        step = self._layout.frame_bytes
        return FramePlaces(self._source, self._pool, self._picture, first=0, step=step, length=self._wanted)

    def read(self) -> Picture | None:
        picture = self.picture_at(self._next)
        self._next += picture is not None
        return picture

    def picture_at(self, frame: int) -> Picture | None:
        """Picture number `frame`; of a pipe, the next one."""
        if self.info.frames is not None and frame >= self.info.frames:
            return None
        buffer = self._pool.take()
        if self._source.concurrent or self._skip_chroma:
            count = self._source.read_at(frame * self._layout.frame_bytes, memoryview(buffer)[: self._wanted])
        else:
            count = self._source.readinto(memoryview(buffer)[: self._wanted])
        if count == 0 and self.info.frames is None:
            if frame == 0:
                raise NoFramesError(f"'{self.info.path}' is empty: there is no frame to score")
            return None
        if count < self._wanted:
            raise TruncatedError(
                f"'{self.info.path}' ends in the middle of frame {frame}: {count} of"
                f" {self._wanted} bytes are there, so check the file, or the size and format given"
            )
        return self._picture(buffer)

    def _picture(self, buffer: Bytes) -> Picture:
        return Picture(self._layout.planes(buffer, luma_only=self._luma_only), self.info.format)

    def seek(self, frame: int) -> None:
        check_frame(self.info, frame)
        self._source.seek(frame * self._layout.frame_bytes)
        self._next = frame

    def close(self) -> None:
        self._source.close()


def _fit(source: Source, width: int, height: int, format: PixelFormat) -> tuple[FrameLayout, int | None]:
    """The layout that gives whole frames, and their number."""
    layout = FrameLayout.of(format, width, height)
    if source.size is None:
        return layout, None
    if source.size == 0:
        raise NoFramesError(f"'{source.path}' is empty: there is no frame to score")
    # Odd sizes: FFmpeg rounds chroma up, libvmaf's own raw files round it down.
    for candidate in (layout, FrameLayout.of(format, width, height, round_up=False)):
        frames, rest = divmod(source.size, candidate.frame_bytes)
        if frames and not rest:
            return candidate, frames
    given = RawFormat(width, height, format)
    other = other_geometry(source.path, source.size, given)
    fits = f"; with {other.geometry}, as its name says, it is whole" if other and other.geometry else ""
    raise TruncatedError(
        f"'{source.path}' has {source.size} bytes, which is not a whole number of frames of"
        f" {layout.frame_bytes} bytes ({given}): check width, height, pixel format and bit depth,"
        f" or whether the file is complete{fits}"
    )

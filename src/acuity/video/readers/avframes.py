"""Converts between PyAV's frames and pictures. Importing this module imports PyAV."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Final, cast

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from acuity.video.picture import DEPTHS, LAYOUTS, Picture, PixelFormat, Samples
from acuity.video.readers.reader import RgbTarget
from acuity.video.rgb import to_rgb8

# Bit-exact, so that a score does not depend on the instruction set libswscale finds.
_EXACT: Final = (
    Interpolation.ACCURATE_RND
    | Interpolation.BITEXACT
    | Interpolation.FULL_CHR_H_INT
    | Interpolation.FULL_CHR_H_INP
)
FILTERS: Final = {"bicubic": Interpolation.BICUBIC | _EXACT, "lanczos": Interpolation.LANCZOS | _EXACT}

# Matrices that libswscale can turn RGB into.
RGB_MATRICES: Final = {
    "bt709": Colorspace.ITU709,
    "fcc": Colorspace.FCC,
    "bt470bg": Colorspace.ITU601,
    "smpte170m": Colorspace.ITU601,
    "smpte240m": Colorspace.SMPTE240M,
    "bt2020nc": Colorspace.BT2020,
}


def av_name(format: PixelFormat) -> str:
    """FFmpeg's name of one of our formats."""
    stem = "gray" if format.layout == "400" else f"yuv{format.layout}p"
    return stem if format.depth == 8 else f"{stem}{format.depth}le"


# FFmpeg formats whose first planes can be used without conversion; an alpha plane is left out.
DIRECT: Final = {
    av_name(format).replace("yuv", stem, 1): format
    for format in (PixelFormat(layout, depth) for layout in LAYOUTS for depth in DEPTHS)
    for stem in (("yuv", "yuva", "yuvj") if format.depth == 8 else ("yuv", "yuva"))
}

# (width, height) of chroma for a luma of 64x64 -> the layout that keeps all of it.
_KEEPS_CHROMA: Final = {
    (64, 64): "444",
    (32, 64): "422",
    (32, 32): "420",
    (64, 32): "444",  # 4:4:0
    (16, 64): "422",  # 4:1:1
    (16, 16): "420",  # 4:1:0
}


def nearest(source: av.VideoFormat) -> PixelFormat:
    """The planar YUV format for frames of `source`, with the same depth and chroma."""
    bits = max((component.bits for component in source.components), default=8)
    depth = next((depth for depth in DEPTHS if depth >= bits), 16)
    if _is_rgb(source):
        return PixelFormat("444", depth)
    if len(source.components) < 3:  # gray, with or without alpha
        return PixelFormat("400", depth)
    return PixelFormat(_KEEPS_CHROMA.get((source.chroma_width(64), source.chroma_height(64)), "444"), depth)


def _is_rgb(source: av.VideoFormat) -> bool:
    return source.is_rgb or source.has_palette or source.is_bayer or source.name.startswith("xyz")


def form_of(frame: av.VideoFrame) -> str:
    """The size and FFmpeg's format of a frame, as messages have them; the same for all frames of a video."""
    return f"{frame.width}x{frame.height} {frame.format.name}"


def av_range(full: bool) -> ColorRange:
    return ColorRange.JPEG if full else ColorRange.MPEG


class ToPlanar:
    """Turns decoded frames into pictures of one format, without a copy if possible."""

    def __init__(self, source: av.VideoFormat, *, luma_only: bool = False) -> None:
        self.source = source.name
        self._luma_only = luma_only
        direct = DIRECT.get(source.name)
        self.format = direct or nearest(source)
        self.converts = direct is None
        self.rgb = _is_rgb(source)
        self.jpeg = False  # whether chroma lies in the middle of the samples that it belongs to
        self._target = RgbTarget()  # of RGB
        self._reformatter = VideoReformatter()

    @property
    def description(self) -> str | None:
        return f"{self.source} to {av_name(self.format)}" if self.converts else None

    def prepare(self, *, chroma: bool, rgb: RgbTarget | None) -> None:
        """Give chroma too from now on if it is wanted, and RGB as this target."""
        self._luma_only = self._luma_only and not chroma
        self._target = rgb or self._target

    def picture(self, frame: av.VideoFrame, pts: float | None = None) -> Picture:
        made = Picture(self(frame), self.format, pts)
        if not self._luma_only and (self.rgb or (self.jpeg and self.format.layout != "400")):
            made.finer = partial(_finer, frame if self.rgb else made.changed())
        return made

    def __call__(self, frame: av.VideoFrame) -> tuple[Samples, ...]:
        if self.converts:
            frame = self._reformatter.reformat(
                frame,
                format=av_name(self.format),
                interpolation=FILTERS["bicubic"],
                dst_colorspace=RGB_MATRICES[self._target.matrix] if self.rgb else None,
                dst_color_range=av_range(self._target.full_range) if self.rgb else None,
            )
        count = 1 if self._luma_only or self.format.layout == "400" else 3
        return tuple(_view(frame.planes[index], self.format) for index in range(count))

    def chroma(self, frame: av.VideoFrame) -> tuple[Samples, ...]:
        """The chroma of a frame that isn't asked for, without a copy; empty where it isn't at hand."""
        if not self._luma_only or self.converts or self.format.layout == "400":
            return ()
        return tuple(_view(frame.planes[index], self.format) for index in (1, 2))


def _finer(frame: av.VideoFrame | Picture) -> tuple[Samples, ...]:
    """RGB, or a JPEG image as decoders show it, with as much precision as it has: see Picture.finer."""
    format = PixelFormat("444", 16)
    if isinstance(frame, Picture):
        frame = av.VideoFrame.from_ndarray(to_rgb8(frame, "bt470bg", True, centred=True), "rgb24")
    fine = VideoReformatter().reformat(
        frame,
        format=av_name(format),
        interpolation=FILTERS["bicubic"],
        dst_colorspace=RGB_MATRICES["bt709"],
        dst_color_range=av_range(True),
    )
    return tuple(_view(plane, format) for plane in fine.planes[:3])


def _view(plane: av.video.plane.VideoPlane, format: PixelFormat) -> Samples:
    """The samples of a plane without a copy; the array keeps the frame alive."""
    if plane.line_size < 0:
        return _bottom_up(plane, format)
    rows = np.frombuffer(cast("bytes", plane), np.uint8).reshape(plane.height, plane.line_size)
    return cast("Samples", rows[:, : plane.width * format.bytes_per_sample].view(format.dtype))


def _bottom_up(plane: av.video.plane.VideoPlane, format: PixelFormat) -> Samples:
    # PyAV gives the bytes after the first row, but in these frames the rows come before it.
    length = plane.width * format.bytes_per_sample
    rows = [ctypes.string_at(plane.buffer_ptr + row * plane.line_size, length) for row in range(plane.height)]
    samples = np.frombuffer(b"".join(rows), format.dtype)
    return cast("Samples", samples.reshape(plane.height, plane.width))


def to_frame(picture: Picture) -> av.VideoFrame:
    """A PyAV frame with a copy of the samples.

    libswscale always treats gray as full range, so gray is passed as 4:2:0 without colour.
    """
    format = picture.format
    if format.layout == "400" or len(picture.planes) == 1:
        format = PixelFormat("420", format.depth)
    frame = av.VideoFrame(picture.width, picture.height, av_name(format))
    for index, plane in enumerate(frame.planes):
        target = _view(plane, format)
        if index < len(picture.planes):
            rows, columns = picture.planes[index].shape
            target[:rows, :columns] = picture.planes[index]
            # Chroma that a raw file rounded down lacks its last row or column: repeat the one before.
            if 0 < rows < target.shape[0]:
                target[rows:] = target[rows - 1]
            if 0 < columns < target.shape[1]:
                target[:, columns:] = target[:, columns - 1 : columns]
        else:
            target[:] = 1 << (format.depth - 1)
    return frame

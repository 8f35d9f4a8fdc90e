"""Conversions of one video's pictures so that they can be compared with the other's.

Each step is a callable from picture to picture; deinterlacing takes all of them. Only that and Fit load PyAV.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from acuity.video.picture import Picture, PixelFormat, Samples

if TYPE_CHECKING:
    import av
    from av.filter import Graph
    from av.video.reformatter import VideoReformatter

    from acuity.video.readers.reader import VideoInfo

Step = Callable[[Picture], Picture]


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn the picture clockwise by quarter turns, as a player does."""

    degrees: int

    def __call__(self, picture: Picture) -> Picture:
        turns = -self.degrees // 90 % 4  # numpy turns the other way
        planes = tuple(cast("Samples", np.ascontiguousarray(np.rot90(p, turns))) for p in picture.planes)
        return picture.changed(planes=planes)


@dataclass(frozen=True, slots=True)
class Cut:
    """Cut a rectangle out of the picture, without a copy; its edges lie between chroma samples."""

    left: int
    top: int
    width: int
    height: int

    def __call__(self, picture: Picture) -> Picture:
        rows, columns = picture.luma.shape
        planes = []
        for plane in picture.planes:
            down, right = round(rows / plane.shape[0]), round(columns / plane.shape[1])
            kept = plane[self.top // down :, self.left // right :]
            planes.append(kept[: -(-self.height // down), : -(-self.width // right)])
        return picture.changed(planes=tuple(planes))


@dataclass(frozen=True, slots=True)
class Deepen:
    """Convert to more bits a sample, without loss."""

    depth: int
    full_range: bool

    def __call__(self, picture: Picture) -> Picture:
        planes = tuple(self._plane(plane, picture.format.depth) for plane in picture.planes)
        made = picture.changed(planes=planes, format=PixelFormat(picture.format.layout, self.depth))
        made.finer = picture.finer
        return made

    def _plane(self, plane: Samples, depth: int) -> Samples:
        if not self.full_range:  # black and white of limited range scale with powers of two
            return np.left_shift(plane, self.depth - depth, dtype=np.uint16)
        top, bottom = (1 << self.depth) - 1, (1 << depth) - 1
        wide = plane.astype(np.uint32) * np.uint32(top) + np.uint32(bottom // 2)
        return (wide // np.uint32(bottom)).astype(np.uint16)


@dataclass(slots=True)
class Fit:
    """Scale to another size, and to another layout, depth or range, in one step."""

    width: int
    height: int
    format: PixelFormat
    from_full: bool
    to_full: bool
    filter: str = "bicubic"
    _reformatter: VideoReformatter | None = field(default=None, init=False, repr=False, compare=False)

    def __call__(self, picture: Picture) -> Picture:
        from av.video.reformatter import VideoReformatter

        from acuity.video.readers.avframes import FILTERS, ToPlanar, av_name, av_range, to_frame

        if self._reformatter is None:
            self._reformatter = VideoReformatter()
        # Gray travels with empty chroma, see to_frame().
        layout = "420" if self.format.layout == "400" else self.format.layout
        frame = self._reformatter.reformat(
            to_frame(picture),
            width=self.width,
            height=self.height,
            format=av_name(PixelFormat(layout, self.format.depth)),
            interpolation=FILTERS[self.filter],
            src_color_range=av_range(self.from_full),
            dst_color_range=av_range(self.to_full),
        )
        luma_only = _luma_only(picture) or self.format.layout == "400"
        planes = ToPlanar(frame.format, luma_only=luma_only)(frame)
        return picture.changed(planes=planes, format=self.format)


@dataclass(slots=True)
class Resample:
    """Convert chroma to another layout; luma stays unchanged, to the bit."""

    format: PixelFormat
    full_range: bool
    _fit: Fit | None = field(default=None, init=False, repr=False, compare=False)

    def __call__(self, picture: Picture) -> Picture:
        if self.format.layout == "400" or _luma_only(picture):
            chroma: tuple[Samples, ...] = ()
        elif picture.format.layout == "400":
            shapes = self.format.plane_shapes(picture.width, picture.height)[1:]
            grey = 1 << (self.format.depth - 1)
            chroma = tuple(np.full(shape, grey, self.format.dtype) for shape in shapes)
        else:
            if self._fit is None:
                full = self.full_range
                self._fit = Fit(picture.width, picture.height, self.format, full, full)
            chroma = self._fit(picture).planes[1:]
        made = picture.changed(planes=(picture.luma, *chroma), format=self.format)
        made.finer = picture.finer
        return made


def _luma_only(picture: Picture) -> bool:
    """Whether the reader left out chroma that the video has."""
    return len(picture.planes) == 1 and picture.format.layout != "400"


# Every frame is deinterlaced, to one picture each: the flag of single frames is lost by now.
_DEINTERLACING: Final = "mode=send_frame:parity={parity}:deint=all"


def deinterlaced(pictures: Iterator[Picture], info: VideoInfo, filter: str) -> Iterator[Picture]:
    """The pictures with the lines of both fields at one time. The filter looks at the next picture too."""
    from acuity.video.readers.avframes import to_frame

    graph: Graph | None = None
    waiting: list[Picture] = []  # two at most, for their times and formats
    for picture in pictures:
        frame = to_frame(picture)
        frame.pts, frame.time_base = None, Fraction(1, 25)
        if graph is None:
            graph = _graph(frame, filter, bottom_first=info.bottom_field_first)
        waiting.append(picture)
        graph.vpush(frame)
        yield from _finished(graph, waiting)
    if graph is not None:
        graph.vpush(None)
        yield from _finished(graph, waiting)


def _graph(first: av.VideoFrame, filter: str, *, bottom_first: bool) -> Graph:
    from av.filter import Graph

    graph = Graph()
    source = graph.add_buffer(
        width=first.width, height=first.height, format=first.format, time_base=Fraction(1, 25)
    )
    parity = "bff" if bottom_first else "tff"
    middle = graph.add(filter, _DEINTERLACING.format(parity=parity))
    sink = graph.add("buffersink")
    source.link_to(middle)
    middle.link_to(sink)
    graph.configure()
    return graph


def _finished(graph: Graph, waiting: list[Picture]) -> Iterator[Picture]:
    import av.error

    from acuity.video.readers.avframes import ToPlanar

    while True:
        try:
            frame = graph.vpull()
        except (av.error.BlockingIOError, av.error.EOFError):
            return
        made = waiting.pop(0)
        planes = ToPlanar(frame.format, luma_only=len(made.planes) == 1)(frame)
        yield made.changed(planes=planes)

"""Deinterlacing with FFmpeg's filters: one whole picture for each interlaced one. Imports PyAV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

import av
import av.error
from av.filter import Graph

from acuity.video.picture import Picture
from acuity.video.readers.avframes import ToPlanar, to_frame
from acuity.video.readers.reader import VideoInfo

# Every frame is deinterlaced, to one picture each: the flag of single frames is lost by now.
_OPTIONS: Final = "mode=send_frame:parity={parity}:deint=all"


def deinterlaced(pictures: Iterator[Picture], info: VideoInfo, filter: str) -> Iterator[Picture]:
    """The pictures with the lines of both fields at one time. The filter looks at the next picture too."""
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
    graph = Graph()
    source = graph.add_buffer(
        width=first.width, height=first.height, format=first.format, time_base=Fraction(1, 25)
    )
    parity = "bff" if bottom_first else "tff"
    middle = graph.add(filter, _OPTIONS.format(parity=parity))
    sink = graph.add("buffersink")
    source.link_to(middle)
    middle.link_to(sink)
    graph.configure()
    return graph


def _finished(graph: Graph, waiting: list[Picture]) -> Iterator[Picture]:
    while True:
        try:
            frame = graph.vpull()
        except (av.error.BlockingIOError, av.error.EOFError):
            return
        made = waiting.pop(0)
        planes = ToPlanar(frame.format, luma_only=len(made.planes) == 1)(frame)
        yield replace(made, planes=planes)

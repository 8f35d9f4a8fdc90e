"""Pictures as codecs leave them, encoded and decoded in memory by PyAV."""

from __future__ import annotations

import io
from fractions import Fraction

import av
import numpy as np

from acuity.video.picture import Picture, PixelFormat


def coded(
    pictures: list[Picture], codec: str, options: dict[str, str], *, full_range: bool = False
) -> list[Picture]:
    """4:2:0 pictures of 8 bits after an encoder and a decoder."""
    file = io.BytesIO()
    height, width = pictures[0].luma.shape
    with av.open(file, "w", format="matroska") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height = width, height
        stream.pix_fmt = "yuvj420p" if full_range else "yuv420p"
        stream.codec_context.thread_count = 1
        stream.codec_context.time_base = Fraction(1, 25)
        if "qscale" in options:  # a constant quantiser of encoders of FFmpeg's own
            options = dict(options)
            quantiser = int(options.pop("qscale"))
            stream.codec_context.qmin, stream.codec_context.qmax = quantiser, quantiser
            stream.codec_context.flags |= av.codec.context.Flags.qscale.value
        stream.codec_context.options = options
        for picture in pictures:
            frame = av.VideoFrame(width, height, stream.pix_fmt)
            for plane, samples in zip(frame.planes, picture.planes, strict=True):
                rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
                rows[: samples.shape[0], : samples.shape[1]] = samples
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    file.seek(0)
    found = []
    with av.open(file) as container:
        for frame in container.decode(video=0):
            planes = []
            for plane in frame.planes:
                rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
                planes.append(rows[: plane.height, : plane.width].copy())
            found.append(Picture(tuple(planes), PixelFormat("420", 8)))
    return found

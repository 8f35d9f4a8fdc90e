"""The versions of encoders: of the library that encodes, and of FFmpeg's around it."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import Final, cast

import av
from av.video.codeccontext import VideoCodecContext

from acuity.tune.encoders import Encoder

# What the encoders write about themselves into the bitstream.
_SIGNED: Final = {
    "libx264": re.compile(rb"x264 - core (\d+(?: r\d+)?(?: [0-9a-f]{6,})?)"),
    "libx265": re.compile(rb"x265 \(build \d+\) - ([^:\s]+)"),
}


@cache
def encoder_version(encoder: Encoder) -> str:
    """`libx265 4.1+54 (PyAV 18.0.0, libavcodec 62.11.100)`."""
    around = f"PyAV {av.__version__}, libavcodec {'.'.join(map(str, av.library_versions['libavcodec']))}"
    version = _signed(encoder.name)
    return f"{encoder.name} {version or 'of unknown version'} ({around})"


def _signed(name: str) -> str | None:
    pattern = _SIGNED.get(name)
    if pattern is None:
        return None
    context = cast("VideoCodecContext", av.CodecContext.create(name, "w"))
    context.width = context.height = 64
    context.pix_fmt = "yuv420p"
    context.time_base = Fraction(1, 25)
    context.framerate = Fraction(25)
    context.options = {"x265-params": "log-level=none"} if name == "libx265" else {}
    frame = av.VideoFrame(64, 64, "yuv420p")
    data = b"".join(bytes(packet) for packet in [*context.encode(frame), *context.encode(None)])
    found = pattern.search(data)
    return None if found is None else found[1].decode()

"""The process that an encoder of PyAV runs in: raw frames come in, packets go out.

    python -m acuity.tune.encoders.process

An encoder can't be interrupted: a frame of x265 or SVT-AV1 may take many seconds at slow presets, and closing
one before its end longer still. So it is a process that can be killed (acuity.child_process).

Standard input has jobs, one after the other: a JSON document, then frames, each after a byte 'F', then a byte
'E'.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, BinaryIO, Final, cast

import av
from av.codec.context import Flags
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from acuity.child_process import Ended, Tell, begin, exactly, fill, read_document
from acuity.video.buffers import FrameLayout, allocate
from acuity.video.picture import Picture
from acuity.video.readers.av_open import AV_ERRORS, reason
from acuity.video.readers.avframes import DIRECT, to_frame

# Of a packet: pts, dts, duration, whether it is a keyframe, seconds of CPU time so far.
PACKET: Final = struct.Struct("<qqq?d")
FRAME: Final = b"F"
END: Final = b"E"
OPENED: Final = b"O"  # the headers of the stream, as the encoder writes them
HEADER: Final = b"H"  # Matroska with the first packet, from which a muxer learns all about the stream
PACKETS: Final = b"P"
DONE: Final = b"D"
REFUSED: Final = b"R"  # options: a sentence
FAILED: Final = b"X"  # on the way: a sentence

_LONGEST_DELAY: Final = 250  # frames
# How FFmpeg's warnings about wrong parameters of a library begin.
_COMPLAINTS: Final = ("Error parsing option", "Unknown option", "Invalid value")


def main() -> None:
    """Carry out jobs until standard input ends."""
    os.environ["SVT_LOG"] = "1"
    frames, tell = begin()
    with contextlib.suppress(Ended, BrokenPipeError):
        while True:
            _carry_out(read_document(frames), frames, tell)
    # Not a normal exit: that would close the encoder, which takes long if it was not flushed.
    os._exit(0)


def _carry_out(job: dict[str, Any], frames: BinaryIO, tell: Tell) -> None:
    blob = io.BytesIO()
    container = av.open(blob, "w", format="matroska")
    try:
        context = _opened(job, container)
    except (*AV_ERRORS, _Refused) as error:
        tell(REFUSED, _sentence(error).encode())
        for _ in _pictures(job, frames):
            pass
        return
    tell(OPENED, context.extradata or b"")
    first = True
    # Of all threads: encoders work in the background, so the time that calls take says little.
    begun = time.process_time()
    try:
        for frame in _pictures(job, frames):
            packets = context.encode(frame)
            spent = time.process_time() - begun
            for packet in packets:
                if not packet.size:
                    continue
                if first:
                    first = False
                    tell(HEADER, _header(container, blob, packet))
                about = PACKET.pack(*_times(packet), packet.duration or 1, packet.is_keyframe, spent)
                tell(PACKETS, about, cast("bytes", memoryview(packet)))
            del frame
        tell(DONE, struct.pack("<d", time.process_time() - begun))
    except AV_ERRORS as error:
        tell(FAILED, _sentence(error).encode())
        os._exit(1)  # its state is unknown
    del context, container


def _times(packet: av.Packet[VideoStream]) -> tuple[int, int]:
    """When the packet's frame is shown, and when it is decoded.

    Of one or two frames, x265 (4.1) tells the latter from memory that it never wrote. No frame is decoded
    after it is shown, nor longer before that than encoders hold frames back.
    """
    pts = -1 if packet.pts is None else packet.pts
    known = packet.dts is not None and 0 <= pts - packet.dts <= _LONGEST_DELAY
    return pts, cast("int", packet.dts) if known else pts


def _header(
    container: av.container.OutputContainer, blob: io.BytesIO, packet: av.Packet[VideoStream]
) -> bytes:
    copied = av.Packet(bytes(packet))
    copied.pts, copied.dts = _times(packet)
    copied.time_base = packet.time_base
    copied.is_keyframe = True
    copied.stream = container.streams[0]
    container.mux(copied)
    container.close()
    return blob.getvalue()


def _pictures(job: dict[str, Any], frames: BinaryIO) -> Iterator[av.VideoFrame | None]:
    """The frames of a job as the encoder takes them, then None."""
    layout = FrameLayout.of(DIRECT[job["pixel_format"]], job["width"], job["height"])
    buffer = allocate(layout.frame_bytes)
    picture = Picture(layout.planes(buffer), layout.format)
    index = 0
    while exactly(frames, 1) == FRAME:
        fill(frames, memoryview(buffer))
        frame = to_frame(picture)
        frame.pts, frame.time_base = index, Fraction(*job["time_base"])
        _mark(frame, job)
        index += 1
        yield frame
    yield None


def _mark(shown: av.VideoFrame | VideoCodecContext, job: dict[str, Any]) -> None:
    """Set the colour tags."""
    shown.color_range, shown.colorspace = job["range"], job["matrix"]
    shown.color_primaries, shown.color_trc = job["primaries"], job["transfer"]


class _Refused(Exception):
    """An option that the encoder doesn't know."""


def _opened(job: dict[str, Any], container: av.container.OutputContainer) -> VideoCodecContext:
    """The encoder of a job, opened as the one stream of a container, which then knows all about it."""
    stream = container.add_stream(job["encoder"], rate=Fraction(*job["rate"]))
    assert isinstance(stream, VideoStream)
    context = stream.codec_context
    context.width, context.height = job["width"], job["height"]
    context.pix_fmt = job["pixel_format"]
    context.time_base = Fraction(*job["time_base"])
    context.framerate = Fraction(*job["rate"])
    if job["aspect"]:
        context.sample_aspect_ratio = Fraction(*job["aspect"])
    _mark(context, job)
    context.flags |= Flags.global_header  # as files have it
    context.thread_count = job["threads"]
    context.options = dict(job["options"])
    # Wrong parameters of a library are only warned about, so what FFmpeg logs is looked at.
    av.logging.set_level(av.logging.WARNING)
    try:
        with av.logging.Capture(local=False) as logs:
            try:
                context.open()
            except AV_ERRORS as error:
                raise _Refused(_said(logs) or reason(error)) from error
    finally:
        av.logging.set_level(None)
    _leave_real_time()
    if context.options:
        raise _Refused(f"it has no option {', '.join(sorted(context.options))}")
    if unknown := [text.strip() for _, _, text in logs if text.startswith(_COMPLAINTS)]:
        raise _Refused(unknown[0].rstrip("."))
    return context


def _leave_real_time() -> None:
    """Give all threads of this process the usual scheduling.

    Where it is allowed to, as root is, SVT-AV1 makes its threads real-time ones, and everything else on the
    machine, scoring included, waits for them.
    """
    for thread in map(int, os.listdir("/proc/self/task")):
        with contextlib.suppress(OSError):  # the thread has ended
            if os.sched_getscheduler(thread) != os.SCHED_OTHER:
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def _said(logs: list[tuple[int, str, str]]) -> str | None:
    """The last thing that was logged about an error."""
    lines = [text.strip() for level, _, text in logs if level <= av.logging.ERROR and text.strip()]
    return lines[0].rstrip(".") if lines else None


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, _Refused) else reason(error)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
    sys.exit(0)

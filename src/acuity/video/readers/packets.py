"""The bytes and the length of a container's video stream, from its packets. Importing this imports PyAV."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction

from acuity.video.readers.av_open import known
from acuity.video.readers.decoder import Decoder
from acuity.video.source import Place, open_source


def measure_packets(
    path: Place, stream: int | None = None, *, skip: int = 0, frames: int = 0
) -> tuple[int, float] | None:
    """The bytes of all packets of the stream, and the seconds that they are shown; None if it has no times.

    Nothing is decoded, and nothing but this stream counts: neither sound nor the container. With `skip` and
    `frames`, only the packets of so many frames after the first ones count; None if that isn't known.
    """
    with closing(Decoder(open_source(path), threads=1, stream=stream)) as decoder:
        base, rate = known(decoder.stream.time_base), known(decoder.stream.guessed_rate)
        packets = [
            (packet.pts, packet.size, packet.duration or 0)
            for packet in decoder.demux()
            if packet.size and not (packet.is_discard and (skip or frames))
        ]
    usual = 1 / rate if rate else Fraction(0)
    size, count = sum(size for _, size, _ in packets), len(packets)
    shown = sorted((pts, own, duration) for pts, own, duration in packets if pts is not None)
    end = None
    if skip or frames:
        if len(shown) < count:
            return None  # in which order they are shown isn't known
        part = shown[skip : skip + frames if frames else None]
        end = shown[skip + len(part)][0] if skip + len(part) < count else None
        size, count, shown = sum(own for _, own, _ in part), len(part), part
    if not shown or base is None or (shown[0][0] == shown[-1][0] and end is None):
        seconds = count * usual
    elif end is not None:
        seconds = (end - shown[0][0]) * base
    else:
        seconds = (shown[-1][0] - shown[0][0]) * base + (shown[-1][2] * base or usual)
    return (size, float(seconds)) if seconds else None

"""The bytes and the length of a container's video stream, from its packets. Importing this imports PyAV."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction

from acuity.video.readers.decoder import Decoder
from acuity.video.source import Place, open_source


def measure_packets(path: Place, stream: int | None = None) -> tuple[int, float] | None:
    """The bytes of all packets of the stream, and the seconds that they are shown; None if it has no times.

    Nothing is decoded, and nothing but this stream counts: neither sound nor the container.
    """
    with closing(Decoder(open_source(path), threads=1, stream=stream)) as decoder:
        base, rate = decoder.stream.time_base, decoder.stream.guessed_rate
        size, count, first, last, longest = 0, 0, None, None, 0
        for packet in decoder.demux():
            if not packet.size:
                continue
            size += packet.size
            count += 1
            if packet.pts is None:
                continue
            first = packet.pts if first is None else min(first, packet.pts)
            if last is None or packet.pts > last:
                last, longest = packet.pts, packet.duration or 0
    usual = 1 / rate if rate else Fraction(0)
    if first is None or last is None or base is None or last == first:
        seconds = count * usual
    else:
        seconds = (last - first) * base + (longest * base or usual)
    return (size, float(seconds)) if seconds else None

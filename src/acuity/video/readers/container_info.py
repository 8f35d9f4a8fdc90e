"""Describes the video of a container as a VideoInfo."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import islice
from typing import Final, cast

import av
import numpy as np
from av.buffer import Buffer

from acuity.video.readers.av_open import known
from acuity.video.readers.avframes import ToPlanar
from acuity.video.readers.reader import VideoInfo


def _numbered(text: str) -> dict[int, str]:
    """A table of numbers and names."""
    return {int(number): name for number, name in (entry.split() for entry in text.split(","))}


# FFmpeg's numbers for colour tags, and the names its tools print. 2 is "unspecified", 0 and 3 are reserved.
TRANSFERS: Final = _numbered(
    "1 bt709, 4 bt470m, 5 bt470bg, 6 smpte170m, 7 smpte240m, 8 linear, 9 log100, 10 log316, 11 iec61966-2-4, "
    "12 bt1361e, 13 iec61966-2-1, 14 bt2020-10, 15 bt2020-12, 16 smpte2084, 17 smpte428, 18 arib-std-b67"
)
PRIMARIES: Final = _numbered(
    "1 bt709, 4 bt470m, 5 bt470bg, 6 smpte170m, 7 smpte240m, 8 film, 9 bt2020, 10 smpte428, 11 smpte431, "
    "12 smpte432, 22 ebu3213"
)
MATRICES: Final = _numbered(
    "0 gbr, 1 bt709, 4 fcc, 5 bt470bg, 6 smpte170m, 7 smpte240m, 8 ycgco, 9 bt2020nc, 10 bt2020c, "
    "11 smpte2085, 14 ictcp"
)
_RANGES: Final = {1: False, 2: True}
_BOTTOM_FIRST: Final = frozenset((3, 4))  # fields shown bottom first, whichever is coded first

# Frame times are even when each step is this close to the usual one (or to it by two clock ticks).
_UNEVEN: Final = 0.3
_MOST_STAMPS: Final = 100_000
_LONGEST_TAG: Final = 200  # characters
_DURATION: Final = re.compile(r"(\d{1,4}):(\d\d):(\d\d(?:\.\d{1,9})?)")
UNKNOWN_FRAMES: Final = 1 << 30  # that FFmpeg promises in an AVI header that it can't complete, on a pipe


def describe(
    path: str,
    container: av.container.InputContainer,
    stream: av.VideoStream,
    first: av.VideoFrame,
    planar: ToPlanar,
    *,
    variable: bool,
    seekable: bool = True,
) -> VideoInfo:
    """The VideoInfo of a stream; `first` is its first decoded frame."""
    context = stream.codec_context
    rate = _rate(stream, variable=variable)
    extra = {"container": container.format.name}
    if tag := next((text for key, text in stream.metadata.items() if key.lower() == "encoder"), ""):
        readable = tag.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # as PyAV 19 has others
        extra["encoder"] = readable[:_LONGEST_TAG]
    if planar.description is not None:
        extra["converted"] = planar.description
    rotation, flipped = orientation(first)
    if flipped:
        extra["flipped"] = "yes"
    full_range = True if planar.rgb or planar.source.startswith("yuvj") else _RANGES.get(first.color_range)
    matrix = MATRICES.get(first.colorspace) or MATRICES.get(context.colorspace)
    still = container.format.name.endswith("_pipe")  # an image, for which FFmpeg makes up 25 a second
    return VideoInfo(
        path=path,
        kind="container",
        width=first.width,
        height=first.height,
        format=planar.format,
        frames=_claimed_frames(container, stream, rate),
        rate=None if still else rate,
        variable_rate=variable,
        rotation=rotation,
        full_range=full_range,
        transfer=TRANSFERS.get(first.color_trc) or TRANSFERS.get(context.color_trc),
        primaries=PRIMARIES.get(first.color_primaries) or PRIMARIES.get(context.color_primaries),
        matrix="gbr" if planar.rgb else None if matrix == "gbr" else matrix,
        aspect=known(stream.sample_aspect_ratio),
        interlaced=first.interlaced_frame,
        bottom_field_first=context.field_order in _BOTTOM_FIRST,
        codec=context.codec.canonical_name,  # the name alone is the decoder's: libdav1d
        seekable=seekable,
        extra=extra,
    )


def orientation(frame: av.VideoFrame) -> tuple[int, bool]:
    """Quarter turns clockwise, in degrees, that a player applies, and whether it mirrors too."""
    rotation = round(-frame.rotation / 90) * 90 % 360
    try:
        matrix = cast("Buffer | None", frame.side_data.get("DISPLAYMATRIX"))
    except ValueError:  # PyAV 18 has no name for the Exif data of JPEG and TIFF
        matrix = None
    if matrix is None:
        return rotation, False
    a, b, _, c, d = (int(value) for value in np.frombuffer(bytes(matrix), np.int32)[:5])
    return rotation, a * d - b * c < 0


def _rate(stream: av.VideoStream, *, variable: bool) -> Fraction | None:
    # The guessed rate uses the codec's own clock; a variable rate has none, so the average is used.
    candidates = (stream.average_rate, stream.guessed_rate, stream.base_rate)
    order = candidates if variable else (candidates[1], candidates[0], candidates[2])
    found = known(next((rate for rate in order if rate), None))
    if stream.codec_context.name == "gif" and found == 100 and stream.frames and stream.duration:
        # Frames that are shown for one tick or two have a rate between them: 60 a second, say.
        return Fraction(100 * stream.frames, stream.duration)
    return found


def _claimed_frames(
    container: av.container.InputContainer, stream: av.VideoStream, rate: Fraction | None
) -> int | None:
    if stream.frames >= UNKNOWN_FRAMES:
        return None
    if stream.frames:
        hidden = sum(entry.is_discard for entry in islice(iter(stream.index_entries), _MOST_STAMPS))
        return max(1, stream.frames - hidden)
    if rate is None:
        return None
    if stream.duration and stream.time_base:
        return max(1, round(stream.duration * stream.time_base * rate))
    if not container.duration:
        return None
    seconds = Fraction(container.duration, av.time_base)
    if (ends := tagged_end(stream)) is not None and stream.time_base:
        seconds = min(seconds, ends - (stream.start_time or 0) * stream.time_base)
    return max(1, round(seconds * rate))


def tagged_end(stream: av.VideoStream) -> Fraction | None:
    """When Matroska's writers say that a stream ends; the container's duration is that of its longest one."""
    match = _DURATION.fullmatch(stream.metadata.get("DURATION", ""))
    if match is None:
        return None
    hours, minutes, seconds = map(Fraction, match.groups())
    return hours * 3600 + minutes * 60 + seconds


def indexed_stamps(stream: av.VideoStream) -> list[int]:
    """The decoding times of all frames from the index of an MP4 or MOV, without reading packets.

    Empty if an edit list hides some of them, because decoding times don't say when the others are shown.
    """
    entries = list(islice(iter(stream.index_entries), _MOST_STAMPS))
    return [] if any(entry.is_discard for entry in entries) else [entry.timestamp for entry in entries]


def uneven(stamps: Iterable[int]) -> bool:
    """Whether the steps between frame times differ by more than the rounding to clock ticks."""
    ordered = np.sort(np.fromiter(stamps, np.int64)).astype(np.float64)
    steps = np.diff(ordered)
    steps = steps[steps > 0]
    if steps.size < 2:
        return False
    usual = float(np.median(steps))
    return bool(np.any(np.abs(steps - usual) > max(2.0, _UNEVEN * usual)))

"""The sound of a packaged ladder: the source's own, copied into segments of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from av.stream import Disposition

from acuity.errors import AcuityError
from acuity.text import one_line
from acuity.tune.clip import Clip
from acuity.tune.ladder.playlists import AudioTrack
from acuity.tune.ladder.segments import SegmentMuxer
from acuity.video.readers.av_open import AV_ERRORS, AvFile, open_container, reason
from acuity.video.source import open_source

if TYPE_CHECKING:
    from av.audio.stream import AudioStream

NAME: Final = "audio"
_FRAGMENT: Final = Fraction(1, 2)  # seconds: segments of sound begin at most so long after those of the video


def copy_sound(
    clip: Clip,
    folder: str,
    seconds: Fraction,
    start: Fraction,
    *,
    check: Callable[[], None] = lambda: None,
) -> tuple[AudioTrack | None, list[str]]:
    """Copy the source's default sound into `folder`, as segments; what there is to say about it.

    `start` is when the video begins in the source; `check` is called with each packet, and may raise.
    """
    if clip.info.kind != "container":
        return None, []
    with contextlib.ExitStack() as stack:
        source = open_source(clip.path)
        stack.callback(source.close)
        container = open_container(source, AvFile(source))
        stack.callback(container.close)
        streams = container.streams.audio
        if not streams:
            return None, []
        stream = next((one for one in streams if one.disposition & Disposition.default), streams[0])
        codec = stream.codec_context.name
        naming = _NAMES.get(codec)
        name = None if naming is None else naming(stream.codec_context.extradata or b"")
        if clip.parts is not None:
            return None, ["only parts of the source are encoded, so its sound is left out"]
        if name is None and naming is not None:
            return None, [
                f"the source's sound is left out: its {codec} has no header, so remux the source to MP4"
            ]
        if name is None:
            return None, [
                f"the source's sound is left out: segments can't hold {codec} here, so convert it to AAC"
            ]
        notes = []
        if len(streams) > 1:
            notes.append(f"of {len(streams)} streams of sound, only stream {stream.index} is copied")
        muxer = SegmentMuxer(os.path.join(folder, NAME), seconds, fragment=_FRAGMENT)
        try:
            with muxer:
                _copy(container, stream, muxer, start, check)
            problem = None if muxer.timeline.segments else "it has no packets"
        except AcuityError:
            raise
        except AV_ERRORS as error:
            problem = f"it can't be read ({one_line(reason(error))})"
        if problem is not None:
            shutil.rmtree(os.path.join(folder, NAME))
            return None, [f"the source's sound is left out: {problem}"]
        context = stream.codec_context
        language = stream.language if stream.language not in (None, "und") else None
        return AudioTrack(NAME, name, context.sample_rate, context.channels, muxer.timeline, language), notes


def _copy(
    container: Any, stream: AudioStream, muxer: SegmentMuxer, start: Fraction, check: Callable[[], None]
) -> None:
    base = stream.time_base
    assert base is not None
    muxer.add_stream(stream, base)
    shift = round(start / base)
    for packet in container.demux(stream):
        check()
        if packet.pts is None or not packet.size or packet.pts < shift:
            continue  # the demuxer's end, or before the video begins
        muxer.mux(packet, packet.pts - shift, packet.pts - shift, packet.duration or 0, base)


def _aac(extradata: bytes) -> str | None:
    """AAC with the number of its kind; None if the packets carry their own headers, as in MPEG-TS."""
    if len(extradata) < 2:
        return None
    kind = extradata[0] >> 3
    if kind == 31:  # an escape: six more bits
        kind = 32 + ((extradata[0] & 7) << 3 | extradata[1] >> 5)
    return f"mp4a.40.{kind}"


# Codecs that fragmented MP4 holds and players know, and how playlists call them.
_NAMES: Final[Mapping[str, Callable[[bytes], str | None]]] = {
    "aac": _aac,
    "mp3": lambda _: "mp4a.40.34",
    "mp3float": lambda _: "mp4a.40.34",
    "ac3": lambda _: "ac-3",
    "eac3": lambda _: "ec-3",
    "opus": lambda _: "Opus",
    "flac": lambda _: "fLaC",
}

"""The streams of a source that go into a file beside the encoded video, as far as its format holds them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from typing import Final, NamedTuple

import av
from av.container import InputContainer
from av.stream import AttachmentStream, Discard, Disposition, Stream
from av.video.stream import VideoStream

from acuity.tune.clip import Clip
from acuity.video.readers.av_open import AV_ERRORS, AvFile, choose_stream, open_container
from acuity.video.source import open_source

_COPIED: Final = ("audio", "subtitle")
_TEXT: Final = ("subrip", "ass", "webvtt", "mov_text", "text")  # codecs of subtitles that are words
_TEXT_OF: Final = {"mp4": "mov_text", "mov": "mov_text", "webm": "webvtt"}  # the one for each format
INTERLEAVED: Final = 5  # seconds by which packets of one time may be apart in a file

# Bytes that a container adds, as a rule: to a file, to a stream, and to a packet.
_HEAD: Final = 1000
_OF_STREAM: Final = 300
_OF_PACKET: Final = 14


class BesideStreams(NamedTuple):
    """The streams of a source beside its video: those a file can hold, and those it can't."""

    main: VideoStream
    kept: list[Stream]
    left_out: list[Stream]


class Weight(NamedTuple):
    """The bytes that a file will have beside its video's packets."""

    copied: int  # sound, subtitles and attachments
    container: int  # an estimate


def beside(source: InputContainer, clip: Clip, format: str) -> BesideStreams:
    """Look at the streams of a source for a file of that format, by FFmpeg's name.

    Reading the source then gives packets of the kept streams only.
    """
    main = choose_stream(source, clip.path, clip.stream)
    others = [
        stream for stream in source.streams if stream.index != main.index and not _chapters(source, stream)
    ]
    kept = [stream for stream in others if _holds(format, stream)]
    main.discard = Discard.all
    for stream in kept:
        stream.discard = Discard.default
    return BesideStreams(main, kept, [stream for stream in others if stream not in kept])


def _chapters(source: InputContainer, stream: Stream) -> bool:
    """Whether a stream has the titles of chapters, as MP4 keeps them: these are copied as chapters."""
    mp4 = "mp4" in source.format.name.split(",")
    return mp4 and stream.type == "data" and stream.codec_context is None and bool(source.chapters())


def from_start(clip: Clip) -> bool:
    """Whether the selected frames are all of the source, or its first: other streams can end with them."""
    return clip.parts is None or (len(clip.parts) == 1 and clip.parts[0].start == 0)


@contextlib.contextmanager
def opened(clip: Clip) -> Iterator[InputContainer]:
    """The container of a clip's source, as long as it is needed."""
    with closing(open_source(clip.path)) as file, closing(open_container(file, AvFile(file))) as source:
        yield source


def weight(clip: Clip, format: str) -> Weight:
    """The bytes that a file of that format will have beside the video's; reads the source once."""
    frames = clip.frames or 0
    alone = Weight(0, _HEAD + _OF_STREAM + _OF_PACKET * frames)
    if clip.info.kind != "container" or not from_start(clip):
        return alone
    with opened(clip) as source:
        _, kept, _ = beside(source, clip, format)
        copied = sum(len(stream.data) for stream in kept if isinstance(stream, AttachmentStream))
        packets = 0
        streams = [stream for stream in kept if not isinstance(stream, AttachmentStream)]
        start = Fraction(source.start_time or 0, av.time_base)
        end = None if clip.parts is None else start + frames / clip.rate
        for packet in source.demux(streams) if streams else ():
            if packet.dts is None or not packet.size:
                continue
            past = Fraction(0) if end is None else packet.dts * packet.time_base - end
            if past > INTERLEAVED:
                break
            if past <= 0:
                copied += packet.size
                packets += 1
        return Weight(copied, alone.container + _OF_STREAM * len(kept) + _OF_PACKET * packets)


def described(stream: Stream) -> str:
    """`subtitle stream 2 (srt, fre)`, for people."""
    name = stream.metadata.get("filename", "unknown codec")
    if stream.codec_context is not None:
        name = stream.codec_context.name
    language = f", {stream.language}" if stream.language else ""
    kind = "cover picture" if stream.disposition & Disposition.attached_pic else stream.type
    return f"{kind} stream {stream.index} ({name}{language})"


def text_codec(format: str, stream: Stream) -> str | None:
    """The codec that text subtitles are converted to for a file of that format; None: copied as they are."""
    if stream.type != "subtitle" or stream.codec_context is None:
        return None
    codec, held = stream.codec_context.codec.canonical_name, _TEXT_OF.get(format)
    return held if codec in _TEXT and codec != held else None


def _holds(format: str, stream: Stream) -> bool:
    """Whether a file of that format can hold a stream: a copy's header is written to find out."""
    if text_codec(format, stream):
        return True
    if isinstance(stream, AttachmentStream):
        return format == "matroska"
    if stream.type not in _COPIED:
        return False
    trial = av.open(io.BytesIO(), "w", format=format)
    try:
        trial.add_stream_from_template(stream, opaque=True)
        trial.start_encoding()
    except (*AV_ERRORS, AttributeError):
        return False
    finally:
        with contextlib.suppress(*AV_ERRORS):
            trial.close()
    return True

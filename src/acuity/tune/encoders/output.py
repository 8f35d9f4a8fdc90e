"""Writes the final file: the encoded video, and sound, subtitles, chapters and metadata of the source."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import av
from av.container import InputContainer, OutputContainer
from av.stream import AttachmentStream, Stream
from av.subtitles.codeccontext import SubtitleCodecContext
from av.subtitles.stream import SubtitleStream
from av.video.stream import VideoStream

from acuity.errors import OutputError, TuneError
from acuity.report.write import check_output, check_room, written_beside
from acuity.text import one_line, quoted
from acuity.tune.clip import Clip, Times
from acuity.tune.encoders import Encoder
from acuity.tune.encoders.beside import INTERLEAVED, beside, described, from_start, opened, text_codec
from acuity.tune.encoders.encoding import Encoding, Packet, packet_of
from acuity.tune.values import check_new
from acuity.video.local_file import restricted
from acuity.video.readers.av_open import AV_ERRORS, reason

if TYPE_CHECKING:
    from av.container.core import Chapter

_INDEX_FIRST: Final = {"movflags": "+faststart"}
_SAME_BYTES: Final = {"fflags": "+bitexact"}  # no random numbers, so that the same encode is the same file
_OPTIONS: Final = {"mp4": _INDEX_FIRST, "mov": _INDEX_FIRST, "matroska": _SAME_BYTES, "webm": _SAME_BYTES}
_TAGS: Final = {("mp4", "hevc"): "hvc1", ("mov", "hevc"): "hvc1"}  # Apple's players want this one

# Entries that describe the old file, not the work.
_TECHNICAL: Final = ("major_brand", "minor_version", "compatible_brands", "encoder", "duration", "bps")
_STATISTICS: Final = ("number_of_", "_statistics")
_TICKS: Final = Fraction(1, 90000)  # of times that aren't even
_FINEST: Final = 10_000_000  # ticks a second
_SAME_TIME: Final = Fraction(1, 100_000)  # seconds: the start of a container is known to a millionth
_VIDEO: Final = "video"
_STEP: Final = 64 << 20  # bytes after which room is looked for again


def check_video_file(
    out: str | os.PathLike[str], clip: Clip, encoder: Encoder, *, overwrite: bool = False
) -> str:
    """FFmpeg's name of the format of a file to write; raises OutputError or TuneError before the work."""
    name = os.fspath(out)
    format = encoder.format_of(name)
    if os.path.exists(name) and os.path.samefile(name, clip.path):
        raise OutputError(f"'{name}' is the source itself: choose another name")
    check_new(name, overwrite)
    check_output(name, _VIDEO)
    return format


class _Copied(NamedTuple):
    source: Stream
    copy: Stream
    text: SubtitleCodecContext | None = None  # writes subtitles that are converted


@contextlib.contextmanager
def video_file(
    out: str | os.PathLike[str], clip: Clip, encoder: Encoder, *, overwrite: bool = False
) -> Iterator[VideoFile]:
    """A file being written, which appears when the block has ended; after an error nothing is left of it.

    with video_file("out.mp4", clip, encoder) as file:
        measure(clip, settings, 28, sink=file)
    """
    name, format = os.fspath(out), check_video_file(out, clip, encoder, overwrite=overwrite)
    check_room(name, 0)
    with contextlib.ExitStack() as stack:
        # A process that serves clients writes only what doesn't exist, where it was allowed to.
        temporary = stack.enter_context(written_beside(name, _VIDEO, new=restricted()))
        container = av.open(temporary, "w", format=format, container_options=_OPTIONS[format])
        stack.callback(_close, container)
        source = stack.enter_context(opened(clip)) if clip.info.kind == "container" else None
        file = VideoFile(name, format, clip, encoder.codec, container, source)
        yield file
        file.finish()


def _close(container: OutputContainer) -> None:
    with contextlib.suppress(*AV_ERRORS):
        container.close()


class VideoFile:
    """A file being written; a sink for measure(). `notes` says what of the source the file can't hold."""

    def __init__(
        self,
        out: str,
        format: str,
        clip: Clip,
        codec: str,
        container: OutputContainer,
        source: InputContainer | None,
    ) -> None:
        self._out, self._format, self._clip, self._codec = out, format, clip, codec
        self._container, self._source = container, source
        self.notes: list[str] = []
        self._video: VideoStream | None = None
        self._times: Times | None = None
        self._copied: dict[int, _Copied] = {}
        self._others: Iterator[av.Packet[Stream]] = iter(())
        self._waiting: av.Packet[Stream] | None = None
        self._offset = Fraction(0)  # of the source's clock
        self._base = _TICKS  # of the video's times
        self._frames = 0  # written so far
        self._bytes = self._checked = 0  # written so far, and when room was last looked for
        if source is None:
            return
        if not from_start(clip):
            if len(source.streams) > 1:
                self.notes.append("only parts of the source are encoded, so nothing but its video is copied")
            self._source = None
            return
        self._offset = Fraction(source.start_time or 0, av.time_base)
        container.metadata.update(_kept(source.metadata))
        if chapters := source.chapters():
            container.set_chapters([moved for chapter in chapters if (moved := self._moved(chapter))])

    def begin(self, encoding: Encoding, times: Times) -> None:
        """Write the header; later encodes of the same stream may begin, too."""
        if self._video is not None:
            return
        self._times = times
        template = encoding.template()
        video = self._container.add_stream_from_template(template, opaque=True)
        if encoding.extradata:
            video.codec_context.extradata = encoding.extradata
        if tag := _TAGS.get((self._format, self._codec)):
            video.codec_context.codec_tag = tag
        self._base = self._time_base(times)
        video.time_base = self._base
        self._video = video
        self._copy_streams()
        with self._writing():
            self._container.start_encoding()

    def __call__(self, packet: Packet) -> None:
        """Write a packet, and what the source has beside it until then."""
        assert self._video is not None
        assert self._times is not None
        assert packet.pts is not None
        pts, dts = packet.pts, packet.pts if packet.dts is None else packet.dts
        written = packet_of(packet)
        self._frames += 1
        base = self._base
        shown, decoded, after = (self._time(frame) for frame in (pts, dts, pts + 1))
        written.time_base = base
        written.pts, written.dts = round(shown / base), round(decoded / base)
        written.duration = max(round((after - shown) / base), 1)
        written.is_keyframe = packet.is_keyframe
        written.stream = self._video
        self._write_others(until=decoded)
        self._count(written.size)
        with self._writing():
            self._container.mux(written)

    def _time(self, frame: int) -> Fraction:
        assert self._times is not None
        return self._times.at(frame) - self._offset

    def _time_base(self, times: Times) -> Fraction:
        """A clock on which every frame has its exact time, so that sound and subtitles stay in step."""
        if not times.even:
            return _TICKS
        rate, start = self._clip.rate, times.at(0) - self._offset
        off_grid = abs(start - round(start * rate) / rate)
        if off_grid <= _SAME_TIME:
            return 1 / rate
        ticks = math.lcm(rate.numerator, start.limit_denominator(_FINEST).denominator)
        return Fraction(1, ticks) if ticks <= _FINEST else _TICKS

    def _moved(self, chapter: Chapter) -> Chapter | None:
        """A chapter by the file's clock; None if the frames end before it."""
        base = chapter["time_base"] or Fraction(1)
        start, end = (at - round(self._offset / base) for at in (chapter["start"], chapter["end"]))
        parts = self._clip.parts
        last = end if parts is None else math.ceil(parts[0].end / self._clip.rate / base)
        if parts is not None and start >= last:
            return None
        return {**chapter, "start": start, "end": min(end, last)}

    def _copy_streams(self) -> None:
        container, source, video = self._container, self._source, self._video
        assert video is not None
        if source is None:
            return
        main, kept, left_out = beside(source, self._clip, self._format)
        video.metadata.update(_kept(main.metadata))
        video.disposition = main.disposition
        if left_out:
            suffix = os.path.splitext(self._out)[1]
            names = "; ".join(described(stream) for stream in left_out)
            self.notes.append(f"left out, as a {suffix} file can't hold it here: {names}")
        for stream in kept:
            self._copy(container, stream)
        if self._copied:
            self._others = iter(source.demux([copied.source for copied in self._copied.values()]))

    def _copy(self, container: OutputContainer, stream: Stream) -> None:
        if isinstance(stream, AttachmentStream):
            name = stream.name or stream.metadata.get("filename", "attachment")
            container.add_attachment(name, stream.mimetype or "application/octet-stream", stream.data)
            return
        copied = self._text(container, stream) or _Copied(
            stream, container.add_stream_from_template(stream, opaque=True)
        )
        copied.copy.metadata.update(_kept(stream.metadata))
        copied.copy.disposition = stream.disposition
        self._copied[stream.index] = copied

    def _text(self, container: OutputContainer, stream: Stream) -> _Copied | None:
        """Add a stream for text subtitles that the file holds in another codec; None for other streams."""
        codec = text_codec(self._format, stream)
        if codec is None or not isinstance(stream, SubtitleStream):
            return None
        made = cast("SubtitleStream", container.add_stream(codec))
        made.time_base = stream.time_base
        stream.codec_context.open(strict=False)  # which writes the styles' header
        made.codec_context.subtitle_header = stream.codec_context.subtitle_header
        self.notes.append(f"{described(stream)} is converted to {codec}, as the file can't hold it otherwise")
        return _Copied(stream, made, made.codec_context)

    def _converted(self, packet: av.Packet[Stream], copied: _Copied) -> av.Packet[Stream] | None:
        """A subtitle in the file's codec; None if it can't be read, which a note says once."""
        assert copied.text is not None
        try:
            words = cast("SubtitleStream", copied.source).codec_context.decode2(packet)
            made = None if words is None else copied.text.encode_subtitle(words)
        except AV_ERRORS as error:
            note = f"some text of {described(copied.source)} is left out: {one_line(reason(error))}"
            self.notes += [] if note in self.notes else [note]
            return None
        if made is not None:
            made.time_base, made.pts, made.dts = packet.time_base, packet.pts, packet.dts
            made.duration = packet.duration
        return made

    def _write_others(self, until: Fraction | None, overdue: int = 0) -> None:
        """Write the packets of the other streams up to a time; None: all that are left.

        Packets of one time may be up to `overdue` seconds apart, so reading goes on until one is later.
        """
        while packet := self._waiting or next(self._others, None):
            self._waiting = None
            if packet.dts is None or not packet.size:  # the demuxer's end, or nothing to write
                continue
            late = Fraction(-1) if until is None else packet.dts * packet.time_base - self._offset - until
            if late < 0:
                self._write_copy(packet)
            elif not overdue:
                self._waiting = packet
                return
            elif late > overdue:
                return

    def _write_copy(self, packet: av.Packet[Stream]) -> None:
        assert packet.dts is not None
        copied = self._copied[packet.stream_index]
        if copied.text is not None:
            if (words := self._converted(packet, copied)) is None:
                return
            packet = words
        assert packet.dts is not None
        if self._clip.parts is not None and packet.duration:  # what begins before the end ends there, too
            left = self._time(self._clip.frames or 0) + self._offset - packet.dts * packet.time_base
            packet.duration = max(min(packet.duration, math.ceil(left / packet.time_base)), 1)
        shift = round(self._offset / packet.time_base)
        packet.dts -= shift
        if packet.pts is not None:
            packet.pts -= shift
        packet.stream = copied.copy
        self._count(packet.size)
        with self._writing():
            self._container.mux(packet)

    def _count(self, size: int) -> None:
        self._bytes += size
        if self._bytes - self._checked > _STEP:
            check_room(self._out, self._bytes)
            self._checked = self._bytes

    def finish(self) -> None:
        """Write what the source has beside the video until its end, and complete the file."""
        if self._video is None:
            raise TuneError(f"nothing was encoded into {quoted(self._out)}")
        if self._clip.parts is None:
            self._write_others(until=None)
        else:  # what begins before the last frame ends
            self._write_others(self._time(self._frames), overdue=INTERLEAVED)
        check_room(self._out, self._bytes)
        with self._writing():
            self._container.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except AV_ERRORS as error:
            said = one_line(reason(error))
            raise OutputError(f"the video {self._out!r} could not be written: {said}") from error


def _kept(metadata: dict[str, str]) -> dict[str, str]:
    """The entries that are still true of a new file."""
    return {
        name: value
        for name, value in metadata.items()
        if name.lower() not in _TECHNICAL and not name.lower().startswith(_STATISTICS)
    }

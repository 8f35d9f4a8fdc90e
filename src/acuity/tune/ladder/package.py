"""Packages a ladder: encodes its rungs into segments that players load, with HLS and DASH playlists of them.

    FOLDER/master.m3u8                                 all renditions, for HLS
    FOLDER/manifest.mpd                                the same, for DASH
    FOLDER/rendition_1280x720_1850k.m3u8               the segments of one
    FOLDER/rendition_1280x720_1850k/init.mp4, 00001.m4s, …
    FOLDER/audio.m3u8, audio/…                         the source's sound

The folder is written under another name beside, and renamed when all is complete.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from av.audio.stream import AudioStream
from av.stream import Disposition

from acuity.errors import AcuityError, OutputError, TuneError
from acuity.text import one_line
from acuity.tune.clip import Clip, Times
from acuity.tune.encoders.beside import opened
from acuity.tune.encoders.encode import PictureForm
from acuity.tune.encoders.encoding import Encoding, Packet
from acuity.tune.ladder.codec_string import stream_of
from acuity.tune.ladder.ladder import Ladder, LadderSample, variant
from acuity.tune.ladder.playlists import AudioTrack, Variant, dash, hls_media, hls_multivariant
from acuity.tune.ladder.segments import SegmentMuxer
from acuity.tune.points.point import Point
from acuity.tune.points.workbench import Workbench
from acuity.video.readers.av_open import AV_ERRORS, reason

HLS: Final = "master.m3u8"
DASH: Final = "manifest.mpd"
_TAGS: Final = {"h264": "avc1", "hevc": "hvc1", "av1": "av01", "vp9": "vp09"}


@dataclass(frozen=True, eq=False)
class Rendition:
    sample: LadderSample  # that it was chosen for
    variant: Variant
    point: Point  # of the encode itself
    vmaf: float

    def document(self) -> dict[str, Any]:
        """The rendition as plain values, what was predicted beside what was measured."""
        timeline = self.variant.timeline
        return {
            "name": self.variant.name,
            "width": self.variant.width,
            "height": self.variant.height,
            "crf": self.sample.crf,
            "codecs": self.variant.codecs,
            "vmaf": round(self.vmaf, 6),
            "predicted_vmaf": round(self.sample.vmaf, 6),
            "bitrate_kbps": round(self.point.bitrate_kbps, 3),
            "predicted_bitrate_kbps": round(self.sample.bitrate_kbps, 3),
            "bandwidth_bps": timeline.peak_bps,
            "average_bandwidth_bps": timeline.average_bps,
            "frames": self.point.frames,
            "segments": len(timeline.segments),
        }


@dataclass(frozen=True, eq=False)
class Package:
    folder: str
    renditions: list[Rendition]
    audio: AudioTrack | None
    notes: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {
            "folder": self.folder,
            "hls": HLS,
            "dash": DASH,
            "renditions": [rendition.document() for rendition in self.renditions],
            "audio": self.audio and {"codecs": self.audio.codecs, "language": self.audio.language},
            "notes": self.notes,
        }


def check_folder(folder: str | os.PathLike[str]) -> str:
    """The folder to write; raises OutputError, before long work, if it isn't new or empty."""
    path = os.path.abspath(os.fspath(folder))
    parent = os.path.dirname(path)
    if os.path.isdir(path):
        if os.listdir(path):
            raise OutputError(f"the folder '{path}' is not empty: name a new one")
    elif os.path.lexists(path):
        raise OutputError(f"'{path}' is a file: name a new folder")
    if not os.path.isdir(parent):
        raise OutputError(f"the folder '{parent}' does not exist, so create it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"nothing can be written into '{parent}': choose another folder")
    return path


def check_rate(clip: Clip) -> None:
    """Refuse a source of variable frame rate: its sound would drift from segments of an even one."""
    if clip.info.variable_rate:
        raise TuneError(
            f"the frame rate of '{clip.path}' varies, and segments need an even one: "
            "make it even first, or build the ladder without its renditions"
        )


def package_ladder(
    bench: Workbench,
    ladder: Ladder,
    folder: str | os.PathLike[str],
    *,
    clip: Clip | None = None,
    pool: str = "mean",
) -> Package:
    """Encode a ladder's rungs into a new folder. `clip`, if given, is encoded instead of the ladder's own."""
    clip = clip or ladder.clip
    check_rate(clip)
    path = check_folder(folder)
    with _beside(path) as temporary:
        renditions: list[Rendition] = []
        start = Fraction(0)
        bench.tally.plan(len(ladder.renditions))
        for sample in ladder.renditions:
            sink = _RungSink(clip, sample, os.path.join(temporary, ladder.name(sample)))
            assert sample.crf is not None
            with sink.muxer:
                point = bench.encode(clip, sample.settings, sample.crf, sink)
            made = sink.variant(ladder.name(sample), point)
            renditions.append(Rendition(sample, made, point, point.pool(method=pool)))
            start = sink.start
        seconds = ladder.renditions[0].segment / clip.rate
        audio, notes = copy_sound(clip, temporary, seconds, start, check=bench.check)
        _write_playlists(temporary, [rendition.variant for rendition in renditions], audio)
    return Package(path, renditions, audio, notes)


class _RungSink:
    def __init__(self, clip: Clip, sample: LadderSample, folder: str) -> None:
        self._clip = clip
        self._sample = sample
        self._extradata = self._first = b""  # headers, and the first packet
        self.start = Fraction(0)  # when the video begins in the source
        self.muxer = SegmentMuxer(folder, sample.segment / clip.rate)

    def begin(self, encoding: Encoding, times: Times) -> None:
        self.start = times.at(0)
        self._extradata = encoding.extradata
        tag = _TAGS.get(self._sample.settings.encoder.codec)
        self.muxer.add_stream(encoding.template(), 1 / self._clip.rate, extradata=encoding.extradata, tag=tag)

    def __call__(self, packet: Packet) -> None:
        assert packet.pts is not None
        self._first = self._first or bytes(packet)
        dts = packet.pts if packet.dts is None else packet.dts
        self.muxer.mux(packet, packet.pts, dts, 1, 1 / self._clip.rate)

    def variant(self, name: str, point: Point) -> Variant:
        """The rendition as playlists describe it, by the segments that were written."""
        clip, settings = self._clip, self._sample.settings
        form, rate = PictureForm.of(clip, settings), point.bitrate_kbps
        head = stream_of(settings, form, self._extradata, self._first, clip.rate, rate)
        return variant(name, clip, self._sample, head, self.muxer.timeline)


def _write_playlists(folder: str, variants: list[Variant], audio: AudioTrack | None) -> None:
    files = {HLS: hls_multivariant(variants, audio), DASH: dash(variants, audio)}
    tracks: list[Variant | AudioTrack] = [*variants, *([] if audio is None else [audio])]
    for track in tracks:
        files[f"{track.name}.m3u8"] = hls_media(track.name, track.timeline)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)


@contextlib.contextmanager
def _beside(path: str) -> Iterator[str]:
    """A temporary folder beside `path`, renamed to it at the end; a failure or interrupt removes it."""
    parent, name = os.path.split(path)
    temporary = os.path.join(parent, f".{name[:100]}.{os.urandom(4).hex()}.tmp")
    try:
        os.mkdir(temporary)
        yield temporary
        os.rename(temporary, path)  # over an empty folder, if there is one
    except OutputError:
        raise  # it is an OSError, too, and says what it is about
    except OSError as error:
        raise OutputError(f"the folder '{path}' could not be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


# ---- sound -----------------------------------------------------------------------------------------


NAME: Final = "audio"
_FRAGMENT: Final = Fraction(1, 2)  # seconds: segments of sound begin at most so long after those of the video


def copy_sound(
    clip: Clip, folder: str, seconds: Fraction, start: Fraction, check: Callable[[], None]
) -> tuple[AudioTrack | None, list[str]]:
    """Copy the source's default sound into `folder` as segments; returns the track, and notes about it.

    `start` is when the video begins in the source; `check` is called with each packet, and may raise.
    """
    if clip.info.kind != "container":
        return None, []
    with opened(clip) as container:
        streams = container.streams.audio
        if not streams:
            return None, []
        stream = next((one for one in streams if one.disposition & Disposition.default), streams[0])
        codec = stream.codec_context.name
        name = _NAMES.get(codec)
        if codec == "aac":
            name = _aac(stream.codec_context.extradata or b"")
        if clip.parts is not None:
            return None, ["only parts of the source are encoded, so its sound is left out"]
        if name is None:
            why = f"segments can't hold {codec} here, so convert it to AAC"
            if codec == "aac":
                why = f"its {codec} has no header, so remux the source to MP4"
            return None, [f"the source's sound is left out: {why}"]
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


# Codecs besides AAC that fragmented MP4 holds and players know, and how playlists call them.
_NAMES: Final = {
    **dict.fromkeys(("mp3", "mp3float"), "mp4a.40.34"),
    "ac3": "ac-3",
    "eac3": "ec-3",
    "opus": "Opus",
    "flac": "fLaC",
}

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
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import OutputError, TuneError
from acuity.tune.clip import Clip, Times
from acuity.tune.encoders.encode import Target
from acuity.tune.ladder.codec_string import Stream, codec_string
from acuity.tune.ladder.ladder import Ladder, Sample
from acuity.tune.ladder.playlists import AudioTrack, Variant, dash, hls_media, hls_multivariant
from acuity.tune.ladder.segments import SegmentMuxer
from acuity.tune.ladder.sound import copy_sound
from acuity.tune.ladder.stream_head import colour_numbers
from acuity.tune.progress import Stopped

if TYPE_CHECKING:
    from acuity.tune.encoders.encoding import Encoding, Packet
    from acuity.tune.points.point import Point
    from acuity.tune.points.workbench import Workbench

HLS: Final = "master.m3u8"
DASH: Final = "manifest.mpd"
_TAGS: Final = {"h264": "avc1", "hevc": "hvc1", "av1": "av01", "vp9": "vp09"}


@dataclass(frozen=True, eq=False)
class Rendition:
    """A rung that was encoded into segments."""

    sample: Sample  # that it was chosen for
    variant: Variant
    point: Point  # of the encode itself
    vmaf: float

    def document(self) -> dict[str, Any]:
        """The rendition as plain values, what was predicted beside what was measured."""
        timeline = self.variant.timeline
        assert timeline is not None
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
            "bandwidth_bps": self.variant.peak_bps,
            "average_bandwidth_bps": self.variant.average_bps,
            "frames": self.point.frames,
            "segments": len(timeline.segments),
        }


@dataclass(frozen=True, eq=False)
class Package:
    """A folder with everything that a player needs."""

    folder: str
    renditions: list[Rendition]
    audio: AudioTrack | None
    notes: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """The package as plain values."""
        return {
            "folder": self.folder,
            "hls": HLS,
            "dash": DASH,
            "renditions": [rendition.document() for rendition in self.renditions],
            "audio": None
            if self.audio is None
            else {"codecs": self.audio.codecs, "language": self.audio.language},
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
    """Encode a ladder's rungs into a new folder. `clip` is what is encoded, if not what was sampled."""
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
            variant = sink.variant(ladder.name(sample), point)
            renditions.append(Rendition(sample, variant, point, point.pool(method=pool)))
            start = sink.start

        def check() -> None:
            if bench.stopped:
                raise Stopped

        seconds = ladder.renditions[0].segment / clip.rate
        audio, notes = copy_sound(clip, temporary, seconds, start, check=check)
        _write_playlists(temporary, [rendition.variant for rendition in renditions], audio)
    return Package(path, renditions, audio, notes)


class _RungSink:
    """Takes the packets of one rung's encode."""

    def __init__(self, clip: Clip, sample: Sample, folder: str) -> None:
        self._clip = clip
        self._sample = sample
        self._codec = sample.settings.encoder.codec
        self._head: Stream | None = None
        self._extradata = b""
        self.start = Fraction(0)  # when the video begins in the source
        self.muxer = SegmentMuxer(folder, sample.segment / clip.rate)

    def begin(self, encoding: Encoding, times: Times) -> None:
        self.start = times.at(0)
        self._extradata = encoding.extradata
        self.muxer.add_stream(
            encoding.template(), 1 / self._clip.rate, extradata=encoding.extradata, tag=_TAGS.get(self._codec)
        )

    def __call__(self, packet: Packet) -> None:
        assert packet.pts is not None
        if self._head is None:
            target = Target.of(self._clip, self._sample.settings)
            self._head = Stream(
                self._codec,
                self._extradata,
                bytes(packet),
                target.width,
                target.height,
                self._clip.rate,
                self._sample.bitrate_kbps,
                colour_numbers(target),
                bool(target.full_range),
            )
        dts = packet.pts if packet.dts is None else packet.dts
        self.muxer.mux(packet, packet.pts, dts, 1, 1 / self._clip.rate)

    def variant(self, name: str, point: Point) -> Variant:
        """The rendition as playlists describe it, by the segments that were written."""
        assert self._head is not None
        target = Target.of(self._clip, self._sample.settings)
        timeline = self.muxer.timeline
        return Variant(
            name,
            self._sample.width,
            self._sample.height,
            self._clip.rate,
            codec_string(self._head._replace(bitrate_kbps=point.bitrate_kbps)),
            timeline.average_bps,
            timeline.peak_bps,
            timeline.seconds,
            target.aspect or Fraction(1),
            target.transfer,
            colour_numbers(target),
            timeline,
        )


def _write_playlists(folder: str, variants: list[Variant], audio: AudioTrack | None) -> None:
    files = {HLS: hls_multivariant(variants, audio), DASH: dash(variants, audio)}
    for variant in variants:
        assert variant.timeline is not None
        files[f"{variant.name}.m3u8"] = hls_media(variant.name, variant.timeline)
    if audio is not None:
        files[f"{audio.name}.m3u8"] = hls_media(audio.name, audio.timeline)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)


@contextlib.contextmanager
def _beside(path: str) -> Iterator[str]:
    """A folder beside that gets the name at the end; on failure or interrupt nothing is left of it."""
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

"""Playlists of a ladder for players: HLS (RFC 8216) and MPEG-DASH (ISO/IEC 23009-1).

A variant whose segments exist is described by them: its bandwidth is the peak over segments and its
durations are exact. One that is only planned is described by the sample that it was chosen for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Final, NamedTuple
from xml.sax.saxutils import quoteattr

_HLS_VERSION: Final = 6  # the lowest with EXT-X-MAP, which fragmented MP4 needs
_AUDIO_GROUP: Final = "audio"
_RANGES: Final = {"smpte2084": "PQ", "arib-std-b67": "HLG"}  # transfer -> HLS's word
_SCHEME: Final = "urn:mpeg:mpegB:cicp"
_ON_DEMAND: Final = "urn:mpeg:dash:profile:isoff-on-demand:2011"
_SEGMENTS: Final = "urn:mpeg:dash:profile:isoff-live:2011"

INIT: Final = "init.mp4"
MEDIA: Final = "{number:05d}.m4s"


class MediaSegment(NamedTuple):
    """A piece of a stream that a player asks for by itself."""

    ticks: int  # its length in units of the stream's timescale
    bytes: int


@dataclass(frozen=True, slots=True)
class SegmentTimes:
    """The segments of a stream, and the unit of their lengths."""

    timescale: int  # ticks a second
    segments: tuple[MediaSegment, ...]

    @property
    def seconds(self) -> Fraction:
        return Fraction(sum(segment.ticks for segment in self.segments), self.timescale)

    @property
    def average_bps(self) -> int:
        return math.ceil(sum(segment.bytes for segment in self.segments) * 8 / self.seconds)

    @property
    def target_seconds(self) -> int:
        """The longest segment, rounded up to a second."""
        return math.ceil(max(Fraction(segment.ticks, self.timescale) for segment in self.segments))

    @property
    def peak_bps(self) -> int:
        """The highest bitrate of successive segments that last half to one and a half times the longest.

        That is RFC 8216's peak: a short rest at the end counts together with the segment before it.
        """
        longest = max(segment.ticks for segment in self.segments)
        best = Fraction(self.average_bps)
        for first in range(len(self.segments)):
            ticks = size = 0
            for segment in self.segments[first:]:
                ticks += segment.ticks
                size += segment.bytes
                if ticks * 2 > longest * 3:
                    break
                if ticks * 2 >= longest:
                    best = max(best, Fraction(size * 8 * self.timescale, ticks))
        return math.ceil(best)


@dataclass(frozen=True, slots=True)
class Variant:
    name: str  # of its playlist and its folder
    width: int
    height: int
    rate: Fraction
    codecs: str
    timeline: SegmentTimes
    planned: bool = False  # whether its segments aren't there: the timeline is that of the sample
    aspect: Fraction = Fraction(1)  # of a sample
    transfer: str | None = None
    colour: tuple[int, int, int] = (2, 2, 2)  # primaries, transfer, matrix by ITU-T H.273's numbers


@dataclass(frozen=True, slots=True)
class AudioTrack:
    name: str
    codecs: str
    sample_rate: int
    channels: int
    timeline: SegmentTimes
    language: str | None = None


def rendition_name(width: int, height: int, bitrate_kbps: float) -> str:
    """`rendition_1280x720_1850k`."""
    return f"rendition_{width}x{height}_{round(bitrate_kbps)}k"


def video_range(transfer: str | None) -> str:
    return _RANGES.get(transfer or "", "SDR")


# HLS --------------------------------------------------------------------------------------------------------


def hls_multivariant(variants: Iterable[Variant], audio: AudioTrack | None = None) -> str:
    lines = ["#EXTM3U", f"#EXT-X-VERSION:{_HLS_VERSION}", "#EXT-X-INDEPENDENT-SEGMENTS"]
    if audio is not None:
        language = f',LANGUAGE="{audio.language}"' if audio.language else ""
        lines.append(
            f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="{_AUDIO_GROUP}",NAME="{audio.language or "audio"}"{language},'
            f'DEFAULT=YES,AUTOSELECT=YES,CHANNELS="{audio.channels}",URI="{audio.name}.m3u8"'
        )
    for variant in variants:
        peak, average = variant.timeline.peak_bps, variant.timeline.average_bps
        codecs = variant.codecs
        if audio is not None:  # what a player loads for a variant is both
            peak += audio.timeline.peak_bps
            average += audio.timeline.average_bps
            codecs += f",{audio.codecs}"
        attributes = [
            f"BANDWIDTH={peak}",
            f"AVERAGE-BANDWIDTH={average}",
            f"RESOLUTION={variant.width}x{variant.height}",
            f"FRAME-RATE={float(variant.rate):.3f}",
            f'CODECS="{codecs}"',
            f"VIDEO-RANGE={video_range(variant.transfer)}",
        ]
        if audio is not None:
            attributes.append(f'AUDIO="{_AUDIO_GROUP}"')
        lines += [f"#EXT-X-STREAM-INF:{','.join(attributes)}", f"{variant.name}.m3u8"]
    return "\n".join(lines) + "\n"


def hls_media(name: str, timeline: SegmentTimes) -> str:
    lines = ["#EXTM3U", f"#EXT-X-VERSION:{_HLS_VERSION}", f"#EXT-X-TARGETDURATION:{timeline.target_seconds}"]
    lines += ["#EXT-X-MEDIA-SEQUENCE:0", "#EXT-X-PLAYLIST-TYPE:VOD", "#EXT-X-INDEPENDENT-SEGMENTS"]
    lines.append(f'#EXT-X-MAP:URI="{name}/{INIT}"')
    for number, segment in enumerate(timeline.segments, 1):
        seconds = Fraction(segment.ticks, timeline.timescale)
        lines += [f"#EXTINF:{float(seconds):.6f},", f"{name}/{MEDIA.format(number=number)}"]
    return "\n".join([*lines, "#EXT-X-ENDLIST"]) + "\n"


# DASH -------------------------------------------------------------------------------------------------------


def dash(variants: Sequence[Variant], audio: AudioTrack | None = None) -> str:
    real = [variant.timeline for variant in variants if not variant.planned]
    seconds = max(variant.timeline.seconds for variant in variants)
    longest = max((timeline.target_seconds for timeline in real), default=None)
    head = _open(
        "MPD",
        xmlns="urn:mpeg:dash:schema:mpd:2011",
        profiles=_SEGMENTS if real else _ON_DEMAND,
        type="static",
        mediaPresentationDuration=f"PT{float(seconds):.6f}".rstrip("0").rstrip(".") + "S",
        maxSegmentDuration=None if longest is None else f"PT{longest}S",
        minBufferTime=f"PT{longest or 2}S",
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head, '  <Period id="0" start="PT0S">']
    lines += _video_set(variants)
    if audio is not None:
        lines += _audio_set(audio)
    return "\n".join([*lines, "  </Period>", "</MPD>"]) + "\n"


def _video_set(variants: Sequence[Variant]) -> list[str]:
    first = variants[0]
    width, height = (max(sizes) for sizes in zip(*((v.width, v.height) for v in variants), strict=True))
    aligned = {"segmentAlignment": "true", "startWithSAP": 1, "maxWidth": width, "maxHeight": height}
    rate = _ratio(first.rate, "/")
    whole = _open("AdaptationSet", id=0, contentType="video", mimeType="video/mp4", **aligned, frameRate=rate)
    lines = [f"    {whole}", *_colour(first)]
    for one in variants:
        shape = {"width": one.width, "height": one.height, "sar": _ratio(one.aspect, ":", whole=False)}
        opened = _open(
            "Representation", id=one.name, codecs=one.codecs, **shape, bandwidth=one.timeline.peak_bps
        )
        lines.append(f"      {opened}")
        if one.planned:
            lines.append(f"        <BaseURL>{one.name}.mp4</BaseURL>")
        else:
            lines += _template(one.timeline)
        lines.append("      </Representation>")
    return [*lines, "    </AdaptationSet>"]


def _audio_set(audio: AudioTrack) -> list[str]:
    kind = {"contentType": "audio", "mimeType": "audio/mp4", "lang": audio.language}
    sound = {"audioSamplingRate": audio.sample_rate, "bandwidth": audio.timeline.peak_bps}
    channels = "urn:mpeg:dash:23003:3:audio_channel_configuration:2011"
    return [
        "    " + _open("AdaptationSet", id=1, **kind, segmentAlignment="true", startWithSAP=1),
        "      " + _open("Representation", id=audio.name, codecs=audio.codecs, **sound),
        "        " + _closed("AudioChannelConfiguration", schemeIdUri=channels, value=audio.channels),
        *_template(audio.timeline),
        "      </Representation>",
        "    </AdaptationSet>",
    ]


def _template(timeline: SegmentTimes) -> list[str]:
    """The names and lengths of the segments; successive segments of one length share a line."""
    names = {"initialization": f"$RepresentationID$/{INIT}", "media": "$RepresentationID$/$Number%05d$.m4s"}
    head = _open("SegmentTemplate", timescale=timeline.timescale, **names, startNumber=1)
    lines = [f"        {head}", "          <SegmentTimeline>"]
    start = 0
    for ticks, equal in groupby(segment.ticks for segment in timeline.segments):
        count = len(list(equal))
        run = _closed("S", t=None if start else 0, d=ticks, r=count - 1 if count > 1 else None)
        lines.append(f"            {run}")
        start += ticks * count
    return [*lines, "          </SegmentTimeline>", "        </SegmentTemplate>"]


def _colour(variant: Variant) -> list[str]:
    """The colour tags of HDR. A player that doesn't know PQ must not play it; HLG looks fair without."""
    kind = {"PQ": "EssentialProperty", "HLG": "SupplementalProperty"}.get(video_range(variant.transfer))
    if kind is None:
        return []
    names = ("ColourPrimaries", "TransferCharacteristics", "MatrixCoefficients")
    return [
        "      " + _closed(kind, schemeIdUri=f"{_SCHEME}:{name}", value=number)
        for name, number in zip(names, variant.colour, strict=True)
    ]


def _open(tag: str, **attributes: object) -> str:
    said = (f" {name}={quoteattr(str(value))}" for name, value in attributes.items() if value is not None)
    return f"<{tag}{''.join(said)}>"


def _closed(tag: str, **attributes: object) -> str:
    return f"{_open(tag, **attributes)[:-1]}/>"


def _ratio(value: Fraction, sign: str, whole: bool = True) -> str:
    alone = whole and value.denominator == 1
    return str(value.numerator) if alone else f"{value.numerator}{sign}{value.denominator}"

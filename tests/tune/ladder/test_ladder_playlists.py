"""Playlists, read by parsers that others wrote: every figure comes back as it was put in."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.tune.ladder.playlists import (
    AudioTrack,
    MediaSegment,
    SegmentTimes,
    Variant,
    dash,
    hls_media,
    hls_multivariant,
    rendition_name,
)

m3u8 = pytest.importorskip("m3u8", reason="m3u8 is not installed")
mpegdash = pytest.importorskip("mpegdash.parser", reason="mpegdash is not installed")

RATE = Fraction(30000, 1001)
FOUR, REST = 120 * 1001, 31 * 1001
TIMELINE = SegmentTimes(
    30000, (MediaSegment(FOUR, 400_000), MediaSegment(FOUR, 200_000), MediaSegment(REST, 120_000))
)
PLANNED = Variant(rendition_name(1280, 720, 812.4), 1280, 720, RATE, "avc1.64001f", TIMELINE, planned=True)
REAL = replace(PLANNED, planned=False)
SMALL = replace(REAL, name=rendition_name(640, 360, 200), width=640, height=360, codecs="avc1.64001e")
SOUND = AudioTrack(
    "audio",
    "mp4a.40.2",
    48000,
    2,
    SegmentTimes(48000, (MediaSegment(192_512, 64_000), MediaSegment(24_576, 8_000))),
    "de",
)


def test_hls_variants() -> None:
    playlist = m3u8.loads(hls_multivariant([SMALL, REAL]))
    assert playlist.is_variant
    assert playlist.version == 6
    assert playlist.is_independent_segments
    small, large = (entry.stream_info for entry in playlist.playlists)
    assert small.resolution == (640, 360)
    assert large.resolution == (1280, 720)
    assert large.bandwidth == TIMELINE.peak_bps
    assert large.average_bandwidth == TIMELINE.average_bps
    assert large.codecs == "avc1.64001f"
    assert large.frame_rate == pytest.approx(29.970)
    assert large.video_range == "SDR"
    assert [entry.uri for entry in playlist.playlists] == [
        "rendition_640x360_200k.m3u8",
        "rendition_1280x720_812k.m3u8",
    ]


def test_hls_with_sound() -> None:
    playlist = m3u8.loads(hls_multivariant([REAL], SOUND))
    (media,) = playlist.media
    assert (media.type, media.uri, media.language, media.channels) == ("AUDIO", "audio.m3u8", "de", "2")
    stream = playlist.playlists[0].stream_info
    assert stream.codecs == "avc1.64001f,mp4a.40.2"
    assert stream.audio == media.group_id
    assert stream.bandwidth == TIMELINE.peak_bps + SOUND.timeline.peak_bps


@pytest.mark.parametrize(
    ("transfer", "said"), [("smpte2084", "PQ"), ("arib-std-b67", "HLG"), ("bt709", "SDR"), (None, "SDR")]
)
def test_hls_names_the_range(transfer: str | None, said: str) -> None:
    playlist = m3u8.loads(hls_multivariant([replace(REAL, transfer=transfer)]))
    assert playlist.playlists[0].stream_info.video_range == said


def test_hls_segments() -> None:
    playlist = m3u8.loads(hls_media("x", TIMELINE))
    assert not playlist.is_variant
    assert playlist.is_endlist
    assert playlist.playlist_type == "vod"
    assert playlist.target_duration == 5
    assert [segment.uri for segment in playlist.segments] == ["x/00001.m4s", "x/00002.m4s", "x/00003.m4s"]
    assert [segment.duration for segment in playlist.segments] == [4.004, 4.004, 1.034367]
    assert playlist.segments[0].init_section.uri == "x/init.mp4"


def parsed(text: str) -> Any:
    return mpegdash.MPEGDASHParser.parse(text)


def test_dash_over_segments() -> None:
    mpd = parsed(dash([SMALL, REAL], SOUND))
    assert mpd.type == "static"
    assert mpd.profiles == "urn:mpeg:dash:profile:isoff-live:2011"
    assert mpd.media_presentation_duration == "PT9.042367S"
    video, audio = mpd.periods[0].adaptation_sets
    assert video.frame_rate == "30000/1001"
    small, large = video.representations
    assert (large.width, large.height, large.sar, large.codecs) == (1280, 720, "1:1", "avc1.64001f")
    assert large.bandwidth == TIMELINE.peak_bps
    assert small.id == "rendition_640x360_200k"
    template = large.segment_templates[0]
    assert (template.timescale, template.start_number) == (30000, 1)
    assert template.media == "$RepresentationID$/$Number%05d$.m4s"
    runs = template.segment_timelines[0].Ss
    assert [(run.t, run.d, run.r) for run in runs] == [(0, FOUR, 1), (None, REST, None)]
    assert audio.lang == "de"
    assert audio.representations[0].audio_sampling_rate == "48000"


def test_dash_of_a_plan() -> None:
    text = dash([PLANNED])
    (representation,) = parsed(text).periods[0].adaptation_sets[0].representations
    assert representation.base_urls[0].base_url_value == "rendition_1280x720_812k.mp4"
    assert "maxSegmentDuration" not in text


@pytest.mark.parametrize(
    ("transfer", "kind", "colour"),
    [
        ("smpte2084", "essential_properties", (9, 16, 9)),
        ("arib-std-b67", "supplemental_properties", (9, 18, 9)),
    ],
)
def test_dash_describes_hdr(transfer: str, kind: str, colour: tuple[int, int, int]) -> None:
    text = dash([replace(REAL, transfer=transfer, colour=colour)])
    video = parsed(text).periods[0].adaptation_sets[0]
    found = re.findall(r'<(\w+)Property schemeIdUri="urn:mpeg:mpegB:cicp:(\w+)" value="(\d+)"/>', text)
    assert [int(value) for _, _, value in found] == list(colour)
    assert len({name for _, name, _ in found}) == 3
    assert found[0][0].lower() + "_properties" == kind
    assert video is not None
    assert "cicp" not in dash([REAL])


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(1, 10**6)), min_size=1, max_size=12))
def test_the_peak_is_between_the_average_and_the_highest_segment(sizes: list[tuple[int, int]]) -> None:
    timeline = SegmentTimes(25, tuple(MediaSegment(*size) for size in sizes))
    highest = max(Fraction(size * 8 * 25, ticks) for ticks, size in sizes)
    assert timeline.average_bps <= timeline.peak_bps <= highest + 1


def test_a_short_rest_is_no_peak_of_its_own() -> None:
    timeline = SegmentTimes(25, (MediaSegment(100, 1000), MediaSegment(1, 900)))
    assert timeline.peak_bps == -(-1900 * 8 * 25 // 101)
    assert SegmentTimes(25, (MediaSegment(100, 1000), MediaSegment(60, 900))).peak_bps == 900 * 8 * 25 / 60

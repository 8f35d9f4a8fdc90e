"""Playlists, read by parsers that others wrote: every figure comes back as it was put in."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import TuneError
from acuity.tune.ladder.codec_string import EncodedStream, codec_string
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
HEARD = SegmentTimes(48000, (MediaSegment(192_512, 64_000), MediaSegment(24_576, 8_000)))
SOUND = AudioTrack("audio", "mp4a.40.2", 48000, 2, HEARD, "de")


def test_hls_variants() -> None:
    playlist = m3u8.loads(hls_multivariant([SMALL, REAL]))
    assert (playlist.is_variant, playlist.version, playlist.is_independent_segments) == (True, 6, True)
    small, large = (entry.stream_info for entry in playlist.playlists)
    assert (small.resolution, large.resolution) == ((640, 360), (1280, 720))
    assert (large.bandwidth, large.average_bandwidth) == (TIMELINE.peak_bps, TIMELINE.average_bps)
    assert large.codecs == "avc1.64001f"
    assert large.frame_rate == pytest.approx(29.970)
    names = [entry.uri for entry in playlist.playlists]
    assert names == ["rendition_640x360_200k.m3u8", "rendition_1280x720_812k.m3u8"]


def test_hls_with_sound() -> None:
    playlist = m3u8.loads(hls_multivariant([REAL], SOUND))
    (media,) = playlist.media
    assert (media.type, media.uri, media.language, media.channels) == ("AUDIO", "audio.m3u8", "de", "2")
    stream = playlist.playlists[0].stream_info
    assert stream.codecs == "avc1.64001f,mp4a.40.2"
    assert stream.audio == media.group_id
    assert stream.bandwidth == TIMELINE.peak_bps + SOUND.timeline.peak_bps


def test_hls_names_the_range() -> None:
    transfers = ("smpte2084", "arib-std-b67", "bt709", None)
    playlist = m3u8.loads(hls_multivariant([replace(REAL, transfer=transfer) for transfer in transfers]))
    found = [entry.stream_info.video_range for entry in playlist.playlists]
    assert found == ["PQ", "HLG", "SDR", "SDR"]


def test_hls_segments() -> None:
    playlist = m3u8.loads(hls_media("x", TIMELINE))
    assert (playlist.is_variant, playlist.is_endlist, playlist.playlist_type) == (False, True, "vod")
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
    [("smpte2084", "Essential", (9, 16, 9)), ("arib-std-b67", "Supplemental", (9, 18, 9))],
)
def test_dash_describes_hdr(transfer: str, kind: str, colour: tuple[int, int, int]) -> None:
    text = dash([replace(REAL, transfer=transfer, colour=colour)])
    assert len(parsed(text).periods[0].adaptation_sets) == 1
    found = re.findall(r'<(\w+)Property schemeIdUri="urn:mpeg:mpegB:cicp:(\w+)" value="(\d+)"/>', text)
    assert [(said, int(value)) for said, _, value in found] == [(kind, number) for number in colour]
    assert len({name for _, name, _ in found}) == 3
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


# ---- Names of codecs: as FFmpeg's DASH muxer writes them for the same streams, and as ----


CODECS = {"libx264": "h264", "libx265": "hevc", "libsvtav1": "av1", "libvpx-vp9": "vp9"}
OPTIONS = {
    "libx264": {"preset": "ultrafast"},
    "libx265": {"preset": "ultrafast", "x265-params": "log-level=0:pools=1"},
    "libsvtav1": {"preset": "12", "svtav1-params": "lp=1"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8"},
}
UNSAID, PQ = (2, 2, 2), (9, 16, 9)


class Shape(NamedTuple):
    width: int
    height: int
    rate: int


LITTLE, LARGE = Shape(160, 96, 25), Shape(640, 360, 50)


class Encoded(NamedTuple):
    stream: EncodedStream
    playlist: str


def encode(folder: Path, encoder: str, shape: Shape, pixels: str, colour: tuple[int, int, int]) -> Encoded:
    """A few frames, and the playlist that FFmpeg writes for them."""
    path = folder / "x.mpd"
    packets: list[bytes] = []
    with av.open(str(path), "w", format="dash") as container:
        out: Any = container.add_stream(encoder, rate=shape.rate, options=OPTIONS[encoder])
        out.width, out.height, out.pix_fmt = shape.width, shape.height, pixels
        context = out.codec_context
        context.color_primaries, context.color_trc, context.colorspace = colour
        for number in [*range(3), None]:
            frame = None
            if number is not None:
                frame = av.VideoFrame(shape.width, shape.height, pixels)
                for plane in frame.planes:
                    plane.update(bytes([1]) * plane.buffer_size)
                frame.pts = number
                frame.color_primaries, frame.color_trc, frame.colorspace = colour
            for packet in out.encode(frame):
                packets.append(bytes(packet))
                container.mux(packet)
        extradata = context.extradata or b""
    form = shape.width, shape.height, Fraction(shape.rate)
    stream = EncodedStream(CODECS[encoder], extradata, packets[0], *form, 50.0, colour)
    return Encoded(stream, path.read_text())


@pytest.mark.parametrize("shape", [LITTLE, LARGE])
@pytest.mark.parametrize(
    ("encoder", "pixels"),
    [
        *itertools.product(("libx264", "libsvtav1"), ("yuv420p", "yuv420p10le")),
        ("libvpx-vp9", "yuv420p"),  # PyAV's libvpx has no 10 bits; its header is in another test
    ],
)
def test_the_name_is_the_one_that_ffmpeg_writes(
    tmp_path: Path, encoder: str, pixels: str, shape: Shape
) -> None:
    encoded = encode(tmp_path, encoder, shape, pixels, UNSAID)
    theirs = re.search(r'codecs="([^"]+)"', encoded.playlist)
    assert theirs is not None
    assert codec_string(encoded.stream) == theirs[1]
    depth = re.search(r"\.(08|10)$", theirs[1])
    assert depth is None or depth[1] == ("10" if "10" in pixels else "08")


def test_av1_names_its_colour_if_it_is_unusual(tmp_path: Path) -> None:
    encoded = encode(tmp_path, "libsvtav1", LITTLE, "yuv420p10le", PQ)
    assert codec_string(encoded.stream).endswith("M.10.0.110.09.16.09.0")
    assert codec_string(encoded.stream) in encoded.playlist


@pytest.mark.parametrize(
    ("pixels", "shape", "name"),
    [
        ("yuv420p", LITTLE, "hvc1.1.6.L30.90"),
        ("yuv420p", LARGE, "hvc1.1.6.L90.90"),
        ("yuv420p10le", LARGE, "hvc1.2.4.L90.90"),
    ],
)
def test_hevc_in_units_and_in_a_container(tmp_path: Path, pixels: str, shape: Shape, name: str) -> None:
    encoded = encode(tmp_path, "libx265", shape, pixels, UNSAID)
    assert codec_string(encoded.stream) == name
    # FFmpeg rewrites the parameters as an hvcC record, which says the same.
    with av.open(str(tmp_path / "init-stream0.m4s")) as container:
        record = container.streams.video[0].codec_context.extradata or b""
    assert record[0] == 1
    assert codec_string(encoded.stream._replace(extradata=record, first_packet=b"")) == name


def head_of_vp9(profile: int, twelve: int) -> bytes:
    """The first bits of a keyframe of VP9."""
    bits = f"10{profile & 1}{profile >> 1}" + ("0" if profile == 3 else "") + "0010"
    bits += f"{0x498342:024b}" + (str(twelve) if profile >= 2 else "") + "010" + "0" * 40
    return int(bits[: len(bits) // 8 * 8], 2).to_bytes(len(bits) // 8, "big")


@pytest.mark.parametrize(
    ("profile", "twelve", "shape", "kbps", "name"),
    [
        (0, 0, Shape(256, 144, 15), 150, "vp09.00.10.08"),
        (0, 0, Shape(256, 144, 15), 500, "vp09.00.11.08"),  # for its bits
        (0, 0, Shape(640, 360, 30), 1500, "vp09.00.21.08"),
        (0, 0, Shape(1920, 1080, 30), 5000, "vp09.00.40.08"),
        (0, 0, Shape(1920, 1080, 60), 5000, "vp09.00.41.08"),  # for its rate
        (2, 0, Shape(3840, 2160, 60), 20000, "vp09.02.51.10"),
        (2, 1, Shape(7680, 4320, 120), 200000, "vp09.02.62.12"),
        (3, 0, Shape(64, 64, 25), 10, "vp09.03.10.10.03.02.02.02.00"),
    ],
)
def test_profiles_and_levels_of_vp9(profile: int, twelve: int, shape: Shape, kbps: float, name: str) -> None:
    packet = head_of_vp9(profile, twelve)
    stream = EncodedStream("vp9", b"", packet, shape.width, shape.height, Fraction(shape.rate), kbps)
    assert codec_string(stream) == name


@pytest.mark.parametrize(
    ("codec", "extradata", "name"),
    [
        ("h264", bytes.fromhex("0000000167640028acd9"), "avc1.640028"),
        ("h264", bytes.fromhex("0142e01effe1"), "avc1.42e01e"),
        # Main, main tier, level 3.1, progressive: the example of ISO/IEC 14496-15.
        ("hevc", bytes.fromhex("00000001420101016000000300b0000003000003005d"), "hvc1.1.6.L93.B0"),
        # Main 10, high tier, level 5.1.
        ("hevc", bytes.fromhex("0122200000009000000000 0099".replace(" ", "")), "hvc1.2.4.H153.90"),
    ],
)
def test_known_heads(codec: str, extradata: bytes, name: str) -> None:
    assert codec_string(EncodedStream(codec, extradata, b"", 1280, 720, Fraction(30), 1000.0)) == name


@given(st.sampled_from(["h264", "hevc", "av1", "vp9"]), st.binary(max_size=64), st.binary(max_size=64))
def test_any_bytes_give_a_name_or_a_sentence(codec: str, extradata: bytes, packet: bytes) -> None:
    stream = EncodedStream(codec, extradata, packet, 320, 180, Fraction(25), 100.0)
    try:
        name = codec_string(stream)
    except TuneError:
        return
    assert re.fullmatch(r"(avc1|hvc1|av01|vp09)(\.[0-9A-Fa-zM]+)+", name)


def test_other_codecs_are_refused() -> None:
    with pytest.raises(TuneError, match="playlists have no name for prores: use an encoder of h264"):
        codec_string(EncodedStream("prores", b"", b"", 320, 180, Fraction(25), 100.0))

"""Names of codecs: as FFmpeg's DASH muxer writes them for the same streams, and as specifications do."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import TuneError
from acuity.tune.ladder.codec_string import EncodedStream, codec_string

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


SMALL, LARGE = Shape(160, 96, 25), Shape(640, 360, 50)


class Encoded(NamedTuple):
    stream: EncodedStream
    packets: list[bytes]
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
    stream = EncodedStream(
        CODECS[encoder], extradata, packets[0], shape.width, shape.height, Fraction(shape.rate), 50.0, colour
    )
    return Encoded(stream, packets, path.read_text())


@pytest.mark.parametrize("shape", [SMALL, LARGE])
@pytest.mark.parametrize(
    ("encoder", "pixels"),
    [
        ("libx264", "yuv420p"),
        ("libx264", "yuv420p10le"),
        ("libsvtav1", "yuv420p"),
        ("libsvtav1", "yuv420p10le"),
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
    encoded = encode(tmp_path, "libsvtav1", SMALL, "yuv420p10le", PQ)
    assert codec_string(encoded.stream).endswith("M.10.0.110.09.16.09.0")
    assert codec_string(encoded.stream) in encoded.playlist


@pytest.mark.parametrize(
    ("pixels", "shape", "name"),
    [
        ("yuv420p", SMALL, "hvc1.1.6.L30.90"),
        ("yuv420p", LARGE, "hvc1.1.6.L90.90"),
        ("yuv420p10le", LARGE, "hvc1.2.4.L90.90"),
    ],
)
def test_hevc_in_units_and_in_a_container(tmp_path: Path, pixels: str, shape: Shape, name: str) -> None:
    encoded = encode(tmp_path, "libx265", shape, pixels, UNSAID)
    assert codec_string(encoded.stream) == name
    # FFmpeg rewrites the parameters as an hvcC record, which says the same.
    with av.open(str(tmp_path / "x.mpd").replace("x.mpd", "init-stream0.m4s")) as container:
        record = container.streams.video[0].codec_context.extradata
    assert record is not None
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

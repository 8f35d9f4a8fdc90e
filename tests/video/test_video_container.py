"""Containers: what is decoded is what was encoded, frame for frame, or an error says why not."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from acuity.errors import FormatError, InputError, NoFramesError, TruncatedError
from acuity.video import container as container_module
from acuity.video.avframes import ToPlanar, nearest
from acuity.video.container import ContainerReader
from acuity.video.picture import PixelFormat
from video_clips import HEIGHT, WIDTH, encode, number_of, numbered_luma

OPEN_GOP = {"x264-params": "open-gop=1:keyint=12:bframes=4:b-adapt=0"}
INTRA_REFRESH = {"x264-params": "intra-refresh=1:keyint=12:bframes=0"}
HEVC = {"x265-params": "log-level=none:open-gop=1:keyint=12:min-keyint=12:bframes=4"}
VP9 = {"cpu-used": "8", "lag-in-frames": "16", "auto-alt-ref": "1"}

CLIPS = [
    ("h264.mp4", "libx264", {}),
    ("h264.ts", "libx264", {}),
    ("open.mkv", "libx264", OPEN_GOP),
    ("refresh.mkv", "libx264", INTRA_REFRESH),
    ("hevc.mp4", "libx265", HEVC),
    ("vp9.webm", "libvpx-vp9", VP9),
    ("vp8.webm", "libvpx", {"auto-alt-ref": "1", "lag-in-frames": "16", "b": "2M"}),
    ("mpeg4.avi", "mpeg4", {"bf": "2", "b": "2M"}),
]


@pytest.mark.parametrize(("name", "codec", "options"), CLIPS)
def test_order_and_seeking_are_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, codec: str, options: dict[str, str]
) -> None:
    monkeypatch.setattr(container_module, "_NEAR", 0)  # look for keyframes even in a short clip
    path = encode(tmp_path / name, codec=codec, frames=40, options=options)
    with ContainerReader(path) as reader:
        assert reader.info.rate == 25
        assert not reader.info.variable_rate
        lumas = []
        for number, picture in enumerate(reader):
            assert number_of(picture) == number
            lumas.append(picture.luma.copy())
        assert len(lumas) == 40
        for number in (39, 0, 13, 11, 12, 30, 25, 24, 23, 7):
            reader.seek(number)
            picture = reader.read()
            assert picture is not None
            assert np.array_equal(picture.luma, lumas[number])
            following = reader.read()
            assert (following is None) == (number == 39)
            assert following is None or np.array_equal(following.luma, lumas[number + 1])
        reader.seek(40)
        assert reader.read() is None
        with pytest.raises(NoFramesError, match="no frame 41"):
            reader.seek(41)
        assert reader.notes == []


def test_seeking_uses_keyframes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = encode(tmp_path / "clip.mkv", frames=60, gop=10)
    with ContainerReader(path) as reader:
        decoded: list[int] = []
        count = container_module.Decoder._decode

        def counting(self: object, packet: object) -> list[av.VideoFrame]:
            decoded.append(1)
            return count(self, packet)  # type: ignore[arg-type]

        monkeypatch.setattr(container_module, "_NEAR", 0)
        monkeypatch.setattr(container_module.Decoder, "_decode", counting)
        reader.seek(55)
        picture = reader.read()
        assert picture is not None
        assert number_of(picture) == 55
        assert sum(decoded) < 30


@pytest.mark.parametrize(
    ("pix_fmt", "format"),
    [
        ("yuv420p", PixelFormat("420", 8)),
        ("yuv422p", PixelFormat("422", 8)),
        ("yuv444p", PixelFormat("444", 8)),
        ("yuv420p10le", PixelFormat("420", 10)),
        ("yuv422p12le", PixelFormat("422", 12)),
        ("yuv444p16le", PixelFormat("444", 16)),
        ("gray", PixelFormat("400", 8)),
        ("gray16le", PixelFormat("400", 16)),
        ("yuva420p", PixelFormat("420", 8)),
    ],
)
def test_lossless_video_comes_out_as_it_went_in(tmp_path: Path, pix_fmt: str, format: PixelFormat) -> None:
    path = encode(
        tmp_path / "clip.mkv", codec="ffv1", pix_fmt=pix_fmt, frames=3, size=(WIDTH - 1, HEIGHT - 1)
    )
    with ContainerReader(path) as reader:
        assert reader.info.format == format
        assert "converted" not in reader.info.extra
        for number, picture in enumerate(reader):
            expected = numbered_luma(number, WIDTH - 1, HEIGHT - 1).astype(np.uint16) << (format.depth - 8)
            assert np.array_equal(picture.luma, expected)
            shapes = format.plane_shapes(WIDTH - 1, HEIGHT - 1)
            assert [plane.shape for plane in picture.planes] == shapes
            assert all((plane == 1 << (format.depth - 1)).all() for plane in picture.planes[1:])
            assert all(plane.strides[1] == format.bytes_per_sample for plane in picture.planes)


def test_pictures_outlive_their_reader(tmp_path: Path) -> None:
    path = encode(tmp_path / "clip.mkv", codec="ffv1", frames=8)
    reader = ContainerReader(path)
    pictures = list(reader)
    reader.close()
    reader.close()
    assert [number_of(picture) for picture in pictures] == list(range(8))
    with pytest.raises(InputError, match="closed"):
        reader.read()


def test_times_and_claims(tmp_path: Path) -> None:
    path = encode(tmp_path / "clip.mp4", frames=10, rate=Fraction(30000, 1001))
    with ContainerReader(path) as reader:
        info = reader.info
        assert (info.kind, info.codec, info.frames, info.frames_exact) == ("container", "h264", 10, False)
        assert info.rate == Fraction(30000, 1001)
        times = [picture.pts for picture in reader]
    assert times == pytest.approx([i * 1001 / 30000 for i in range(10)], abs=1e-4)


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
def test_variable_rate_is_noticed(tmp_path: Path, name: str) -> None:
    ticks = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17]
    with ContainerReader(encode(tmp_path / name, ticks=ticks)) as reader:
        assert reader.info.variable_rate
        assert [round((picture.pts or 0) * 25) for picture in reader] == ticks


def test_a_hole_after_the_probe_gets_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_module, "_PROBE_PACKETS", 20)
    ticks = [*range(45), *range(50, 60)]
    with ContainerReader(encode(tmp_path / "clip.mkv", frames=55, ticks=ticks)) as reader:
        assert not reader.info.variable_rate
        assert len(list(reader)) == 55
        assert [note.code for note in reader.notes] == ["time-gap"]
        assert "frame 45" in reader.notes[0].text


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_rotation_is_clockwise(tmp_path: Path, rotation: int) -> None:
    with ContainerReader(encode(tmp_path / "clip.mp4", rotation=rotation)) as reader:
        assert reader.info.rotation == rotation
        assert "flipped" not in reader.info.extra


def test_mirroring_is_noticed(tmp_path: Path) -> None:
    with ContainerReader(encode(tmp_path / "clip.mp4", mirrored=True)) as reader:
        assert reader.info.extra["flipped"] == "yes"


def test_colour_tags(tmp_path: Path) -> None:
    tags = {"color_trc": 16, "color_primaries": 9, "colorspace": 9, "color_range": 1}
    path = encode(tmp_path / "hdr.mp4", pix_fmt="yuv420p10le", **tags)
    with ContainerReader(path) as reader:
        info = reader.info
        assert (info.transfer, info.primaries, info.matrix) == ("smpte2084", "bt2020", "bt2020nc")
        assert info.full_range is False
        assert info.hdr
    with ContainerReader(encode(tmp_path / "full.mp4", pix_fmt="yuvj420p", color_range=2)) as reader:
        assert reader.info.full_range is True
        assert reader.info.transfer is None
        assert not reader.info.hdr


def test_rgb_is_converted_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "clip.mkv"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 32, 16, "bgr0"
        white = np.full((16, 32, 3), 255, np.uint8)
        output.mux(stream.encode(av.VideoFrame.from_ndarray(white, "rgb24")))
        output.mux(stream.encode(None))
    with ContainerReader(path) as reader:
        picture = reader.read()
        assert picture is not None
        assert reader.info.format == PixelFormat("444", 8)
        assert "BT.709" in reader.info.extra["converted"]
        assert (picture.luma == 235).all()
        assert (picture.planes[1] == 128).all()


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("nv12", PixelFormat("420", 8)),
        ("nv24", PixelFormat("444", 8)),
        ("p010le", PixelFormat("420", 10)),
        ("p216le", PixelFormat("422", 16)),
        ("yuyv422", PixelFormat("422", 8)),
        ("yuv411p", PixelFormat("422", 8)),
        ("yuv440p", PixelFormat("444", 8)),
        ("yuv420p9le", PixelFormat("420", 10)),
        ("yuv420p10be", PixelFormat("420", 10)),
        ("gbrp12le", PixelFormat("444", 12)),
        ("rgb48le", PixelFormat("444", 16)),
        ("pal8", PixelFormat("444", 8)),
        ("ya8", PixelFormat("400", 8)),
        ("gray9le", PixelFormat("400", 10)),
    ],
)
def test_other_formats_keep_their_depth_and_chroma(name: str, format: PixelFormat) -> None:
    assert nearest(av.VideoFormat(name, 16, 16)) == format


@pytest.mark.parametrize(("name", "shift"), [("nv12", 0), ("p010le", 6)])
def test_semi_planar_video_is_taken_apart_exactly(name: str, shift: int) -> None:
    frame = av.VideoFrame(64, 32, name)
    rng = np.random.default_rng(1)
    format = nearest(frame.format)
    planes = []
    for plane in frame.planes:
        rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size).view(format.dtype)
        rows[:] = rng.integers(0, 1 << format.depth, rows.shape) << shift
        planes.append(rows[:, :64] >> shift)
    luma, u, v = ToPlanar(frame.format)(frame)
    assert np.array_equal(luma, planes[0])
    assert np.array_equal(u, planes[1][:, 0::2])
    assert np.array_equal(v, planes[1][:, 1::2])


@pytest.fixture(scope="module")
def mp4(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An MP4 whose index comes first, so that it opens even when its end is missing."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    options = {"movflags": "faststart"}
    return encode(path, frames=40, container_options=options).read_bytes()


@pytest.fixture(scope="module")
def mkv(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return encode(tmp_path_factory.mktemp("clip") / "clip.mkv", frames=40).read_bytes()


def read_all(path: Path, data: bytes, **wish: bool) -> int:
    path.write_bytes(data)
    with ContainerReader(path, **wish) as reader:
        return sum(1 for _ in reader)


@pytest.mark.parametrize("part", [0.5, 0.7, 0.9, 0.99])
def test_a_truncated_file_does_not_just_end(tmp_path: Path, mp4: bytes, mkv: bytes, part: float) -> None:
    assert read_all(tmp_path / "clip.mp4", mp4) == read_all(tmp_path / "clip.mkv", mkv) == 40
    with pytest.raises(TruncatedError, match=r"clip\.mp4"):
        read_all(tmp_path / "clip.mp4", mp4[: int(len(mp4) * part)])
    if part < 0.9:  # the last bytes of a Matroska file are its index
        with pytest.raises(TruncatedError, match=r"clip\.mkv.* of the 1\.600 s"):
            read_all(tmp_path / "clip.mkv", mkv[: int(len(mkv) * part)])


def packet_at(path: Path, number: int) -> tuple[int, int]:
    """Where in the file a packet lies, and how long it is."""
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    return packets[number].pos or 0, packets[number].size


def test_a_packet_that_cannot_be_decoded_names_file_and_frame(tmp_path: Path, mp4: bytes) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(mp4)
    position, _ = packet_at(path, 20)
    damaged = mp4[:position] + b"\xff" * 4 + mp4[position + 4 :]  # no NAL unit is that long
    with pytest.raises(InputError, match=r"clip\.mp4' cannot be decoded at frame (1\d|20)"):
        read_all(path, damaged)


def test_the_last_packet_cannot_get_lost(tmp_path: Path, mp4: bytes) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(mp4)
    position, _ = packet_at(path, 39)
    damaged = mp4[:position] + b"\xff" * 4 + mp4[position + 4 :]
    with pytest.raises(InputError, match=r"decoded"):
        read_all(path, damaged)


def test_damaged_frames_are_refused_unless_they_are_allowed(tmp_path: Path) -> None:
    path = encode(tmp_path / "clip.mkv", frames=40, options={"x264-params": "cabac=0:bframes=0"})
    position, size = packet_at(path, 20)
    data = bytearray(path.read_bytes())
    data[position + size // 2 : position + size] = bytes(size - size // 2)
    with pytest.raises(InputError, match=r"frame 20 .* is damaged"):
        read_all(path, bytes(data))
    assert read_all(path, bytes(data), allow_damaged=True) == 40


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("notes.txt", b"hello world\n" * 200, "not a video"),
        ("notes.mp4", b"hello world\n" * 200, "not a video"),
        ("noise.mkv", np.random.default_rng(0).bytes(50_000), "not a video"),
        ("zeros.mov", bytes(50_000), "not a video"),
        ("words.srt", b"1\n00:00:01,000 --> 00:00:02,000\nhello\n\n" * 9, "no video"),
        ("list.m3u8", b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nclip.ts\n#EXT-X-ENDLIST\n", "playlist"),
        ("list.txt", b"ffconcat version 1.0\nfile clip.ts\n", "playlist"),
        ("list.mpd", b'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"/>', "not a video"),
    ],
)
def test_files_that_are_no_video(tmp_path: Path, name: str, data: bytes, says: str) -> None:
    encode(tmp_path / "clip.ts")
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(FormatError, match=says) as caught:
        ContainerReader(path)
    assert str(path) in str(caught.value)


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "sound.mka"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
        frame.sample_rate = 8000
        output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    with pytest.raises(FormatError, match="no video"):
        ContainerReader(path)


def test_paths_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        ContainerReader(tmp_path / "none.mp4")
    with pytest.raises(InputError, match="directory"):
        ContainerReader(tmp_path)
    for address in ("http://localhost:1/a.mp4", "concat:a.ts|b.ts", "tcp://localhost:1", "data:text/plain,x"):
        with pytest.raises(InputError, match="only local files"):
            ContainerReader(address)
    (tmp_path / "empty.mp4").touch()
    with pytest.raises(NoFramesError, match="empty"):
        ContainerReader(tmp_path / "empty.mp4")
    os.mkfifo(tmp_path / "pipe.mp4")
    keeper = os.open(tmp_path / "pipe.mp4", os.O_RDWR)
    with pytest.raises(InputError, match="pipe"):
        ContainerReader(tmp_path / "pipe.mp4")
    os.close(keeper)


def test_a_size_that_changes_midway_is_refused(tmp_path: Path) -> None:
    one = encode(tmp_path / "one.m2v", codec="mpeg2video", frames=8)
    two = encode(tmp_path / "two.m2v", codec="mpeg2video", frames=8, size=(64, 32))
    path = tmp_path / "both.m2v"
    path.write_bytes(one.read_bytes() + two.read_bytes())
    with ContainerReader(path) as reader, pytest.raises(InputError, match=r"changes at frame [78] .*64x32"):
        list(reader)


def test_pyav_is_loaded_only_for_containers() -> None:
    code = (
        "import sys, acuity.video.open, acuity.video.pairing;"
        "sys.exit(any(name == 'av' or name.startswith('av.') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("seed", range(40))
def test_mutated_files_are_read_or_refused(tmp_path: Path, mp4: bytes, mkv: bytes, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray((mp4, mkv)[seed % 2])
    for _ in range(int(rng.integers(1, 12))):
        position = int(rng.integers(0, len(data) if seed % 3 else 1200))
        if rng.random() < 0.7:
            data[position] = int(rng.integers(0, 256))
        else:
            del data[position : position + int(rng.integers(1, 30))]
    try:
        assert read_all(tmp_path / "clip", bytes(data)) > 0
    except InputError as error:
        told = str(error)
        assert str(tmp_path) in told
        assert "\n" not in told

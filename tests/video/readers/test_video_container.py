"""Containers: what is decoded is what was encoded, frame for frame, or an error says why not."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from acuity.errors import InputError, NoFramesError
from acuity.video.picture import PixelFormat
from acuity.video.readers import container as container_module
from acuity.video.readers.avframes import ToPlanar, nearest
from acuity.video.readers.container import ContainerReader, KeyframeIndex, index_keyframes
from acuity.video.readers.decoder import Decoder
from colour_clips import rgb_clip
from video_clips import HEIGHT, WIDTH, encode, number_at, number_of, numbered_luma

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
    size = (WIDTH - 1, HEIGHT - 1)
    path = encode(tmp_path / "clip.mkv", codec="ffv1", pix_fmt=pix_fmt, frames=3, size=size)
    with ContainerReader(path) as reader:
        assert reader.info.format == format
        assert "converted" not in reader.info.extra
        for number, picture in enumerate(reader):
            expected = numbered_luma(number, *size).astype(np.uint16) << (format.depth - 8)
            assert np.array_equal(picture.luma, expected)
            assert [plane.shape for plane in picture.planes] == format.plane_shapes(*size)
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


def test_frames_are_those_of_the_video_where_the_sound_is_longer(tmp_path: Path) -> None:
    with av.open(tmp_path / "sound.mkv", "w") as file:
        video: Any = file.add_stream("libx264", rate=25)
        video.width, video.height, video.pix_fmt = 64, 64, "yuv420p"
        sound: Any = file.add_stream("pcm_s16le", rate=8000)
        for number in range(10):
            frame = av.VideoFrame(64, 64, "yuv420p")
            frame.pts = number
            file.mux(video.encode(frame))
        samples = av.AudioFrame("s16", "stereo", 4000)
        samples.sample_rate, samples.pts = 8000, 0
        file.mux([*video.encode(None), *sound.encode(samples), *sound.encode(None)])
    with ContainerReader(tmp_path / "sound.mkv") as reader:
        assert reader.info.frames == 10


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


@pytest.mark.parametrize(("rotation", "mirrored"), [*((at, False) for at in (0, 90, 180, 270)), (0, True)])
def test_rotation_is_clockwise_and_mirroring_noticed(tmp_path: Path, rotation: int, mirrored: bool) -> None:
    with ContainerReader(encode(tmp_path / "clip.mp4", rotation=rotation, mirrored=mirrored)) as reader:
        assert mirrored or reader.info.rotation == rotation
        assert reader.info.extra.get("flipped") == ("yes" if mirrored else None)


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
    with ContainerReader(rgb_clip(tmp_path / "clip.mkv", [np.ones((16, 32, 3))])) as reader:
        picture = reader.read()
        assert picture is not None
        assert reader.info.format == PixelFormat("444", 8)
        assert reader.info.extra["converted"] == "bgr0 to yuv444p"
        assert (reader.info.matrix, reader.info.full_range) == ("gbr", True)
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


def test_pyav_is_loaded_only_for_containers() -> None:
    code = (
        "import sys, acuity.video.readers.open, acuity.video.pairs.pairing;"
        "sys.exit(any(name == 'av' or name.startswith('av.') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_file_is_read_through_once_for_its_keyframes_unless_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0

    def counted(decoder: Decoder) -> KeyframeIndex | None:
        nonlocal read
        read += 1
        return index_keyframes(decoder)

    monkeypatch.setattr(container_module, "_NEAR", 0)
    monkeypatch.setattr(container_module, "index_keyframes", counted)
    options = {"x264-params": "keyint=8"}

    def frame(number: int) -> int:
        with ContainerReader(tmp_path / "clip.mkv") as reader:
            return number_at(reader, number)

    encode(tmp_path / "clip.mkv", frames=40, options=options)
    assert [frame(number) for number in (30, 12, 39)] == [30, 12, 39]
    assert read == 1
    (tmp_path / "clip.mkv").unlink()
    encode(tmp_path / "clip.mkv", frames=60, options=options)
    assert [frame(number) for number in (55, 20)] == [55, 20]
    assert read == 2


def test_files_that_were_joined_byte_by_byte_are_noted(tmp_path: Path) -> None:
    """FFmpeg reads the first of them alone."""
    one, joined = encode(tmp_path / "one.mp4", frames=4), tmp_path / "joined.mp4"
    joined.write_bytes(one.read_bytes() * 2)
    with ContainerReader(one) as video:
        assert not [note for note in video.notes if note.code == "joined"]
    with ContainerReader(joined) as video:
        (note,) = [note for note in video.notes if note.code == "joined"]
    assert f"has another MP4 in it from byte {one.stat().st_size} on, which isn't read" in note.text

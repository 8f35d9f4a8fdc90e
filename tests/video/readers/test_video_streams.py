"""Files with several video streams: none is taken silently, and the wanted one is the one that is read."""

from __future__ import annotations

from pathlib import Path

import av
import pytest
from av.stream import Disposition

import acuity
from acuity.errors import AcuityError, FormatError, InputError
from acuity.scoring.fronts import sentence
from acuity.video.readers import container as container_module
from acuity.video.readers.open import open_video
from image_files import image
from video_clips import encode, encode_two_streams, number_at, number_of


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encode_two_streams(tmp_path_factory.mktemp("several") / "several.mkv")


def test_several_streams_are_listed(several: Path) -> None:
    with pytest.raises(FormatError) as caught:
        open_video(several)
    listed = "0: 96x64 ffv1, 25 fps; 1: 48x32 h264, 25 fps"
    told = f"'{several}' has 2 video streams ({listed}): choose one with "
    assert str(caught.value) == f"{told}stream="
    assert sentence(caught.value, "acuity") == sentence(caught.value, "vmaf") == f"{told}--stream"
    for tool in ("vmaf_score_encoded", "compute_vmaf", "list_videos"):  # which have no such argument
        assert sentence(caught.value, tool).endswith(": copy the one that is meant to a file of its own")


@pytest.mark.parametrize(("stream", "width", "first"), [(0, 96, 0), (1, 48, 30)])
def test_the_wanted_stream_is_read(
    several: Path, monkeypatch: pytest.MonkeyPatch, stream: int, width: int, first: int
) -> None:
    monkeypatch.setattr(container_module, "_NEAR", 0)  # the keyframes must be those of the stream, too
    with open_video(several, stream=stream) as reader:
        assert reader.info.width == width
        assert reader.info.extra["stream"] == str(stream)
        assert [number_of(picture) for picture in reader] == list(range(first, first + 10))
        assert number_at(reader, 5) == first + 5


@pytest.mark.parametrize("stream", [2, 99, -1])
def test_out_of_range(several: Path, stream: int) -> None:
    with pytest.raises(InputError, match=rf"no video stream {stream}: it has 2, counted from 0"):
        open_video(several, stream=stream)


def test_files_with_one_stream(tmp_path: Path) -> None:
    path = encode(tmp_path / "clip.mkv")
    with open_video(path, stream=0) as reader:
        assert len(list(reader)) == 10
    with pytest.raises(InputError, match="no video stream 1: it has one, number 0; choose for one of"):
        open_video(path, stream=1)
    (tmp_path / "clip.y4m").write_bytes(b"YUV4MPEG2 W2 H2\nFRAME\n" + bytes(6))
    with pytest.raises(InputError, match="no video stream 1: it has one"):
        open_video(tmp_path / "clip.y4m", stream=1)
    with open_video(tmp_path / "clip.y4m", stream=0) as reader:
        assert len(list(reader)) == 1


def test_a_cover_picture_is_no_second_stream(tmp_path: Path) -> None:
    clip, cover = encode(tmp_path / "clip.mkv"), image(tmp_path / "cover.png", 63)
    path = tmp_path / "film.mp4"
    with av.open(str(path), "w") as output, av.open(str(clip)) as one, av.open(str(cover)) as other:
        film = output.add_stream_from_template(one.streams.video[0])
        picture = output.add_stream_from_template(other.streams.video[0])
        picture.disposition = Disposition.attached_pic
        for source, stream in ((one, film), (other, picture)):
            for packet in source.demux(video=0):
                if packet.size:
                    packet.stream = stream
                    output.mux(packet)
    with open_video(path) as reader:
        assert reader.info.codec == "h264"
        assert len(list(reader)) == 10
    with open_video(path, stream=1) as reader:  # named, it is taken
        assert reader.info.codec == "png"


def test_a_stream_for_each_side(several: Path) -> None:
    wanted = {"align": "off", "model": "vmaf_v0.6.1"}
    report = acuity.score(several, several, stream=0, **wanted)
    assert "identical" in [note.code for note in report.notes]
    report = acuity.score(several, several, stream=0, stream_dis=1, **wanted)
    assert [report.input[side]["width"] for side in ("reference", "distorted")] == [96, 48]
    assert "identical" not in [note.code for note in report.notes]
    with pytest.raises(AcuityError, match="2 video streams"):
        acuity.score(several, several, stream_ref=0, **wanted)

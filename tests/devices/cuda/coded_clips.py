"""Small clips of every codec that cards decode, and what a card makes of them beside the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np

import video_clips
from acuity.devices.cuda.nvdec.reader import NvdecReader
from acuity.video.alignment.signature import grid
from acuity.video.card_picture import CardPicture
from acuity.video.picture import Picture
from acuity.video.readers.container import ContainerReader

WIDTH, HEIGHT = 64, 48


class Coded(NamedTuple):
    """How a clip is coded."""

    encoder: str
    ending: str
    pixels: str
    options: dict[str, str]


_X265 = "keyint=8:min-keyint=8:scenecut=0:log-level=none:pools=1:frame-threads=1"
CODED = {
    "h264": Coded("libx264", "mp4", "yuv420p", {"g": "8", "bf": "2", "sc_threshold": "0"}),
    "h264-10": Coded("libx264", "mkv", "yuv420p10le", {"g": "8"}),
    "hevc": Coded("libx265", "mp4", "yuv420p", {"x265-params": _X265 + ":open-gop=0"}),
    "hevc-10": Coded("libx265", "mkv", "yuv420p10le", {"x265-params": _X265 + ":open-gop=0"}),
    "vp9": Coded("libvpx-vp9", "webm", "yuv420p", {"g": "8", "deadline": "realtime", "cpu-used": "8"}),
    "av1": Coded("libsvtav1", "mp4", "yuv420p", {"preset": "12", "g": "8", "svtav1-params": "lp=1"}),
    "av1-10": Coded("libsvtav1", "mkv", "yuv420p10le", {"preset": "12", "g": "8", "svtav1-params": "lp=1"}),
}


def picture(index: int, width: int, height: int) -> Any:
    """A frame of coarse tiles that move."""
    rng = np.random.default_rng(7)
    tiles = rng.integers(20, 230, (height // 4 + 20, width // 4 + 20, 3)).astype(np.uint8)
    scene = np.repeat(np.repeat(tiles, 8, axis=0), 8, axis=1)
    top, left = index % 64, 2 * index % 64
    return np.ascontiguousarray(scene[top : top + height, left : left + width])


def clip(
    path: Path, coded: Coded, frames: int = 20, *, width: int = WIDTH, height: int = HEIGHT, **more: Any
) -> Path:
    """A clip in the folder `path`, or at `path` if that has an ending."""
    place = path if path.suffix else path / f"clip.{coded.ending}"
    shown = [av.VideoFrame.from_ndarray(picture(n, width, height), format="rgb24") for n in range(frames)]
    options = {**coded.options, **more}
    return video_clips.clip(
        place, shown, codec=coded.encoder, pix_fmt=coded.pixels, options=options, thread_count=1
    )


def without_packet(path: Path, number: int) -> Path:
    """A copy of the file that lacks a packet, as an editor leaves it that cuts where it must not."""
    place = path.with_stem(path.stem + "-cut")
    with av.open(str(path)) as source, av.open(str(place), "w") as out:
        stream = source.streams.video[0]
        copy = out.add_stream_from_template(stream)
        for index, packet in enumerate(source.demux(stream)):
            if packet.size and index != number:
                packet.stream = copy
                out.mux(packet)
    return place


def decoded_alike(path: Path, other: NvdecReader, **options: Any) -> tuple[int, int, list[Any]]:
    """How many pictures came, how many of them from the card, and its notes; pictures equal the CPU's."""
    with ContainerReader(path, **options) as reader, other:
        other.expect(converted=False)
        count = on_card = 0
        while (expected := reader.read()) is not None:
            found = other.read()
            assert found is not None
            check_equal(found, expected)
            on_card += isinstance(found, CardPicture)
            count += 1
        assert other.read() is None
        return count, on_card, [note for note in other.notes if note not in reader.notes]


def check_equal(found: Picture, expected: Picture) -> None:
    assert found.pts == expected.pts
    np.testing.assert_array_equal(grid(found), grid(expected))
    assert len(found.planes) == len(expected.planes)
    for plane, wanted in zip(found.planes, expected.planes, strict=True):
        np.testing.assert_array_equal(plane, wanted)

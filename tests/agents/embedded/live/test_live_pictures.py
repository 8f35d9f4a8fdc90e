"""Small pictures of measured pairs: copied while somebody watches, kept where frames are worst."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from acuity.agents.embedded.live.pictures import ACROSS, KEPT, NEAR, LivePictures, encoded, small
from acuity.features.extractor import Pair
from acuity.measure import Measurement
from acuity.video.picture import Picture, PixelFormat


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watched() -> Iterator[LivePictures]:
    """Pictures that somebody watches, with all the time there is for copies."""
    with Measurement(threads=1) as measurement:
        pictures = LivePictures(measurement, share=1e9)
        pictures.watch()
        yield pictures


def luma(width: int = 64, height: int = 36, depth: int = 8) -> Picture:
    values = np.arange(width * height).reshape(height, width) % (1 << depth)
    return Picture((values.astype(np.uint8 if depth == 8 else np.uint16),), PixelFormat("400", depth))


def pair() -> Pair:
    return Pair(luma(), luma())


def test_nothing_is_copied_while_nobody_watches() -> None:
    clock = Clock()
    with Measurement(threads=1) as measurement:
        pictures = LivePictures(measurement, clock=clock, watch=10.0)
        assert measurement.boundary.on_pictures.all == ()
        pictures.watch()
        assert len(measurement.boundary.on_pictures.all) == 1
        pictures.watch()  # a second page: still one copy
        assert len(measurement.boundary.on_pictures.all) == 1
        clock.now += 10.0
        pictures.show(0, pair())
        pictures.settle(0, lambda _: 1.0)
        assert pictures.kept == {}
        assert measurement.boundary.on_pictures.all == ()


def test_the_lowest_are_kept_and_stand_for_those_close_by(watched: LivePictures) -> None:
    for index in range(KEPT + 20):
        watched.show(index, pair())
    watched.settle(KEPT + 9, lambda frame: 1000.0 - frame)  # the later, the lower
    assert list(watched.kept) == list(range(10, KEPT + 10))
    places = KEPT, 10 - NEAR, 9 - NEAR
    assert [*map(watched.nearest, places)] == [KEPT, 10, None]
    assert watched.png(9, "reference") is None


def test_neighbours_of_the_worst_frame_leave_room_for_another_place(watched: LivePictures) -> None:
    for index in range(100):
        watched.show(index, pair())
    watched.settle(99, lambda frame: 10.0 + frame / 10 if frame < 60 else 90.0 - 30 * (frame == 80))
    assert (watched.nearest(0), watched.nearest(80)) == (0, 80)


def test_copying_takes_no_more_than_its_share() -> None:
    clock, spent = Clock(), Clock()

    def slow() -> float:
        spent.now += 0.5  # each look at the time taken: so long does a copy take
        return spent.now

    with Measurement(threads=1) as measurement:
        pictures = LivePictures(measurement, clock=clock, spent=slow, share=0.01, watch=1000.0)
        pictures.watch()
        for index in range(1000):
            clock.now += 0.1
            pictures.show(index, pair())
        pictures.settle(999, lambda _: 1.0)
        assert 1 <= len(pictures.kept) <= 3  # 100 seconds, of which one may be spent, and half a second each


def test_a_file_is_made_once(watched: LivePictures) -> None:
    watched.show(3, pair())
    watched.settle(3, lambda _: 50.0)
    first = watched.png(3, "distorted")
    assert first is not None
    assert watched.png(3, "distorted") is first


@pytest.mark.parametrize("layout", ["420", "422", "444"])
def test_copies_are_small_and_keep_their_colours(layout: str) -> None:
    width, height = 1920, 1080
    across, down = {"420": (2, 2), "422": (2, 1), "444": (1, 1)}[layout]
    planes = [np.full((height, width), 90, np.uint8)]
    planes += [np.full((height // down, width // across), value, np.uint8) for value in (60, 200)]
    found = small(Picture(tuple(planes), PixelFormat(layout, 8)))  # type: ignore[arg-type]
    assert found.width <= ACROSS
    assert [int(plane[0, 0]) for plane in found.planes] == [90, 60, 200]
    assert len({plane.shape for plane in found.planes}) == 1


@pytest.mark.parametrize("depth", [8, 10])
def test_grey_files_have_the_shades_of_the_limited_range(depth: int) -> None:
    av = pytest.importorskip("av")
    unit = 1 << (depth - 8)
    values = np.array([[0, 16 * unit, 126 * unit, 235 * unit, 255 * unit]] * 4)
    picture = Picture((values.astype(np.uint8 if depth == 8 else np.uint16),), PixelFormat("400", depth))
    decoder = av.CodecContext.create("png", "r")
    frame = next(
        frame for packet in (av.Packet(encoded(picture, "bt709")), None) for frame in decoder.decode(packet)
    )
    assert frame.format.name == "gray"
    assert frame.to_ndarray()[0, :5].tolist() == [0, 0, 128, 255, 255]

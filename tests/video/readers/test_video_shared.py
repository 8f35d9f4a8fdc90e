"""A video that is read once for several readers."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from acuity.errors import InputError
from acuity.video.notes import info
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.reader import BaseReader, RgbTarget, VideoInfo
from acuity.video.readers.shared import SharedReader, Tap

FORMAT = PixelFormat("400", 8)


class Numbers(BaseReader):
    """Pictures whose samples are their number; it counts what is done with it."""

    def __init__(self, fails_at: int | None = None) -> None:
        super().__init__()
        self.info = VideoInfo("numbers", "raw", 4, 4, FORMAT, 40, True, seekable=True)
        self.next = 0
        self.fails_at = fails_at
        self.reads = 0
        self.closed = False
        self.prepared: list[tuple[bool, RgbTarget | None]] = []

    def read(self) -> Picture | None:
        assert not self.closed
        if self.next == self.fails_at:
            raise InputError("frame damaged")
        if self.next == self.info.frames:
            return None
        self.reads += 1
        self.next += 1
        if self.next == 10:
            self.notes.append(info("tenth", "the tenth picture"))
        return Picture((np.full((4, 4), self.next - 1, np.uint8),), FORMAT, float(self.next - 1))

    def seek(self, frame: int) -> None:
        self.next = frame

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        self.prepared.append((chroma, rgb))

    def close(self) -> None:
        self.closed = True


class Opened:
    """A shared reader with its taps, and the readers that were opened for them."""

    def __init__(self, count: int, fails_at: int | None = None, window: int = 4) -> None:
        self.readers: list[Numbers] = []
        self.shared = SharedReader(count, lambda _: window)
        self._fails_at = fails_at
        self.taps = [self.shared.tap(self._open) for _ in range(count)]

    def _open(self) -> Numbers:
        self.readers.append(Numbers(self._fails_at))
        return self.readers[-1]


def _numbers(tap: Tap) -> list[int]:
    return [int(picture.luma[0, 0]) for picture in tap]


def _at_once(*taps: Tap) -> list[list[int]]:
    """What each tap reads, in a thread of its own."""
    found: list[list[int]] = [[] for _ in taps]

    def work(index: int) -> None:
        found[index] = _numbers(taps[index])
        taps[index].close()

    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(len(taps))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return found


def test_every_tap_gets_every_picture_and_the_video_is_read_once():
    opened = Opened(3)
    assert _at_once(*opened.taps) == [list(range(40))] * 3
    (reader,) = opened.readers
    assert reader.reads == 40
    assert reader.closed


def test_the_pictures_are_the_same_objects():
    one, other = Opened(2).taps
    assert one.read() is other.read()


def test_a_slow_tap_holds_the_others_back():
    opened = Opened(2)
    fast, slow = opened.taps
    done = threading.Event()
    thread = threading.Thread(target=lambda: (_numbers(fast), done.set()), daemon=True)
    thread.start()
    for number in range(40):
        picture = slow.read()
        assert picture is not None
        assert int(picture.luma[0, 0]) == number
        assert opened.readers[0].reads <= number + 1 + 4
    assert slow.read() is None
    assert done.wait(20)


def test_a_tap_that_leaves_no_longer_holds_the_others_back():
    opened = Opened(3)
    slow, gone, fast = opened.taps
    assert gone.read() is not None
    slow.close()
    gone.close()
    assert _numbers(fast) == list(range(40))
    assert not opened.readers[0].closed
    fast.close()
    assert opened.readers[0].closed
    with pytest.raises(InputError, match="closed"):
        gone.read()


def test_closing_wakes_a_tap_that_waits():
    fast, _ = Opened(2).taps
    raised: list[BaseException] = []

    def work() -> None:
        try:
            _numbers(fast)
        except InputError as error:
            raised.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    fast.close()
    thread.join(20)
    assert not thread.is_alive()
    assert raised


def test_a_place_that_is_given_up_holds_nobody_back():
    shared = SharedReader(2, lambda _: 4)
    tap = shared.tap(Numbers)
    shared.give_up()
    assert _numbers(tap) == list(range(40))


def test_an_error_reaches_every_tap_after_the_pictures_before_it():
    opened = Opened(2, fails_at=3, window=8)
    for tap in opened.taps:
        pictures: Iterator[Picture] = iter(tap)
        assert [int(next(pictures).luma[0, 0]) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(InputError, match="frame damaged"):
            next(pictures)


def test_all_taps_may_skip_the_start():
    opened = Opened(2)
    for tap in opened.taps:
        tap.seek(30)
    assert _at_once(*opened.taps) == [list(range(30, 40))] * 2
    assert opened.readers[0].reads == 10


def test_a_tap_that_goes_back_reads_for_itself():
    opened = Opened(2)
    one, other = opened.taps
    assert [one.read() is not None, other.read() is not None] == [True, True]
    one.seek(0)
    assert not one.shares
    assert _numbers(one) == list(range(40))
    assert _numbers(other) == list(range(1, 40))


def test_a_tap_that_needs_other_pictures_reads_for_itself():
    opened = Opened(3)
    for tap, chroma in zip(opened.taps, (False, True, False), strict=True):
        tap.prepare(chroma=chroma)
    assert [tap.shares for tap in opened.taps] == [True, False, True]
    assert [reader.prepared for reader in opened.readers] == [[(False, None)], [(True, None)]]


def test_notes_are_those_of_a_reader_at_that_position():
    fast, slow = Opened(2, window=20).taps
    for _ in range(12):
        fast.read()
    assert [note.code for note in fast.notes] == ["tenth"]
    assert slow.notes == []
    slow.read()
    assert slow.notes == []


def test_what_is_made_of_a_picture_is_made_once_for_each_key():
    one, other = Opened(2).taps
    made: list[Picture] = []

    def make(picture: Picture) -> Picture:
        made.append(picture)
        return Picture(picture.planes, picture.format, pts=1.0)

    first, second = one.read(), other.read()
    assert first is not None
    assert second is not None
    assert one.once(first, "a", make) is other.once(second, "a", make)
    assert len(made) == 1
    assert one.once(first, "b", make) is not other.once(second, "a", make)
    assert len(made) == 2
    assert one.once(first, "a", make).kept is not first.kept  # figures of one aren't those of the other


class Stalled(Numbers):
    """Waits for a picture until it is closed, as a pipe whose writer has stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.waits, self.ends = threading.Event(), threading.Event()

    def read(self) -> Picture | None:
        self.waits.set()
        assert self.ends.wait(20)
        raise InputError("closed")

    def close(self) -> None:
        self.closed = True
        self.ends.set()


def test_a_read_that_waits_ends_when_every_tap_is_closed():
    reader = Stalled()
    shared = SharedReader(2, lambda _: 4)
    one, other = shared.tap(lambda: reader), shared.tap(lambda: reader)
    failed = threading.Event()

    def work() -> None:
        with pytest.raises(InputError):
            one.read()
        failed.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert reader.waits.wait(20)
    one.close()
    assert not reader.closed  # the other may still want its pictures
    other.close()
    assert failed.wait(20)
    thread.join(20)

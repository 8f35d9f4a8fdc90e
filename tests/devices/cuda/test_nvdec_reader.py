"""Decoding on the card gives the CPU's pictures, and leaves to the CPU what it might not decode alike."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.devices.cuda.hardware.card import Card
from acuity.devices.cuda.nvdec import reader as reader_module
from acuity.devices.cuda.nvdec.reader import NvdecReader
from acuity.errors import CardMemoryError, InputError
from acuity.video.card_picture import CardPicture
from acuity.video.picture import Picture
from acuity.video.readers.container import ContainerReader
from coded_clips import CODED, check_equal, clip, decoded_alike, without_packet
from damaged_clip import FRAGILE, damage, packet_at
from emulated_card import needs_compiler
from fake_cuda import emulated_card
from fake_decoder import FakeFrame, OnFrame
from fake_driver import FakeDriver

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def _short_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session decodes few frames here, because emulated kernels take their time."""
    monkeypatch.setattr(reader_module, "_WORTHWHILE", 10)


def opened(path: Path, library: FakeDriver, *, required: bool = False, **options: Any) -> NvdecReader:
    settings: dict[str, Any] = {"card": emulated_card(), "library": library, "required": required, **options}
    reader = NvdecReader(path, **settings)
    reader.expect(converted=False)
    return reader


def compared(
    path: Path, library: FakeDriver, *, required: bool = False, **options: Any
) -> tuple[int, int, list[Any]]:
    return decoded_alike(path, opened(path, library, required=required, **options), **options)


def refused(path: Path, library: FakeDriver, because: str, **options: Any) -> None:
    """The card alone may decode, and doesn't."""
    with opened(path, library, required=True, **options) as reader, pytest.raises(InputError, match=because):
        list(reader)


@pytest.mark.parametrize("name", CODED)
def test_every_codec_and_depth(name: str, tmp_path: Path) -> None:
    library = FakeDriver(emulated=True)
    assert compared(clip(tmp_path, CODED[name], 12), library, required=True)[:2] == (12, 12)
    assert library.decoders == 1


@pytest.mark.parametrize(
    ("name", "pixels", "width", "height"),
    [
        ("vp9", "yuv420p", 71, 53),
        ("vp9", "yuv420p", 130, 200),
        ("vp9", "yuv420p", 65, 17),
        ("h264-10", "yuv420p10le", 66, 54),
        ("hevc-10", "yuv420p12le", 130, 202),
    ],
)
def test_odd_sizes_of_pictures_and_chroma(
    name: str, pixels: str, width: int, height: int, tmp_path: Path
) -> None:
    path = clip(tmp_path, CODED[name]._replace(pixels=pixels), 3, width=width, height=height)
    assert compared(path, FakeDriver(emulated=True), required=True)[:2] == (3, 3)


def test_luma_alone(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["h264"], 4)
    assert compared(path, FakeDriver(emulated=True), luma_only=True) == (4, 4, [])


@pytest.mark.parametrize("name", ["h264", "hevc", "vp9", "av1"])
def test_a_long_video_is_split_where_decoding_begins_anew(name: str, tmp_path: Path) -> None:
    library = FakeDriver(engines=6)
    assert compared(clip(tmp_path, CODED[name], 50), library, required=True)[:2] == (50, 50)
    assert library.decoders == 3


def test_open_groups_of_pictures_are_not_split(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["h264"], 24, **{"x264-params": "open-gop=1:bframes=2"})
    library = FakeDriver(engines=6)
    assert compared(path, library) == (24, 24, [])
    assert library.decoders == 1


def full_card(allocations: int) -> Card:
    """A card whose memory others have taken, but for a few pictures."""
    card = emulated_card()
    allocate, left = card.allocate, iter(range(allocations))

    def limited(size: int) -> Any:
        if next(left, None) is None:
            raise CardMemoryError("card 0 has no memory left")
        return allocate(size)

    card.allocate = limited
    return card


def test_a_card_whose_memory_is_taken_decodes_into_what_it_has(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["h264"], 50)
    library = FakeDriver(engines=6)
    with (
        opened(path, library, required=True, card=full_card(1)) as reader,
        ContainerReader(path) as plain,
    ):
        for expected in plain:
            found = reader.read()
            assert isinstance(found, CardPicture)
            check_equal(found, expected)
        assert reader.read() is None
    assert library.decoders == library.destroyed == 3
    said = "because the card has no memory left for its pictures: pass"
    refused(path, library, said, card=full_card(0))
    with opened(path, library, card=full_card(0)) as reader:
        assert type(reader.read()) is Picture


def test_a_reader_that_is_closed_early_ends_its_threads(tmp_path: Path) -> None:
    reader = opened(clip(tmp_path, CODED["h264"], 24), FakeDriver(engines=6))
    assert isinstance(reader.read(), CardPicture)
    reader.close()
    with pytest.raises(InputError, match="was closed"):
        reader.read()


def test_seeking(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["h264"])
    with ContainerReader(path) as reader, opened(path, FakeDriver()) as other:
        for frame in (5, 0, 18):
            reader.seek(frame)
            other.seek(frame)
            expected, found = reader.read(), other.read()
            assert expected is not None
            assert isinstance(found, CardPicture)
            check_equal(found, expected)


# ---- what the card gets wrong -------------------------------------------------------------------


def at(place: int, shown: OnFrame) -> OnFrame:
    """Have the nth picture of the card shown so, and the others as they are."""
    numbers = itertools.count(1)
    return lambda frame: shown(frame) if next(numbers) == place else [frame]


def damaged(frame: FakeFrame) -> list[FakeFrame]:
    """Have the card report an error at this picture."""
    frame.damaged = True
    return [frame]


def test_damage_that_the_card_reports(tmp_path: Path) -> None:
    library = FakeDriver(on_frame=at(14, damaged))
    count, on_card, notes = compared(clip(tmp_path, CODED["h264"]), library)
    assert count == 20
    assert 0 < on_card < 14
    assert notes == []


def test_damage_is_known_before_what_refers_to_it_is_used(tmp_path: Path) -> None:
    def on_frame(frame: FakeFrame) -> list[FakeFrame]:
        # The fifth packet is a P frame; the B frames of the next two refer to it and are shown before it.
        if frame.number in (6, 7):
            ctypes.memset(frame.address(0), 0, 64)
        frame.damaged = frame.number == 5
        return [frame]

    library = FakeDriver(on_frame=on_frame)
    path = clip(tmp_path, CODED["h264"], 20, **{"x264-params": "bframes=2:b-adapt=0:b-pyramid=0"})
    count, on_card, _ = compared(path, library)
    assert (count, on_card) == (20, 4)


@pytest.mark.parametrize("engines", [1, 6])
def test_damage_late_in_a_long_video(engines: int, tmp_path: Path) -> None:
    """Where packets are decoded several at a time, nothing of those with the damaged one is used."""

    def on_frame(frame: FakeFrame) -> list[FakeFrame]:
        frame.damaged = frame.number == 20
        if frame.number >= 20:
            ctypes.memset(frame.address(0), 0, 64)
        return [frame]

    library = FakeDriver(engines=engines, on_frame=on_frame)
    path = clip(tmp_path, CODED["h264"], 34)
    assert compared(path, library)[::2] == (34, [])


@pytest.mark.parametrize("name", ["h264", "hevc"])
def test_packets_of_which_only_the_start_is_looked_at(name: str, tmp_path: Path) -> None:
    """The first one has the encoder's words before its slice, which are longer than that start."""
    path = clip(tmp_path, CODED[name], 26, width=320, height=240)
    sizes = [packet_at(path, number)[1] for number in (0, 8, 16, 24)]
    assert min(sizes) > 2000
    library = FakeDriver(engines=6)
    assert compared(path, library) == (26, 26, [])
    assert library.decoders == 2


@pytest.mark.parametrize(("wrong", "place"), [([], 1), ([], 10), ([], 20), ([0, 0], 12)])
def test_pictures_that_are_missing_or_too_many(wrong: list[int], place: int, tmp_path: Path) -> None:
    library = FakeDriver(on_frame=at(place, lambda frame: [frame for _ in wrong]))
    count, on_card, _ = compared(clip(tmp_path, CODED["h264"]), library)
    assert count == 20
    assert on_card < 20


def test_a_first_picture_that_differs(tmp_path: Path) -> None:
    def spoil(frame: FakeFrame) -> list[FakeFrame]:
        ctypes.memset(frame.address(1) + 5, 1, 1)
        return [frame]

    assert compared(clip(tmp_path, CODED["h264"], 5), FakeDriver(on_frame=spoil))[:2] == (5, 0)


def test_a_decoder_that_fails(tmp_path: Path) -> None:
    def fail(frame: FakeFrame) -> list[FakeFrame]:
        if frame.number > 9:
            raise RuntimeError
        return [frame]

    library = FakeDriver(on_frame=fail)
    path = clip(tmp_path, CODED["h264"])
    count, on_card, _ = compared(path, library)
    assert (count, on_card > 0) == (20, True)
    refused(path, library, r"clip\.mp4' can't be decoded on the card, because .*CUDA error 999")


@pytest.mark.parametrize("wrong", [b"\0\0\0\2", b"\0\0\2"])
@pytest.mark.parametrize("name", ["h264", "hevc"])
def test_bytes_that_no_encoder_writes(name: str, wrong: bytes, tmp_path: Path) -> None:
    """A card may decode them without a word; here the one that decodes is the CPU's, which may do so too."""
    path = clip(tmp_path, CODED[name], 12, width=320, height=240)
    place, size = packet_at(path, 6)
    data = bytearray(path.read_bytes())
    data[place + size // 2 : place + size // 2 + len(wrong)] = wrong
    path.write_bytes(data)
    refused(path, FakeDriver(), "can't be decoded on the card, because a packet is damaged")


@pytest.mark.parametrize("allowed", [False, True])
def test_a_damaged_file(allowed: bool, tmp_path: Path) -> None:
    path = damage(clip(tmp_path, CODED["h264"], **{"x264-params": FRAGILE}), 12)

    def outcome(reader: ContainerReader) -> tuple[Any, ...]:
        pictures: list[Any] = []
        try:
            pictures.extend(picture.luma.copy() for picture in reader)
        except InputError as error:
            return len(pictures), str(error), [], reader.notes
        return len(pictures), None, pictures, reader.notes

    library = FakeDriver(on_frame=at(13, damaged))
    with ContainerReader(path, allow_damaged=allowed) as reader:
        expected = outcome(reader)
    with opened(path, library, allow_damaged=allowed) as reader:
        found = outcome(reader)
    np.testing.assert_equal(found, expected)


def test_a_reference_frame_that_is_missing(tmp_path: Path) -> None:
    path = without_packet(clip(tmp_path, CODED["h264"], bf="0"), 10)
    count, on_card, _ = compared(path, FakeDriver(), allow_damaged=True)
    assert count == 19
    assert on_card <= 10


# ---- what is left to the CPU --------------------------------------------------------------------


def test_film_grain_is_left_to_the_cpu(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["av1"], 5, **{"svtav1-params": "lp=1:film-grain=10"})
    refused(path, FakeDriver(), "because it has film grain")


def test_damage_that_no_card_tells_of_is_left_to_the_cpu(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["vp9"], 5)
    count, on_card, notes = compared(path, FakeDriver())
    assert (count, on_card) == (5, 0)
    assert [note.code for note in notes] == ["decoder"]
    assert notes[0].text.endswith(
        "is decoded on the CPU: the card's decoder doesn't tell of damage in VP9, so pass decoder='nvdec' "
        "only for files that are whole"
    )
    count, on_card, notes = compared(path, FakeDriver(), required=True)
    assert (count, on_card) == (5, 5)
    assert notes[0].text.endswith("is decoded on the card: the card's decoder doesn't tell of damage in VP9")


def test_fields_are_left_to_the_cpu(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["h264"], 6, **{"x264-params": "fake-interlaced=1"})
    assert compared(path, FakeDriver())[:2] == (6, 0)


def test_pictures_that_are_converted_are_left_to_the_cpu(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["h264"], 3)
    with opened(path, FakeDriver()) as reader:
        reader.expect(converted=True)
        assert not isinstance(reader.read(), CardPicture)
        assert reader.notes == []
    with (
        opened(path, FakeDriver(), required=True) as reader,
        pytest.raises(InputError, match=r"pictures are converted before .*: pass decoder='auto'"),
    ):
        reader.expect(converted=True)


def test_what_the_card_does_not_decode(tmp_path: Path) -> None:
    library = FakeDriver()
    library.unsupported.add(("H264", 10))
    path = clip(tmp_path, CODED["h264-10"], 3)
    count, on_card, notes = compared(path, library)
    assert (count, on_card) == (3, 0)
    assert [note.code for note in notes] == ["decoder"]
    assert notes[0].text.endswith("is decoded on the CPU: the card doesn't decode H264 of 420 and 10 bit")
    with pytest.raises(InputError, match="because the card doesn't decode H264 of 420 and 10 bit"):
        opened(path, library, required=True)
    small = clip(tmp_path / "small.mp4", CODED["h264"], 2, width=32, height=32)
    assert "of 48x16 to 4096x4096, and it is 32x32" in compared(small, library)[2][0].text
    exact = clip(tmp_path / "exact.mp4", CODED["h264"], 2, qp="0")
    text = compared(exact, library)[2][0].text
    assert text.endswith("the card doesn't decode H264 of the profile High 4:4:4 Predictive")
    full = clip(tmp_path / "full.mp4", CODED["h264"]._replace(pixels="yuv444p"), 2)
    assert "doesn't decode yuv444p" in compared(full, library)[2][0].text

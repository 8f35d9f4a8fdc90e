"""Addresses of http: the file's pictures, or one sentence, and never an early end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from acuity.errors import FormatError, InputError
from acuity.video import http_source
from acuity.video.http_source import HttpSource
from acuity.video.local_file import restrict
from acuity.video.readers.open import open_video
from video_clips import encode, number_at, number_of
from web_server import PATIENCE, WebServer, serving


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encode(tmp_path_factory.mktemp("clip") / "clip.mkv", frames=40)


@pytest.fixture(scope="module")
def server(clip: Path) -> Iterator[WebServer]:
    with serving(clip.read_bytes()) as running:
        yield running


def numbers(address: str) -> list[int]:
    with open_video(address, allow_network=True) as reader:
        return [number_of(picture) for picture in reader]


@pytest.mark.parametrize("how", ["ranges", "plain", "chunked", "redirect"])
def test_a_server_gives_the_file_s_pictures(server: WebServer, clip: Path, how: str) -> None:
    with open_video(clip) as file, open_video(server.address(how), allow_network=True) as reader:
        assert reader.info.path == server.address(how)
        assert reader.info.rate == file.info.rate
        assert reader.info.seekable == (how in ("ranges", "redirect"))
        for one, other in zip(file, reader, strict=True):
            assert all(map(np.array_equal, one.planes, other.planes))


def test_without_the_option_nobody_is_asked(server: WebServer) -> None:
    before = len(server.requests)
    with pytest.raises(InputError, match=r"on the network, .*pass allow_network=True"):
        open_video(server.address("ranges"))
    assert len(server.requests) == before


def test_under_a_guard_nobody_is_asked(server: WebServer) -> None:
    before = len(server.requests)
    restrict(lambda fd, name: None)
    try:
        with pytest.raises(InputError, match="only local files are read"):
            open_video(server.address("ranges"), allow_network=True)
    finally:
        restrict(None)
    assert len(server.requests) == before


@pytest.mark.parametrize("scheme", ["file", "ftp", "concat", "data", "rtmp", "tcp"])
def test_other_schemes_are_refused(scheme: str) -> None:
    with pytest.raises(InputError, match="only local files are read, so download it first"):
        open_video(f"{scheme}://127.0.0.1/clip.mkv", allow_network=True)


def test_an_index_at_the_end_needs_ranges(tmp_path: Path) -> None:
    with serving(encode(tmp_path / "clip.mp4", frames=40).read_bytes()) as server:
        with pytest.raises(FormatError, match="index comes after its frames"):
            open_video(server.address("plain"), allow_network=True)
        with open_video(server.address("ranges"), allow_network=True) as reader:
            assert [number_of(picture) for picture in reader] == list(range(40))
            assert number_at(reader, 7) == 7


@pytest.mark.parametrize("how", ["cut", "cutranges", "cutchunked"])
def test_a_lost_connection_is_no_end(server: WebServer, how: str) -> None:
    with pytest.raises(InputError, match=r"connection to '.*' was lost after \d+.* bytes") as caught:
        numbers(server.address(how))
    assert server.address(how) in str(caught.value)


def test_a_server_that_stalls(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_source, "TIMEOUT", 0.2)
    with pytest.raises(InputError, match=r"lost after .*nothing came for 0\.2 s"):
        numbers(server.address("stall"))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("missing", "the server answers 404 Not Found"),
        ("circle", "redirects more than 5 times"),
        ("away", "leads to 'ftp://127.0.0.1/clip': only addresses of http and https"),
        ("lengthless", "comes without its length"),
    ],
)
def test_bad_answers(server: WebServer, how: str, says: str) -> None:
    server.requests.clear()
    with pytest.raises(InputError, match=says):
        open_video(server.address(how), allow_network=True)
    assert len(server.requests) == (6 if how == "circle" else 1)


@pytest.mark.parametrize(
    "address", ["http://", "http://127.0.0.1:99999/a", "http://[::1", "https://no.invalid/a b"]
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(InputError) as caught:
        open_video(address, allow_network=True)
    assert address in str(caught.value)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(InputError, match=r"cannot be read .*refused"):
        open_video(f"http://127.0.0.1:{port}/clip.mkv", allow_network=True)


def test_far_jumps_ask_again_and_near_ones_read_on(clip: Path) -> None:
    data = np.random.default_rng(1).bytes(2_000_000)
    with serving(data) as server, HttpSource(server.address("ranges")) as source:
        assert source.size == len(data)
        for position in (5, 1000, 200_000, 1_500_000, 3, len(data) - 2, len(data)):
            source.seek(position)
            assert source.read(50) == data[position : position + 50]
        assert [int((asked or "=-")[6:-1]) for _, asked in server.requests] == [0, 1_500_000, 3, 1_999_998]


def test_a_reader_that_waits_for_the_server_can_be_closed(server: WebServer) -> None:
    server.stalled.clear()
    source = HttpSource(server.address("stall"))
    caught: list[Exception] = []

    def read() -> None:
        try:
            source.read(len(server.data))
        except InputError as error:
            caught.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    assert server.stalled.wait(PATIENCE)
    closer = threading.Thread(target=source.close)
    closer.start()
    closer.join(PATIENCE / 2)
    reader.join(PATIENCE / 2)
    assert not closer.is_alive()
    assert not reader.is_alive()
    assert "was closed" in str(caught[0])

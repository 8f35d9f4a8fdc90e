"""Playlists and containers that point elsewhere: refused, and nobody goes where they point.

The kernel is asked whether the other file was opened, and a port whether anybody came.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import pytest

from acuity.errors import InputError
from acuity.video.local_file import restrict
from acuity.video.readers import av_open
from acuity.video.readers.open import open_video
from canary import FileCanary, PortCanary
from video_baits import BAITS, IGNORED, Bait, lay_bait
from web_server import serving


@pytest.fixture(scope="module")
def port() -> Iterator[PortCanary]:
    canary = PortCanary()
    yield canary
    canary.close()


@pytest.fixture(scope="module")
def bait(tmp_path_factory: pytest.TempPathFactory, port: PortCanary) -> Bait:
    return lay_bait(tmp_path_factory.mktemp("bait"), port.port)


@pytest.fixture(params=["free", "guarded"])
def asked(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """With and without a guard; what the guard was asked for."""
    names: list[str] = []
    restrict((lambda fd, name: names.append(name)) if request.param == "guarded" else None)
    yield names
    restrict(None)


@contextlib.contextmanager
def laid(bait: Bait, port: PortCanary, name: str, data: bytes) -> Iterator[Path]:
    """A file with these bytes; fails if anybody goes where it points."""
    path = bait.folder / name
    path.write_bytes(data)
    with FileCanary(bait.clip) as canary:
        yield path
        assert not canary.touched
    assert not port.touched
    path.unlink()


def read_all(path: Path) -> int:
    with open_video(path) as reader:
        return sum(1 for _ in reader)


@pytest.mark.parametrize("suffix", ["its-own", ".mp4", ".mkv", ".ts", ""])
@pytest.mark.parametrize("name", BAITS)
def test_it_is_refused_and_nobody_goes_there(
    bait: Bait, port: PortCanary, asked: list[str], name: str, suffix: str
) -> None:
    own, content = BAITS[name]
    file = f"bait{own if suffix == 'its-own' else suffix}"
    with laid(bait, port, file, content(bait)) as path, pytest.raises(InputError) as caught:
        read_all(path)
    assert str(path) in str(caught.value)
    assert set(asked) <= {str(path)}


@pytest.mark.parametrize("how", ["ranges", "chunked"])
@pytest.mark.parametrize("name", BAITS)
def test_from_a_server_nobody_goes_there(bait: Bait, port: PortCanary, name: str, how: str) -> None:
    with serving(BAITS[name][1](bait)) as server, FileCanary(bait.clip) as canary:
        address = server.address(how, f"bait{BAITS[name][0]}")
        refused = pytest.raises(InputError, match=re.escape(address))
        with refused, open_video(address, allow_network=True) as one:
            next(iter(one))
        assert not canary.touched
        assert {path for path, _ in server.requests} == {f"/{how}/bait{BAITS[name][0]}"}
    assert not port.touched


@pytest.mark.parametrize("name", IGNORED)
def test_references_that_ffmpeg_ignores(bait: Bait, port: PortCanary, asked: list[str], name: str) -> None:
    with laid(bait, port, "bait.mov", IGNORED[name](bait)) as path:
        assert read_all(path) == 4  # its own frames
    assert set(asked) <= {str(path)}


ALIASES = {"enable_drefs": "1", "use_absolute_path": "1"}
LIVE: dict[str, dict[str, str]] = {"hls-file": {}, "concat-relative": {}, "vobsub": {}, "mov-alias": ALIASES}
WALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "protocols-and-a-relative-list": ("concat-relative", {"io_open": None}),
    "protocols-and-a-list": ("concat-unsafe", {"io_open": None}),
    "protocols-and-hls": ("hls-file", {"io_open": None}),
    "protocols-and-sdp": ("sdp", {"io_open": None}),
    "opening-and-an-alias": ("mov-alias", {"container_options": ALIASES}),
}


@pytest.mark.parametrize("wall", WALLS)
def test_a_wall_holds_alone(bait: Bait, port: PortCanary, monkeypatch: pytest.MonkeyPatch, wall: str) -> None:
    """Were a bait not known for what it is, and one of FFmpeg's two refusals gone, the other would do."""
    name, changed = WALLS[wall]
    monkeypatch.setattr(av_open, "_TEXTS", {})
    monkeypatch.setattr(av_open, "_REFUSED", frozenset())
    monkeypatch.chdir(bait.folder)
    real = av.open
    monkeypatch.setattr(av, "open", lambda file, **options: real(file, **{**options, **changed}))
    with laid(bait, port, f"bait{BAITS[name][0]}", BAITS[name][1](bait)) as path, pytest.raises(InputError):
        read_all(path)


@pytest.mark.parametrize("name", LIVE)
def test_the_baits_work_on_others(bait: Bait, name: str) -> None:
    """FFmpeg left to itself does open the other file, so the tests above prove something."""
    path, beside = bait.folder / f"bait{BAITS[name][0]}", bait.folder / "bait.sub"
    path.write_bytes(BAITS[name][1](bait))
    beside.write_bytes(bait.clip.read_bytes())
    with FileCanary(bait.clip, beside) as canary:
        failing = contextlib.suppress(av.error.FFmpegError, OSError)
        with failing, av.open(str(path), container_options=LIVE[name]) as container:
            list(container.demux())
        assert canary.touched
    path.unlink()
    beside.unlink()

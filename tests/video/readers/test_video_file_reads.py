"""Files read without Python's lock: the pictures, signatures, notes and refusals of the plain readers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity.errors import AcuityError
from acuity.video.alignment.signature import grid
from acuity.video.pairs import producer
from acuity.video.pairs.lone_video import LoneVideo
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pairing import pair_videos
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.file_reads import FileReads
from acuity.video.readers.open import open_video
from acuity.video.readers.raw import RawReader
from acuity.video.readers.reader import BaseReader
from acuity.video.readers.y4m import COLOURS, Y4mReader
from acuity.video.source import Source
from effort import examples
from video_clips import piped, random_planes, raw_bytes, y4m_bytes

LARGE = (301, 219)  # which several threads read
SMALL = (15, 9)
LINE = b"FRAME\n"
YUV420 = PixelFormat("420", 8)

Line = Callable[[int], bytes]


def write(
    folder: Path,
    name: str,
    size: tuple[int, int],
    count: int,
    format: PixelFormat,
    line: Line = lambda _: LINE,
) -> Path:
    """A clip with a name that says whether it is raw video or Y4M."""
    frames = [random_planes(format, *size, seed) for seed in range(count)]
    colour = next(tag for tag, known in COLOURS.items() if known == format)
    tags = f"W{size[0]} H{size[1]} F25:1 C{colour}"
    path = folder / name
    path.write_bytes(y4m_bytes(frames, tags, line) if name.endswith("y4m") else raw_bytes(frames))
    return path


def reader(path: Path, size: tuple[int, int], format: PixelFormat, *, luma_only: bool = False) -> BaseReader:
    if path.suffix == ".y4m":
        return Y4mReader(path, luma_only=luma_only)
    return RawReader(path, *size, format, luma_only=luma_only)


def shown(picture: Picture) -> tuple[bytes, ...]:
    return tuple(plane.tobytes() for plane in picture.planes)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No descriptor, which is closed when all threads have ended."""
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) <= before


class Ways:
    """Reads alone, by threads of their own or plainly; counts what was started."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.started = 0

    def both(self, act: Callable[[], Any]) -> Any:
        """What `act` gives; it has to give the same with the plain readers."""

        def counted(*given: Any, **more: Any) -> FileReads:
            self.started += 1
            return FileReads(*given, **more)

        with self._patch.context() as patched:
            patched.setattr(producer, "FileReads", counted)
            found = act()
            for kind in (RawReader, Y4mReader):
                patched.setattr(kind, "places", None)
            assert found == act()
        return found


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    return Ways(monkeypatch)


def told(
    path: Path,
    size: tuple[int, int],
    format: PixelFormat,
    *,
    luma_only: bool = False,
    at: Callable[[int], None] = lambda _: None,
    **options: Any,
) -> tuple[list[tuple[bytes, ...]], str]:
    """The pictures of one video, and the refusal that ends them; `at` is called with the number of each."""
    pictures, said = [], ""
    try:
        video = LoneVideo(reader(path, size, format, luma_only=luma_only), PairOptions(**options))
        for number, (picture, _) in enumerate(video):
            pictures.append(shown(picture))
            at(number)
    except AcuityError as error:
        said = repr(error)
    return pictures, said


@settings(max_examples=examples(30), deadline=None)
@given(
    kind=st.sampled_from(["yuv", "y4m"]),
    size=st.one_of(
        st.tuples(st.integers(1, 40), st.integers(1, 40)),
        st.tuples(st.integers(257, 301), st.integers(230, 260)),
    ),
    count=st.integers(1, 12),
    layout=st.sampled_from(["400", "420", "422", "444"]),
    depth=st.sampled_from([8, 10]),
    options=st.fixed_dictionaries(
        {"luma_only": st.booleans(), "skip_dis": st.integers(0, 3), "ahead": st.sampled_from([None, 1, 2, 5])}
    ),
)
def test_any_clip_as_the_plain_readers_read_it(
    kind: str, size: tuple[int, int], count: int, layout: str, depth: int, options: dict[str, Any]
) -> None:
    format, skip = PixelFormat(layout, depth), options["skip_dis"]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = write(Path(folder), f"clip.{kind}", size, count, format)
        ways = Ways(patch)
        pictures, _ = ways.both(lambda: told(path, size, format, **options))
        assert len(pictures) == max(count - skip, 0)
        assert ways.started == (count > skip)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("name", ["clip.yuv", "clip.y4m"])
def test_pictures_are_signed_and_seen(tmp_path: Path, name: str, size: tuple[int, int], ways: Ways) -> None:
    """Bars, and samples that leave the limited range, are noticed."""
    frames = [random_planes(YUV420, *size, seed) for seed in range(20)]
    for planes in frames:
        planes[0][: size[1] // 3] = 16
    path = tmp_path / name
    tags = f"W{size[0]} H{size[1]} F25:1 C420 XCOLORRANGE=LIMITED"
    path.write_bytes(y4m_bytes(frames, tags) if name.endswith("y4m") else raw_bytes(frames))

    def everything() -> Any:
        pairing = pair_videos(*(reader(path, size, YUV420) for _ in range(2)))
        signatures = []
        for ref, dis in pairing:
            assert ref.signature is not None
            assert dis.signature is not None
            assert np.array_equal(ref.signature, grid(ref))
            signatures.append((ref.signature.tobytes(), dis.signature.tobytes()))
        return signatures, [str(note) for note in pairing.notes]

    signatures, notes = ways.both(everything)
    assert len(signatures) == 20
    assert any("black bars" in note for note in notes) == (size == LARGE)  # a few lines are no bars
    assert ways.started == 2


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("less", [1, 10, 100])
@pytest.mark.parametrize("name", ["clip.yuv", "clip.y4m"])
def test_a_file_that_is_cut(tmp_path: Path, name: str, size: tuple[int, int], less: int, ways: Ways) -> None:
    path = write(tmp_path, name, size, 12, YUV420)
    whole = path.read_bytes()

    def cut(number: int) -> None:
        if number == 3:
            os.truncate(path, len(whole) - less)

    def act() -> Any:
        path.write_bytes(whole)
        return told(path, size, YUV420, ahead=2, at=cut)

    pictures, said = ways.both(act)
    assert ways.started == 1
    assert len(pictures) == 11
    assert "ends in the middle of frame 11" in said


def test_a_system_that_refuses_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "clip.yuv", LARGE, 9, YUV420)
    expected = told(path, LARGE, YUV420)

    def refuse(_: Source) -> int:
        raise OSError(24, "Too many open files")

    for kind in Source.__subclasses__():
        monkeypatch.setattr(kind, "duplicate", refuse)
    assert told(path, LARGE, YUV420) == expected


def test_a_reader_that_was_closed(tmp_path: Path) -> None:
    opened = reader(write(tmp_path, "clip.yuv", LARGE, 9, YUV420), LARGE, YUV420)
    video = LoneVideo(opened, PairOptions(ahead=2))
    pictures = iter(video)
    next(pictures)
    opened.close()
    with pytest.raises(AcuityError, match="was closed"):
        list(pictures)


ALONE = """
import os, sys
from acuity.video.pairs.lone_video import LoneVideo
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.readers.open import open_video

def start():
    video = open_video(sys.argv[1], width=301, height=219, pixel_format="420", bitdepth=8)
    return iter(LoneVideo(video, PairOptions()))
"""
FORKS = """
pictures = start()
first = next(pictures)
child = os.fork()
count = 1 + len(list(pictures))
if not child:
    os._exit(count)
print(count, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
LEAVES = """
pictures = start()
kept = next(pictures)
print("left")
"""


@pytest.mark.parametrize(("script", "said"), [(FORKS, "9 9"), (LEAVES, "left")], ids=["fork", "exit"])
def test_a_process_of_its_own(tmp_path: Path, script: str, said: str) -> None:
    """One that is forked on the way, and one that ends without closing anything."""
    path = write(tmp_path, "clip.yuv", LARGE, 9, YUV420)
    command = [sys.executable, "-W", "ignore", "-c", ALONE + script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, said, "")


def test_a_pipe_has_no_places(tmp_path: Path) -> None:
    path = write(tmp_path, "clip.y4m", SMALL, 2, YUV420, lambda n: b"FRAME Ip\n" if n else LINE)
    with open_video(path) as video:  # a line has another length
        assert video.places is None
    with piped(tmp_path, b"") as pipe, RawReader(pipe, *SMALL, YUV420) as raw:
        assert raw.places is None

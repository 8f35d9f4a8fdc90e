"""Opening files: one place, one guard, and everything the engine reads passes it."""

from __future__ import annotations

import ast
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import acuity
from acuity.errors import InputError, PathError
from acuity.models import load_model
from acuity.models.describe import list_models
from acuity.models.sources import FOLDERS_VARIABLE
from acuity.video.local_file import local_size, open_local, restrict, restricted
from acuity.video.pairs.plausibility import plausibility_warnings
from acuity.video.picture import PixelFormat
from acuity.video.readers.container import ContainerReader
from acuity.video.readers.open import open_video
from acuity.video.readers.raw import RawReader
from acuity.video.readers.y4m import Y4mReader
from acuity.video.source import open_source
from canary import open_descriptors
from small_model import small_document
from video_clips import encode, random_planes, raw_bytes, y4m_bytes

FORMAT = PixelFormat("420", 8)
FRAMES = [random_planes(FORMAT, 64, 48, seed) for seed in range(3)]
GEOMETRY = {"width": 64, "height": 48, "pixel_format": "420", "bitdepth": 8}


class Recorder:
    """A guard that lets everything under a folder pass, and remembers what it was asked."""

    def __init__(self, root: Path) -> None:
        self.root = os.path.realpath(root)
        self.asked: list[str] = []
        self.position: set[int] = set()

    def __call__(self, fd: int, name: str) -> None:
        self.asked.append(name)
        self.position.add(os.lseek(fd, 0, os.SEEK_CUR))
        found = os.readlink(f"/proc/self/fd/{fd}")
        if not found.startswith(f"{self.root}/"):
            raise PathError(f"{name} is refused")


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(tmp_path / "in")
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    restrict(recorder)
    yield recorder
    restrict(None)


def test_without_a_guard_anything_is_opened(tmp_path: Path) -> None:
    assert not restricted()
    (tmp_path / "file").write_bytes(b"abc")
    fd = open_local(tmp_path / "file")
    assert os.read(fd, 9) == b"abc"
    assert not os.get_inheritable(fd)
    os.close(fd)
    os.close(open_local("/dev/null"))
    os.close(open_local(tmp_path))
    with pytest.raises(FileNotFoundError):
        open_local(tmp_path / "none")


def test_a_guard_sees_every_descriptor_before_it_is_read(tmp_path: Path, guard: Recorder) -> None:
    assert restricted()
    (tmp_path / "in/file").write_bytes(b"abc")
    (tmp_path / "out/file").write_bytes(b"abc")
    os.close(open_local(tmp_path / "in/file"))
    before = open_descriptors()
    with pytest.raises(PathError, match="is refused"):
        open_local(tmp_path / "out/file")
    assert open_descriptors() == before
    assert guard.asked == [str(tmp_path / "in/file"), str(tmp_path / "out/file")]
    assert guard.position == {0}
    restrict(None)
    os.close(open_local(tmp_path / "out/file"))


def test_under_a_guard_only_plain_files_are_opened(tmp_path: Path, guard: Recorder) -> None:
    """A pipe without a writer would make an ordinary opening wait for ever."""
    os.mkfifo(tmp_path / "in/pipe")
    (tmp_path / "in/device").symlink_to("/dev/zero")
    for kind, name in (("pipe", "in/pipe"), ("device", "in/device"), ("folder", "in")):
        for attempt in (open_local, open_source, open_video, local_size):
            with pytest.raises(PathError, match=f"is a {kind}, and only plain files are read"):
                attempt(tmp_path / name)
    assert guard.asked == []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "in/s"))
        with pytest.raises(InputError, match="cannot open"):
            open_video(tmp_path / "in/s")


def test_under_a_guard_standard_input_is_not_read(guard: Recorder) -> None:
    for attempt in (open_source, open_video):
        with pytest.raises(PathError, match=r"standard input .* is not read here: name a file"):
            attempt("-")
    with pytest.raises(PathError):
        open_video("-", **GEOMETRY)  # type: ignore[arg-type]
    for name in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        with suppress(OSError), pytest.raises(PathError):
            open_local(name)


def test_sizes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    assert local_size(tmp_path / "file") == local_size(str(tmp_path / "link")) == 3
    os.mkfifo(tmp_path / "pipe")
    for name in ("none", "pipe", ".", "file/file", "x" * 300, "a\0b"):
        assert local_size(tmp_path / name) is None


def videos(folder: Path) -> dict[str, Path]:
    """One of each kind that there is a reader for."""
    (folder / "clip.yuv").write_bytes(raw_bytes(FRAMES))
    (folder / "clip.y4m").write_bytes(y4m_bytes(FRAMES, "W64 H48"))
    encode(folder / "clip.avi", codec="mpeg4", frames=12, size=(64, 48))
    return {kind: folder / f"clip.{kind}" for kind in ("yuv", "y4m", "avi")}


READERS: dict[str, Callable[[Path], object]] = {
    "open-raw": lambda path: open_video(path, **GEOMETRY),  # type: ignore[arg-type]
    "open-guessing": lambda path: open_video(path, width=64, height=48, guess=True),
    "open": open_video,
    "raw": lambda path: RawReader(path, 64, 48, FORMAT),
    "y4m": Y4mReader,
    "container": ContainerReader,
    "source": open_source,
    "model": lambda path: load_model(f"path={path}"),
    "score": lambda path: acuity.score(path, path, **GEOMETRY),  # type: ignore[arg-type]
    "score-container": lambda path: acuity.score(path, path),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("suffix", ["yuv", "y4m", "avi"])
@pytest.mark.parametrize("way", ["straight", "link", "folder-link", "dots", "descriptor", "hard-path"])
def test_nothing_reads_what_the_guard_refuses(
    tmp_path: Path, guard: Recorder, reader: str, suffix: str, way: str
) -> None:
    target = tmp_path / f"out/clip.{suffix}"
    target.write_bytes(b"YUV4MPEG2 W64 H48\n" if suffix == "y4m" else bytes(4608))
    (tmp_path / f"in/link.{suffix}").symlink_to(target)
    (tmp_path / "in/folder").symlink_to(tmp_path / "out")
    held = os.open(target, os.O_RDONLY)
    path = {
        "straight": target,
        "link": tmp_path / f"in/link.{suffix}",
        "folder-link": tmp_path / f"in/folder/clip.{suffix}",
        "dots": Path(f"{tmp_path}/in/../out/clip.{suffix}"),
        "descriptor": Path(f"/proc/self/fd/{held}"),
        "hard-path": Path(f"/proc/self/root{target}"),
    }[way]
    before = open_descriptors()
    with pytest.raises(PathError, match="is refused"):
        READERS[reader](path)
    assert open_descriptors() == before
    assert os.lseek(held, 0, os.SEEK_CUR) == 0
    os.close(held)


def test_what_is_allowed_is_read_as_ever(tmp_path: Path, guard: Recorder) -> None:
    found = videos(tmp_path / "in")
    for kind, given in (("yuv", GEOMETRY), ("y4m", {}), ("avi", {})):
        guard.asked.clear()
        with open_video(found[kind], **given) as reader:  # type: ignore[arg-type]
            assert sum(1 for _ in reader) == (12 if kind == "avi" else 3)
        assert set(guard.asked) == {str(found[kind])}
    model = tmp_path / "in/model.json"
    model.write_text(json.dumps(small_document()))
    guard.asked.clear()
    report = acuity.score(found["avi"], found["avi"], model=f"path={model}")
    assert len(report.results.frames) == 12
    assert set(guard.asked) == {str(model), str(found["avi"])}


def test_a_file_that_is_swapped_while_it_is_read(tmp_path: Path, guard: Recorder) -> None:
    """Going back opens a container again, and by then its name may lead elsewhere."""
    clip, other = videos(tmp_path / "in")["avi"], videos(tmp_path / "out")["avi"]
    with open_video(clip) as reader:
        pictures = iter(reader)
        assert next(pictures) is not None
        clip.unlink()
        clip.symlink_to(other)
        assert next(pictures) is not None  # the file that was opened
        with pytest.raises(PathError, match="is refused"):
            reader.seek(0)


def test_comparing_bytes_is_guarded_too(tmp_path: Path) -> None:
    infos = []
    for path in (tmp_path / "one.yuv", tmp_path / "other.yuv"):
        path.write_bytes(raw_bytes(FRAMES))
        with open_video(path, **GEOMETRY) as reader:  # type: ignore[arg-type]
            infos.append(reader.info)
    assert [note.code for note in plausibility_warnings(*infos)] == ["identical"]
    restrict(Recorder(tmp_path / "elsewhere"))
    try:
        assert plausibility_warnings(*infos) == []
    finally:
        restrict(None)


def test_models_by_name_are_guarded(tmp_path: Path, guard: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("in", "out"):
        (tmp_path / folder / f"{folder}.json").write_text(json.dumps(small_document()))
    (tmp_path / "in/sneaky.json").symlink_to(tmp_path / "out/out.json")
    monkeypatch.setenv(FOLDERS_VARIABLE, f"{tmp_path}/in:{tmp_path}/out")
    assert load_model("version=in").name == "vmaf"
    for name in ("out", "sneaky"):
        with pytest.raises(PathError, match="is refused"):
            load_model(f"version={name}")
    problems = {model.name: model.problem for model in list_models()}
    assert problems["in"] is None
    assert "is refused" in str(problems["out"])
    assert "is refused" in str(problems["sneaky"])


def test_a_source_can_be_opened_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abcdef")
    source = open_source(tmp_path / "file")
    assert source.peek(3) == b"abc"
    with source.reopen() as other:
        assert source.read(2) == b"ab"
        assert other.read(9) == b"abcdef"
    source.close()
    with pytest.raises(InputError, match="was closed"):
        source.read(1)
    with source.reopen() as other:
        assert other.read(1) == b"a"


# Calls that open or read a file by its name.
_OPENING = {"open", "fdopen", "read_text", "read_bytes", "open_code", "fromfile", "memmap", "loadtxt", "load"}
# What remains: av.open() gets an object to read from, json.loads() is no opening.
_KNOWN = {
    ("local_file.py", "os.open"),
    ("local_file.py", "open"),
    ("av_open.py", "av.open"),
    ("document.py", "open"),
    ("plausibility.py", "open"),
}


@pytest.mark.parametrize("room", ["video", "models", "measure", "features"])
def test_no_other_place_opens_files(room: str) -> None:
    """open() is fine with opener=local_opener; anything else has to go through local_file.py."""
    found = set()
    for path in (Path(acuity.__file__).parent / room).glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            if name.rsplit(".", 1)[-1] in _OPENING:
                found.add((path.name, name))
                guarded = any(keyword.arg == "opener" for keyword in node.keywords)
                assert name != "open" or guarded, f"{path.name}: {ast.unparse(node)}"
    assert found <= _KNOWN

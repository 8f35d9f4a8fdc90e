"""Whatever the text: what is accepted lies under a root, and what lies under a root is accepted."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acuity.access.paths import AllowedPaths
from acuity.errors import ModelError, PathError
from acuity.models import parse_spec
from path_ground import CLIP, Ground, make_ground

# Pieces that lead around in the world of path_ground.py, and some that lead out of it.
PIECES = (
    *("", ".", "..", "...", "sub", "clip.yuv", "good.yuv", "up", "slash", "loop", "proc_cwd", "proc_root"),
    *("out_folder", "out.yuv", "secret.yuv", "allowed", "outside", "allowed_evil", "dangling.yuv", "etc"),
    *("passwd", "~", "%2e%2e", "\0", "\n", "pipe.yuv", "folder.yuv", "fds", "0", "a:b", " "),
)
STARTS = ("", "/", "//", "{root}/", "{base}/", "{outside}/", "file://", "file://{root}/", "http://", "~/")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_ground(tmp_path_factory.mktemp("paths"))


@example(start="{root}/", pieces=["sub", "..", "good.yuv"])  # accepted
@example(start="{root}/", pieces=["up", "outside", "secret.yuv"])
@given(start=st.sampled_from(STARTS), pieces=st.lists(st.sampled_from(PIECES), max_size=9))
def test_nothing_outside_is_ever_accepted(world: Ground, start: str, pieces: list[str]) -> None:
    assert_inside_or_refused(world, world.text(start) + "/".join(pieces))


@given(start=st.sampled_from(STARTS), rest=st.text(max_size=40))
def test_any_text_is_read_inside_or_refused(world: Ground, start: str, rest: str) -> None:
    assert_inside_or_refused(world, world.text(start) + rest)


def assert_inside_or_refused(world: Ground, text: str) -> None:
    for path in (accepted(world, text), *(accepted_model(world, spec) for spec in (text, f"path={text}"))):
        if path is not None:
            assert path.is_relative_to(world.root)
            assert path != world.root
            assert os.path.realpath(path) == str(path)
            assert stat.S_ISREG(os.lstat(path).st_mode)


def accepted(world: Ground, text: str) -> Path | None:
    try:
        return world.paths.check(text)
    except PathError as error:
        sentence = str(error)
    assert sentence.isprintable()
    return None


def accepted_model(world: Ground, spec: str) -> Path | None:
    """The path that a model would be read from."""
    try:
        path = parse_spec(world.paths.check_model(spec)).path
    except (PathError, ModelError):
        return None
    return None if path is None else Path(path)


ODD_NAMES = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="/"), min_size=1, max_size=40
).filter(lambda name: name not in (".", "..") and len(name.encode()) <= 200)


@given(name=ODD_NAMES, folder=ODD_NAMES)
def test_allowed_files_with_odd_names_are_read(name: str, folder: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(os.path.realpath(scratch))
        (root / folder).mkdir()
        path = root / folder / name
        path.write_bytes(CLIP)
        paths = AllowedPaths([root])
        assert paths.check(str(path)) == path
        assert paths.check(f"file://{quote(str(path))}") == path
        with paths.open(str(path)) as file:
            assert os.read(file.fd, 1000) == CLIP


@pytest.mark.parametrize(
    "name",
    [
        "a b.yuv",
        " a",
        "a ",
        "a:b.yuv",
        "http:x",
        "файл.yuv",
        "视频.mkv",
        "👩‍👩‍👧.mp4",
        "...",
        "..a",
        "a..b",
        "-",
        "--x",
        "~a",
        "%2e",
        "$x",
        "a;b",
    ],
)
def test_odd_names_can_be_written_with_a_dot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert AllowedPaths([tmp_path]).check(f"./{name}") == tmp_path / name

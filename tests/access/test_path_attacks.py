"""Attempts to read or write outside the allowed roots, one by one. Each must fail, in one clear sentence.

The kernel itself is asked whether anything outside was opened meanwhile.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acuity.access.paths import AllowedPaths
from acuity.errors import AcuityError, FeatureError, ModelError, PathError
from acuity.models import parse_spec
from canary import FileCanary, open_descriptors
from path_attempts import FEATURES, MODELS, OUTPUTS, READS
from path_ground import CLIP, Ground


@pytest.fixture
def ground(world: Ground, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    """The world, entered; at the end nothing outside was opened, and no descriptor is left."""
    monkeypatch.chdir(world.base)
    monkeypatch.setenv("HOME", str(world.home))
    before = sorted(os.listdir(world.root))
    with FileCanary(world.outside, world.evil, world.home) as canary:
        held = open_descriptors()
        yield world
        assert open_descriptors() == held
        assert not canary.touched
    assert sorted(os.listdir(world.root)) == before


def refused(attempt: Callable[[str], object], text: str, *errors: type[AcuityError]) -> str:
    with pytest.raises((PathError, *errors)) as caught:
        attempt(text)
    message = str(caught.value)
    assert message.isprintable()
    assert 0 < len(message) < 1000
    return message


@pytest.mark.parametrize("name", READS)
def test_reading(ground: Ground, name: str) -> None:
    refused(ground.paths.check, ground.text(READS[name]))


@pytest.mark.parametrize("name", READS)
def test_reading_as_a_model(ground: Ground, name: str) -> None:
    text = ground.text(READS[name])
    refused(ground.paths.check_model, f"path={text}", ModelError)
    if "/" in text or "\\" in text:  # otherwise it may be the name of a model
        refused(ground.paths.check_model, text, ModelError)


@pytest.mark.parametrize("name", READS)
def test_reading_as_an_option(ground: Ground, name: str) -> None:
    refused(ground.paths.check_feature, f"lpips=model_path={ground.text(READS[name])}", FeatureError)


@pytest.mark.parametrize("name", MODELS)
def test_models(ground: Ground, name: str) -> None:
    refused(ground.paths.check_model, ground.text(MODELS[name]), ModelError)


@pytest.mark.parametrize("name", FEATURES)
def test_features(ground: Ground, name: str) -> None:
    refused(ground.paths.check_feature, ground.text(FEATURES[name]), FeatureError)


@pytest.mark.parametrize("name", OUTPUTS)
def test_writing(ground: Ground, name: str) -> None:
    refused(ground.paths.check_output, ground.text(OUTPUTS[name]))


def test_whether_something_outside_exists_is_not_told(ground: Ground) -> None:
    there, missing = (
        refused(ground.paths.check, str(ground.outside / name)).replace(name, "X")
        for name in ("secret.yuv", "not_there.yuv")
    )
    assert there == missing
    assert there.endswith("not under an allowlisted root; set VMAF_MCP_ALLOW to extend.")


def test_the_canary_sings(world: Ground) -> None:
    """Or the tests above would prove nothing."""
    with FileCanary(world.outside) as canary:
        assert not canary.touched
        world.secret.read_bytes()
        assert canary.touched
        assert not canary.touched


# Pieces that lead around in the world of path_ground.py, and some that lead out of it.
PIECES = (
    *("", ".", "..", "...", "sub", "clip.yuv", "good.yuv", "up", "slash", "loop", "proc_cwd", "proc_root"),
    *("out_folder", "out.yuv", "secret.yuv", "allowed", "outside", "allowed_evil", "dangling.yuv", "etc"),
    *("passwd", "~", "%2e%2e", "\0", "\n", "pipe.yuv", "folder.yuv", "fds", "0", "a:b", " "),
)
STARTS = ("", "/", "//", "{root}/", "{base}/", "{outside}/", "file://", "file://{root}/", "http://", "~/")


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


def test_odd_names_can_be_written_with_a_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["a b.yuv", " a", "a ", "a:b.yuv", "http:x", "视频.mkv", "👩\u200d👩\u200d👧.mp4", "...", "a..b"]
    for name in (*names, "-", "--x", "~a", "%2e", "$x", "a;b"):
        (tmp_path / name).touch()
        assert AllowedPaths([tmp_path]).check(f"./{name}") == tmp_path / name

"""The folders a server may read from by default, and what an operator may add."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from acuity.access.paths import AllowedPaths
from acuity.errors import PathError, SettingsError
from acuity.models.describe import list_models
from acuity.models.sources import FOLDERS_VARIABLE
from path_ground import Ground


@pytest.fixture(autouse=True)
def ground(world: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ground:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv(FOLDERS_VARIABLE, raising=False)
    return world


def roots_with(tmp_path: Path, *allow: str) -> tuple[Path, ...]:
    return AllowedPaths.configured(tmp_path / "data", allow).roots


def test_defaults(tmp_path: Path) -> None:
    roots = roots_with(tmp_path)
    assert {Path("/workspace/python/test/resource"), tmp_path / "data/outputs"} <= {*roots}
    assert not {tmp_path / "data", tmp_path / "testdata"} & {*roots}
    for name in ("testdata", "model", "python/test/resource"):
        (tmp_path / name).mkdir(parents=True)
        assert tmp_path / name in roots_with(tmp_path)
    paths = AllowedPaths.configured(tmp_path / "data", (str(tmp_path / "clips"),))
    videos = {root.relative_to(tmp_path) for root in paths.video_roots if root.is_relative_to(tmp_path)}
    assert videos == {*map(Path, ("clips", "testdata", "model", "python/test/resource", "data/outputs"))}
    assert {*paths.video_roots} < {*paths.roots}
    assert tmp_path not in paths.roots


def test_listed_models_can_be_read_by_their_path(
    tmp_path: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "my_model.json").write_bytes((ground.root / "model.json").read_bytes())
    monkeypatch.setenv(FOLDERS_VARIABLE, str(mine))
    paths = AllowedPaths.configured(tmp_path / "data")
    models = list_models()
    assert "my_model" in {model.name for model in models}
    for model in models:
        assert paths.check_model(f"path={model.path}") == f"path={os.path.realpath(model.path)}"
        with pytest.raises(PathError, match="only read"):
            paths.check_output(str(model.path.with_name("new.json")))


def test_packages_whose_files_are_links(
    tmp_path: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As some installers make them, to share a cache."""
    cache, package = tmp_path / "cache", tmp_path / "lib/ffmpeg_quality_metrics"
    cache.mkdir()
    (package / "vmaf_models").mkdir(parents=True)
    (package / "__init__.py").touch()
    (cache / "m.json").write_bytes((ground.root / "model.json").read_bytes())
    (package / "vmaf_models/m.json").symlink_to(cache / "m.json")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    paths = AllowedPaths.configured(tmp_path / "data")
    assert paths.check_model(f"path={package}/vmaf_models/m.json") == f"path={cache}/m.json"


def test_what_the_operator_adds(tmp_path: Path, ground: Ground) -> None:
    (tmp_path / "home/clips").mkdir(parents=True)
    (tmp_path / "link").symlink_to(ground.root)
    later = tmp_path / "later"
    roots = roots_with(tmp_path, str(tmp_path / "link"), "~/clips", "", str(later), f"{later}/")
    assert {ground.root, tmp_path / "home/clips", later} <= set(roots)
    assert roots.count(later) == 1
    paths = AllowedPaths(roots)
    later.mkdir()
    (later / "clip.yuv").touch()
    assert paths.check(str(later / "clip.yuv")) == later / "clip.yuv"
    (tmp_path / "home/clips").rmdir()
    (tmp_path / "home/clips").symlink_to(ground.outside)  # not what was allowed
    with pytest.raises(PathError, match="not under"):
        paths.check(str(tmp_path / "home/clips/secret.yuv"))


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("clips", "not absolute: write the whole path"),
        (".", "not absolute"),
        ("~nobody_here/clips", "not absolute"),
        ("/", "every file of this machine"),
        ("/..", "every file of this machine"),
        ("{root}/slash", "every file of this machine"),
        ("{root}/up/../../../../../../../..", "every file of this machine"),
        ("/proc", "every file of this machine or the kernel's own"),
        ("/sys/kernel", "the kernel's own"),
        ("{root}/clip.yuv", "is no folder"),
        ("{data}", "is the data folder"),
    ],
)
def test_entries_that_are_refused(tmp_path: Path, ground: Ground, entry: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why) as caught:
        roots_with(tmp_path, ground.text(entry.replace("{data}", f"{tmp_path}/data")))
    assert "VMAF_MCP_ALLOW" in str(caught.value)


def test_a_data_folder_that_opens_everything() -> None:
    with pytest.raises(SettingsError, match="ACUITY_DATA"):
        AllowedPaths.configured(Path("/"))


def test_the_data_folder_is_private_even_inside_an_allowed_one(tmp_path: Path) -> None:
    paths = AllowedPaths.configured(tmp_path / "data", (str(tmp_path),))
    (tmp_path / "data/outputs").mkdir(parents=True)
    (tmp_path / "data/worst").mkdir()
    for name in ("jobs.sqlite", "worst/frame.png", "outputs/tuned.mkv"):
        (tmp_path / "data" / name).write_bytes(b"x")
    assert paths.check(str(tmp_path / "data/outputs/tuned.mkv")).name == "tuned.mkv"
    (tmp_path / "link").symlink_to(tmp_path / "data/jobs.sqlite")
    for name in ("data/jobs.sqlite", "data/worst/frame.png", "link"):
        with pytest.raises(PathError, match="allowlisted root"):
            paths.check(str(tmp_path / name))
    with pytest.raises(PathError, match="allowlisted root"):
        paths.check_folder(str(tmp_path / "data/worst"))


def test_where_files_may_be_written(tmp_path: Path) -> None:
    where = {"data/outputs": True, "clips": False, "clips/made": True, "data": False, "testdata": False}
    for name in where:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    paths = AllowedPaths.configured(
        tmp_path / "data", (str(tmp_path / "clips"),), (str(tmp_path / "clips/made"),)
    )
    for name, allowed in where.items():
        with nullcontext() if allowed else pytest.raises(PathError):
            paths.check_output(str(tmp_path / name / "new"))


def test_a_folder_that_is_only_read_and_the_option_are_named(tmp_path: Path) -> None:
    for name in ("clips", "made"):
        (tmp_path / name).mkdir()
    paths = AllowedPaths.configured(tmp_path / "data", (str(tmp_path / "clips"),), (str(tmp_path / "made"),))
    with pytest.raises(PathError) as refused:
        paths.check_output(str(tmp_path / "clips/new.mp4"))
    assert str(refused.value) == (
        f"path {tmp_path}/clips/new.mp4 is in '{tmp_path}/clips', which is only read: write to "
        f"'{tmp_path}/made', or allow it with --allow-write DIR (VMAF_MCP_ALLOW_WRITE)"
    )


def test_a_folder_for_outputs_holds_no_more_than_its_quota(tmp_path: Path) -> None:
    (tmp_path / "made/deep").mkdir(parents=True)
    paths = AllowedPaths.configured(tmp_path / "data", (), (str(tmp_path / "made"),), quota=40_000)
    (tmp_path / "made/deep/old.mp4").write_bytes(bytes(20_000))
    new = paths.check_output(str(tmp_path / "made/new.mp4"))
    paths.check_room(new, 10_000)
    for more, count in ((20_000, 0), (0, 5)):  # a large file, or many small ones
        for number in range(count):
            (tmp_path / f"made/{number}").touch()
        with pytest.raises(PathError, match=r"made' has no room for .* 40000 bytes \(--max-output-bytes\)"):
            paths.check_room(new, more)

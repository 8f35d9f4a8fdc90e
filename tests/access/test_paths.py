"""The allowlist: what it lets pass, which folders it has by default, and that nothing else gets through."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acuity.access.paths import AllowedPaths
from acuity.errors import FeatureError, ModelError, PathError
from acuity.models import parse_spec
from canary import open_descriptors
from path_ground import CLIP, Ground

DEVICES = Path("/dev")


@pytest.fixture(autouse=True)
def ground(world: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.chdir(world.base)
    return world


@pytest.mark.parametrize(
    ("template", "leads_to"),
    [
        ("{root}/clip.yuv", "clip.yuv"),
        ("{root}/sub/clip.yuv", "sub/clip.yuv"),
        ("allowed/clip.yuv", "clip.yuv"),
        ("//{root}//clip.yuv", "clip.yuv"),
        ("{root}/sub/../clip.yuv", "clip.yuv"),
        ("{root}/good.yuv", "clip.yuv"),
        ("{root}/up/allowed/sub/clip.yuv", "sub/clip.yuv"),
        ("{root}/slash/{root}/clip.yuv", "clip.yuv"),
        ("file://{root}/clip.yuv", "clip.yuv"),
        ("File://{root}/sub/%63lip.yuv", "sub/clip.yuv"),
    ],
)
def test_what_is_under_a_root_is_opened(ground: Ground, template: str, leads_to: str) -> None:
    text = ground.text(template)
    before = open_descriptors()
    assert ground.paths.check(text) == ground.root / leads_to
    assert open_descriptors() == before
    with ground.paths.open(text) as file:
        assert file.path == ground.root / leads_to
        assert os.read(file.fd, 1000) == CLIP
        assert not os.get_inheritable(file.fd)
    assert open_descriptors() == before


def test_the_sentence_of_the_reference(ground: Ground) -> None:
    def refused(paths: AllowedPaths, text: str) -> str:
        with pytest.raises(PathError) as caught:
            paths.check(text)
        return str(caught.value)

    outside = "path /etc/passwd not under an allowlisted root; set VMAF_MCP_ALLOW to extend."
    missing = f"no such file under the allowed folders: {ground.root}"
    assert refused(ground.paths, "/etc/passwd") == outside
    assert refused(ground.paths, "allowed/missing.yuv") == f"{missing}/missing.yuv"
    helpful = AllowedPaths([ground.root], listed_by="list_videos")
    for name, remedy in {
        **dict.fromkeys(("missing.yuv", "$HOME/a.yuv", "-rf"), "; list_videos shows what is there"),
        "none.parquet": "; list_videos with kind=table shows what is there",
        "none.onnx": "; list_videos with kind=model shows what is there",
        "enc_*.mp4": "; patterns are not read here: name each file, as list_videos with name=enc_ shows them",
        "shot*.png": "; patterns of images are not read here, so make a video of them",
    }.items():
        assert refused(helpful, f"{ground.root}/{name}") == f"{missing}/{name}{remedy}"
    advice = "list_videos shows what can be read: pass a path as it has them, in full."
    assert refused(helpful, "/etc/passwd") == f"{outside} {advice}"
    with pytest.raises(PathError, match=r"none\.json; list_models shows the models$"):
        helpful.check_model(f"path={ground.root}/none.json")


def test_a_root_is_a_folder(ground: Ground) -> None:
    for text in (str(ground.root), "allowed", f"{ground.root}/sub/.."[:-3] + "/../../allowed"):
        with pytest.raises(PathError, match="is an allowed folder, not a file: name a file in it"):
            ground.paths.check(text)


def test_folders(ground: Ground) -> None:
    assert ground.paths.check_folder(f"{ground.root}/") == ground.root
    assert ground.paths.check_folder(f"{ground.root}/sub") == ground.root / "sub"
    for text in (str(ground.base), f"{ground.root}/out_folder", f"{ground.root}/up", "/", "/etc"):
        with pytest.raises(PathError, match="not under an allowlisted root"):
            ground.paths.check_folder(text)
    for text in (f"{ground.root}/clip.yuv", f"{ground.root}/missing"):
        with pytest.raises(PathError, match="is no folder"):
            ground.paths.check_folder(text)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("~/clip.yuv", "path ~/clip.yuv starts with '~', which is not expanded: give the whole path"),
        ("http://h/x.mp4", r"is read as an address \('http:'\), and only local files are read"),
        ("clip:1.yuv", r"is given as './NAME' or with its whole path"),
        ("file://host/x.mp4", "names a host, and only local files are read: give it as file:///"),
        ("file:///x.mp4?a=1", "has a query, which no file has"),
        ("file:///x.mp4#a", "has a fragment"),
        ("file:///%ff", "is not UTF-8"),
        ("file:///%", "has a '%' that is no escape"),
        ("a\0b", r"path a\\x00b has the control character U\+0000 in it: leave it out"),
        ("\udc80", "is not valid Unicode"),
        ("", "the path is empty: name one"),
        ("x" * 5000, "is longer than 4095 bytes"),
        ("{root}/", "names a folder: name a file"),
        ("{root}/loop", "is a link that leads to no file"),
        ("{root}/loop/clip.yuv", "links that go in circles"),
        ("{root}/" + "x" * 300, "has a name that is too long"),
        ("{root}/pipe.yuv", "is a pipe, and only plain files are read here: name a file"),
    ],
)
def test_sentences_say_what_to_do(ground: Ground, template: str, says: str) -> None:
    with pytest.raises(PathError, match=says):
        ground.paths.check(ground.text(template))


def test_devices_are_refused_even_under_a_root() -> None:
    paths = AllowedPaths([DEVICES])
    for name in ("null", "zero", "urandom"):
        with pytest.raises(PathError, match="is a device, and only plain files"):
            paths.check(f"/dev/{name}")


def test_a_file_that_may_not_be_read(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: object, flags: int) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)  # permissions don't stop root, who may run this
    with pytest.raises(PathError, match="may not be read by this server: check its permissions"):
        ground.paths.check("allowed/clip.yuv")


def test_without_proc_nothing_is_read(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: object) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "readlink", missing)
    with pytest.raises(PathError, match="can't read /proc"):
        ground.paths.check(str(ground.root / "clip.yuv"))


def test_a_current_folder_that_is_gone(tmp_path: Path, ground: Ground) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with pytest.raises(PathError, match="relative to a folder that is gone"):
        ground.paths.check("clip.yuv")
    assert ground.paths.check(f"{ground.root}/clip.yuv") == ground.root / "clip.yuv"


def test_a_file_that_exists_is_no_new_one(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    paths = AllowedPaths([tmp_path])
    for name in ("new.json", "in/new.json"):
        assert paths.check_output(str(tmp_path / name)) == tmp_path / name
        (tmp_path / name).write_bytes(b"{}")
        with pytest.raises(PathError, match="exists already: give a new name"):
            paths.check_output(str(tmp_path / name))


def test_the_innermost_root_decides(tmp_path: Path) -> None:
    (tmp_path / "data/outputs").mkdir(parents=True)
    paths = AllowedPaths([tmp_path / "data"], writable=[tmp_path, tmp_path / "data/outputs"])
    for name in ("a", "data/outputs/a"):
        assert paths.check_output(str(tmp_path / name)) == tmp_path / name
    with pytest.raises(PathError, match="which is only read"):
        paths.check_output(str(tmp_path / "data/jobs.sqlite-wal"))


@pytest.mark.parametrize(
    ("spec", "becomes"),
    [
        ("vmaf_v0.6.1", "version=vmaf_v0.6.1"),
        ("version=vmaf_v0.6.1:name=neg:disable_clip", "version=vmaf_v0.6.1:name=neg:disable_clip"),
        ("vmaf_v0.6.1:vif.vif_enhn_gain_limit=1.0", "version=vmaf_v0.6.1:vif.vif_enhn_gain_limit=1.0"),
        ("version=vmaf_v0.6.1.json", "version=vmaf_v0.6.1.json"),  # the engine knows a better name
        ("path=allowed/model.json", "path={root}/model.json"),
        ("path={root}/good.json:name=a", "path={root}/sub/model.json:name=a"),
        ("allowed/model.json:enable_transform", "path={root}/model.json:enable_transform"),
        ("path={root}/model.json:vif.x=1:vif.x=2", "path={root}/model.json:vif.x=2"),
    ],
)
def test_strings_come_back_resolved(ground: Ground, spec: str, becomes: str) -> None:
    assert ground.paths.check_model(ground.text(spec)) == ground.text(becomes)


def test_a_colon_in_a_path(tmp_path: Path, ground: Ground) -> None:
    model = tmp_path / "a:b.json"
    model.write_bytes((ground.root / "model.json").read_bytes())
    (tmp_path / "link.json").symlink_to(model)
    paths = AllowedPaths([tmp_path])
    assert paths.check_model(str(model)) == str(model)
    assert parse_spec(paths.check_model(str(model))).path == str(model)
    assert paths.check_model(str(tmp_path / "link.json")) == str(model)
    with pytest.raises(ModelError, match="copy the file to a path without ':'"):
        paths.check_model(f"path={tmp_path}/link.json:name=x")


def test_a_name_that_is_a_spec(tmp_path: Path, ground: Ground) -> None:
    """A file called 'a:name=x.json' must not be read as the model 'a'."""
    (tmp_path / "a:name=x.json").write_bytes((ground.root / "model.json").read_bytes())
    (tmp_path / "link:1.json").symlink_to("a:name=x.json")
    (tmp_path / "a").symlink_to(ground.secret)
    with pytest.raises(ModelError, match="copy the file"):
        AllowedPaths([tmp_path]).check_model(str(tmp_path / "link:1.json"))


def test_features_come_back_as_they_are(ground: Ground) -> None:
    for spec in ("vif", "vif=debug=true", "vif=debug=true:vif_enhn_gain_limit=1.0", "adm=x=-1e-3"):
        assert ground.paths.check_feature(spec) == spec
    assert ground.paths.check_feature("vif=debug=true:debug=false") == "vif=debug=false"
    resolved = f"x=model_path={ground.root}/sub/model.json:y=1"
    assert ground.paths.check_feature("x=model_path=allowed/good.json:y=1") == resolved
    with pytest.raises(FeatureError, match="ends after '='"):
        ground.paths.check_feature("vif=")


def test_a_single_file_may_be_read_and_neither_written_nor_its_neighbours_read(ground: Ground) -> None:
    paths = ground.paths.with_files([str(ground.secret)])
    assert paths.check(str(ground.secret)) == ground.secret
    assert paths.check(str(ground.root / "out.yuv")) == ground.secret, "a link to it"
    in_a_worker = AllowedPaths([*paths.roots, *paths.files], resolved=True)
    assert in_a_worker.check(str(ground.secret)) == ground.secret
    for allowed in (paths, in_a_worker):
        assert ground.secret not in allowed.roots
        for refused in (allowed.check, allowed.check_output):
            with pytest.raises(PathError, match="not under an allowlisted root"):
                refused(str(ground.outside / "clip.yuv"))
        with pytest.raises(PathError):
            allowed.check_output(str(ground.secret))
    with pytest.raises(PathError):
        ground.paths.check(str(ground.secret))

"""Bad input, for both commands: one sentence, the right exit code, no traceback, no file left behind."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cli_helpers import (
    FRAME_BYTES,
    GEOMETRY,
    HEIGHT,
    WIDTH,
    Ran,
    encode,
    moving,
    run_acuity,
    run_vmaf,
    start,
    y4m,
)
from small_model import small_document

Runner = Callable[..., Ran]

SIZE = {
    "vmaf": list(GEOMETRY),
    "acuity": ["--size", f"{WIDTH}x{HEIGHT}", "--pixel-format", "420", "--bitdepth", "8"],
}


@pytest.fixture(params=["vmaf", "acuity"])
def command(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def score(command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Runner:
    """Scores two files with the command under test, and checks what every refusal has in common."""

    def run(ref: object, dis: object, *options: str, raw: bool = False) -> Ran:
        before = sorted(tmp_path.rglob("*"))
        geometry = SIZE[command] if raw else []
        if command == "vmaf":
            ran = run_vmaf(capsys, "-r", str(ref), "-d", str(dis), *geometry, *options)
        else:
            ran = run_acuity(capsys, "score", str(ref), str(dis), *geometry, *options)
        assert ran.out == ""
        assert "Traceback" not in ran.err
        # What is going to be compared may have been said before; a hint may follow.
        sentences = [s for s in ran.err.splitlines() if not s.startswith(("  ", "Try '"))]
        assert len(sentences) == 1, ran.err
        assert sentences[0].startswith(f"{command}: ")
        assert sorted(tmp_path.rglob("*")) == before
        return ran

    return run


def test_empty_file(score: Runner, clips: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.yuv"
    empty.touch()
    ran = score(empty, clips / "dis.yuv", raw=True)
    assert ran.code == 101
    assert "empty" in ran.err


def test_empty_y4m(score: Runner, clips: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.y4m"
    empty.touch()
    ran = score(empty, clips / "dis.y4m")
    assert ran.code in (1, 101)
    assert "empty.y4m" in ran.err


def test_header_without_frames(score: Runner, clips: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.y4m"
    bare.write_bytes(y4m(b""))
    ran = score(bare, clips / "dis.y4m")
    assert ran.code == 101


@pytest.mark.parametrize("cut", [1, FRAME_BYTES // 2])
def test_truncated_raw_file(score: Runner, clips: Path, tmp_path: Path, cut: int) -> None:
    short = tmp_path / "short.yuv"
    short.write_bytes(moving()[:-cut])
    ran = score(clips / "ref.yuv", short, raw=True)
    assert ran.code == 1
    assert "short.yuv" in ran.err
    assert "whole number of frames" in ran.err


def test_truncated_y4m(score: Runner, clips: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.y4m"
    short.write_bytes(y4m(moving())[:-100])
    ran = score(clips / "ref.y4m", short, "-o", str(tmp_path / "report.json"))
    assert ran.code == 1
    assert "short.y4m" in ran.err


def test_truncated_container(score: Runner, clips: Path, tmp_path: Path) -> None:
    whole = encode(tmp_path / "whole.mp4", moving(30))
    short = tmp_path / "short.mp4"
    short.write_bytes(whole.read_bytes()[:600])
    ran = score(whole, short)
    assert ran.code == 1
    assert "short.mp4" in ran.err


def test_wrong_geometry(command: str, capsys: pytest.CaptureFixture[str], clips: Path) -> None:
    ref, dis = str(clips / "ref.yuv"), str(clips / "dis.yuv")
    if command == "vmaf":
        ran = run_vmaf(capsys, "-r", ref, "-d", dis, "-w", "50", "-h", "32", "-p", "420", "-b", "8")
    else:
        ran = run_acuity(capsys, "score", ref, dis, "--size", "50x32", "-p", "420", "-b", "8")
    assert ran.code == 1
    assert "50x32" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("value", ["421", "yuv420p", "", "nv12"])
def test_unknown_pixel_format(score: Runner, clips: Path, value: str) -> None:
    ran = score(clips / "ref.yuv", clips / "dis.yuv", "-p", value, raw=True)
    assert ran.code == 1
    assert "420" in ran.err
    assert "Try '" in ran.err


@pytest.mark.parametrize("value", ["9", "0", "x", "8.0"])
def test_unknown_bitdepth(score: Runner, clips: Path, value: str) -> None:
    ran = score(clips / "ref.yuv", clips / "dis.yuv", "-b", value, raw=True)
    assert ran.code == 1
    assert "bitdepth" in ran.err


@pytest.mark.parametrize("name", ["nowhere.yuv", "nowhere.y4m", "nowhere.mp4", "no/where.mkv"])
def test_missing_file(score: Runner, clips: Path, tmp_path: Path, name: str) -> None:
    ran = score(clips / "ref.yuv", tmp_path / name, raw=name.endswith(".yuv"))
    assert ran.code == 1
    ran = score(tmp_path / name, tmp_path / name)
    assert ran.code == 1
    assert name in ran.err


def test_unreadable_file(score: Runner, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret.y4m"
    secret.write_bytes(y4m(moving()))
    secret.chmod(0)
    if os.access(secret, os.R_OK):  # the superuser reads everything: let the kernel's answer be played
        really_open = os.open

        def refuse(path: Any, *rest: Any, **more: Any) -> int:
            if os.fspath(path) == str(secret):
                raise PermissionError(13, "Permission denied", str(secret))
            return really_open(path, *rest, **more)

        monkeypatch.setattr(os, "open", refuse)
    ran = score(secret, clips / "dis.y4m")
    assert ran.code == 1
    assert "secret.y4m" in ran.err
    assert "permission" in ran.err


@pytest.mark.parametrize("name", ["notes.txt", "notes.mp4", "notes.mkv", "notes.y4m"])
def test_a_text_file_is_no_video(score: Runner, clips: Path, tmp_path: Path, name: str) -> None:
    text = tmp_path / name
    text.write_text("Dear diary, today I encoded everything at CRF 51.\n" * 50)
    ran = score(clips / "ref.y4m", text)
    assert ran.code == 1
    assert name in ran.err


def test_a_folder_is_no_video(score: Runner, clips: Path, tmp_path: Path) -> None:
    ran = score(clips / "ref.y4m", tmp_path)
    assert ran.code == 1
    assert "directory" in ran.err


def test_unknown_model(score: Runner, clips: Path) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-m", "version=vmaf_v0.6.9")
    assert ran.code == 1
    assert "vmaf_v0.6.9" in ran.err
    assert "vmaf_v0.6.1" in ran.err


@pytest.mark.parametrize("spec", ["", "version=", "path=", ":", "name=only", "version=vmaf_v0.6.1:what=ever"])
def test_malformed_model_option(score: Runner, clips: Path, spec: str) -> None:
    assert score(clips / "ref.y4m", clips / "dis.y4m", "-m", spec).code == 1


def _changed(**changes: object) -> str:
    document = small_document()
    document["model_dict"].update(changes)
    return json.dumps(document)


def _without(key: str) -> str:
    document = small_document()
    del document["model_dict"][key]
    return json.dumps(document)


BAD_MODELS = {
    "not json": "{",
    "text": "this is no model",
    "empty": "",
    "a list": "[]",
    "nothing in it": "{}",
    "no model": _without("model"),
    "no features": _without("feature_names"),
    "no kind": _without("model_type"),
    "slopes are words": _changed(slopes=["a", "b", "c"]),
    "names are numbers": _changed(feature_names=[1, 2]),
    "model is a number": _changed(model=3),
    "slopes not finite": _changed(slopes=[float("nan"), 1.0, 1.0]),
    "intercepts infinite": _changed(intercepts=[float("inf"), 1.0, 1.0]),
    "unknown feature": _changed(feature_names=["VMAF_feature_magic_score", "integer_vif_scale0"]),
}


@pytest.mark.parametrize("text", BAD_MODELS.values(), ids=BAD_MODELS.keys())
def test_malformed_model_file(score: Runner, clips: Path, tmp_path: Path, text: str) -> None:
    model = tmp_path / "bad.json"
    model.write_text(text)
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-m", f"path={model}")
    assert ran.code == 1
    assert "bad.json" in ran.err


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        ("vifff", "vifff"),
        ("vif=vif_gain=1", "vif_gain"),
        ("vif=vif_enhn_gain_limit=1000", "1000"),
        ("vif=vif_enhn_gain_limit=many", "many"),
        ("vif=debug", "debug"),
        ("", "feature"),
    ],
)
def test_unknown_feature_or_option(score: Runner, clips: Path, feature: str, words: str) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "--feature", feature)
    assert ran.code == 1
    assert words in ran.err


def test_no_frames_in_common(score: Runner, command: str, clips: Path) -> None:
    skip = "--frame_skip_ref" if command == "vmaf" else "--skip-ref"
    ran = score(clips / "ref.y4m", clips / "dis.y4m", skip, "50")
    assert ran.code == 101
    assert "no frame in common" in ran.err


def test_sizes_that_differ(score: Runner, clips: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.y4m"
    other.write_bytes(y4m(moving(width=40, height=32), width=40, height=32))
    ran = score(clips / "ref.y4m", other)
    assert ran.code == 1
    assert "--scale force" in ran.err


def test_pictures_too_small(score: Runner, tmp_path: Path) -> None:
    tiny = tmp_path / "tiny.y4m"
    tiny.write_bytes(y4m(moving(width=8, height=8), width=8, height=8))
    other = tmp_path / "other.y4m"
    other.write_bytes(y4m(moving(width=8, height=8, noise=9), width=8, height=8))
    ran = score(tiny, other)
    assert ran.code == 1
    assert "8x8" in ran.err


def test_output_in_no_folder(score: Runner, clips: Path, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "report.json"
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-o", str(target))
    assert ran.code == 1
    assert "report.json" in ran.err


def test_output_is_known_to_fail_before_anything_is_read(score: Runner, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "report.json"
    ran = score("no-such.y4m", "no-such.y4m", "-o", str(target))
    assert "report.json" in ran.err


def test_output_is_a_folder(score: Runner, clips: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-o", str(tmp_path / "folder.json"))
    assert ran.code == 1
    assert "folder.json" in ran.err


def test_output_would_overwrite_an_input(score: Runner, clips: Path, tmp_path: Path) -> None:
    ref = tmp_path / "ref.json"
    ref.write_bytes((clips / "ref.y4m").read_bytes())
    ran = score(ref, clips / "dis.y4m", "-o", str(ref))
    assert ran.code == 1
    assert "overwrite" in ran.err
    assert ref.read_bytes() == (clips / "ref.y4m").read_bytes()


def _command_line(command: str, clips: Path, output: str) -> tuple[str, Sequence[str]]:
    ref, dis = str(clips / "ref.y4m"), str(clips / "dis.y4m")
    if command == "vmaf":
        return "vmaf", ["-q", "-r", ref, "-d", dis, "--json", "-o", output]
    return "main", ["score", ref, dis, "-q", "--format", "json", "-o", output]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_device(command: str, clips: Path) -> None:
    ran = start(*_command_line(command, clips, "/dev/full"))
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"{command}: ")
    assert "No space left" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_full_disk_leaves_no_file(command: str, clips: Path, tmp_path: Path) -> None:
    """A limit on the size of files makes writes fail halfway, as a full disk does."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    kept = tmp_path / "report.json"
    kept.write_text("yesterday's")
    ran = start(*_command_line(command, clips, str(kept)), preexec_fn=limit)
    assert ran.returncode == 1
    assert len(ran.stderr.splitlines()) == 1
    assert "report.json" in ran.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]
    assert kept.read_text() == "yesterday's"


@pytest.mark.parametrize(
    "option", ["--frobnicate", "--threads=many", "--threads=-1", "--subsample=x", "--backend"]
)
def test_wrong_options(score: Runner, clips: Path, option: str) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", option)
    assert ran.code == 1
    assert "--help" in ran.err


def test_backend_that_is_not_here(score: Runner, clips: Path) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "--backend", "cuda")
    assert ran.code == 100
    assert "cuda" in ran.err

"""list_videos: what may be read, what each file says of itself, and files that mean harm."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from acuity.agents.tools import videos
from image_files import images
from path_ground import make_ground
from scoring_clips import FRAMES, GEOMETRY, container, raw, y4m
from scoring_room import Asked
from video_clips import encode, encode_two_streams

AUTOGROUP = Path("/proc/self/autogroup")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    clips = tmp_path.resolve() / "clips"
    (clips / "inner").mkdir(parents=True)
    container(clips / "a.mp4", codec="libx264")
    y4m(clips / "b.y4m")
    raw(clips / "inner" / "c_70x52_420p8.yuv")
    raw(clips / "inner" / "d.yuv")
    (clips / "notes.txt").write_text("no video")
    (clips / ".hidden.mp4").write_bytes(b"x")
    return clips


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {os.path.basename(video["path"]): video for video in found["videos"]}


def listed(root: Path, **arguments: Any) -> dict[str, Any]:
    return Asked(videos.tools, roots=[root]).ask("list_videos", **arguments)


def test_folders_and_what_is_in_them(folder: Path) -> None:
    found = listed(folder)
    assert (found["folders"], found["count"]) == ([str(folder)], 4)
    assert not {"next_offset", "truncated"} & {*found}
    file = {"path": str(folder / "a.mp4"), "size_bytes": (folder / "a.mp4").stat().st_size}
    length = {"fps": 25.0, "frames": FRAMES, "duration": FRAMES / 25}
    assert by_name(found)["a.mp4"] == {"kind": "container", "codec": "h264", **file, **GEOMETRY, **length}
    plain = by_name(found)["b.y4m"]
    assert (plain["kind"], plain["width"], plain["fps"], plain["frames"]) == ("y4m", 70, 25.0, FRAMES)
    guessed = by_name(found)["c_70x52_420p8.yuv"]
    assert (guessed["kind"], guessed["width"], guessed["bitdepth"]) == ("raw", 70, 8)
    assert guessed["frames"] == FRAMES
    unknown = by_name(found)["d.yuv"]
    assert "its name gives no size" in unknown["problem"]
    assert "vmaf_score, which takes width" in unknown["problem"]


def test_a_variable_rate_counts_no_frames(tmp_path: Path) -> None:
    """A Matroska has no count of its own, and its length times its usual rate is none."""
    encode(tmp_path / "vfr.mkv", ticks=[0, 1, 2, 5, 6, 9, 10, 14, 15, 20])
    encode(tmp_path / "even.mkv")
    found = by_name(listed(tmp_path.resolve()))
    assert found["vfr.mkv"]["variable_rate"] is True
    assert "frames" not in found["vfr.mkv"]
    assert found["vfr.mkv"]["duration"] == pytest.approx(21 / 25, abs=0.05)
    assert found["even.mkv"]["frames"] == 10
    assert "variable_rate" not in found["even.mkv"]


def test_images_and_several_streams(folder: Path) -> None:
    """Images are no videos of their own here, and a file with two streams says what to do."""
    images(folder / "shots")
    images(folder, count=2)
    encode_two_streams(folder / "two.mkv")
    found = by_name(listed(folder))
    assert sorted(found) == ["a.mp4", "b.y4m", "c_70x52_420p8.yuv", "d.yuv", "two.mkv"]
    assert "has 2 video streams (0: 96x64 ffv1" in found["two.mkv"]["problem"]
    assert found["two.mkv"]["problem"].endswith("copy the one that is meant to a file of its own")


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="sessions share no processor time here")
def test_the_servers_own_priority_stays(folder: Path) -> None:
    """The process that looks is less urgent; the priority of a session is that of all its processes."""
    before = AUTOGROUP.read_text()
    assert listed(folder)["count"] == 4
    assert AUTOGROUP.read_text() == before


async def test_filters_and_pages(folder: Path) -> None:
    async with Asked(videos.tools, roots=[folder]).playing() as ask:
        first = await ask("list_videos", limit=3)
        assert (len(first["videos"]), first["count"], first["next_offset"]) == (3, 4, 3)
        rest = await ask("list_videos", limit=3, offset=first["next_offset"])
        assert [os.path.basename(video["path"]) for video in rest["videos"]] == ["d.yuv"]
        assert list(by_name(await ask("list_videos", name=".YUV"))) == ["c_70x52_420p8.yuv", "d.yuv"]
        inner = await ask("list_videos", folder=f"{folder}/inner/", name="d")
        assert list(by_name(inner)) == ["d.yuv"]
        assert inner["folders"] == [str(folder)]
        assert (await ask("list_videos", name="nothing"))["videos"] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"folder": "/etc"}, "path /etc not under an allowlisted root"),
        ({"folder": "{folder}/.."}, "not under an allowlisted root"),
        ({"folder": "{folder}/a.mp4"}, "is no folder"),
        ({"folder": "{folder}/none"}, "is no folder"),
        ({"limit": 201}, "limit"),
        ({"offset": -1}, "offset"),
        ({"depth": 3}, "depth"),
    ],
)
def test_bad_arguments(folder: Path, arguments: dict[str, Any], sentence: str) -> None:
    if "folder" in arguments:
        arguments = {"folder": arguments["folder"].format(folder=folder)}
    assert sentence in listed(folder, **arguments)["error"]


def test_nothing_outside_the_roots_is_told_of(tmp_path: Path) -> None:
    """Links out, loops, pipes, sockets and folders with a video's name."""
    ground = make_ground(tmp_path)
    found = Asked(videos.tools, roots=[ground.root]).ask("list_videos")
    names = sorted(by_name(found))
    assert names == ["clip.yuv", "good.yuv"]
    assert found["count"] > len(found["videos"]) == 3  # the clip is in two folders
    text = json.dumps(found)
    assert "secret" not in text
    assert str(ground.outside) not in text


def test_nested_roots_are_told_once(folder: Path) -> None:
    roots = [folder, folder / "inner", folder.parent / "missing"]
    found = Asked(videos.tools, roots=roots).ask("list_videos")
    assert (found["folders"], found["count"]) == ([str(folder)], 4)


def test_a_folder_too_large_to_look_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(videos, "_MOST_FOLDERS", 1)
    found = listed(folder)
    assert set(by_name(found)) == {"a.mp4", "b.y4m"}
    assert "name a folder" in found["truncated"]
    monkeypatch.setattr(videos, "_MOST_FOLDERS", 100)
    monkeypatch.setattr(videos, "_MOST_VIDEOS", 2)
    assert (listed(folder)["count"], "truncated" in listed(folder)) == (2, True)
    monkeypatch.setattr(videos, "_MOST_VIDEOS", 100)
    monkeypatch.setattr(videos, "_DEPTH", 0)
    assert "truncated" in listed(folder)


@pytest.mark.parametrize(("kind", "name"), [("table", "scores.parquet"), ("model", "tiny.onnx")])
def test_tables_and_models_are_listed_by_kind(folder: Path, kind: str, name: str) -> None:
    for file in ("scores.parquet", "inner/tiny.onnx"):
        (folder / file).write_bytes(b"x")
    ((found, entry),) = by_name(listed(folder, kind=kind)).items()
    assert (found, entry["kind"], entry["size_bytes"]) == (name, kind, 1)
    assert not {"scores.parquet", "tiny.onnx"} & {*by_name(listed(folder))}, "videos unless asked"


def test_files_that_are_no_videos(folder: Path) -> None:
    (folder / "noise.mkv").write_bytes(os.urandom(5000))
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "half.y4m").write_bytes(b"YUV4MPEG2 W99999999 H99999999 F1:0\n")
    (folder / "list.ts").write_text("#EXTM3U\n/etc/passwd\n")
    found = by_name(listed(folder))
    for name in ("noise.mkv", "empty.mp4", "half.y4m", "list.ts"):
        assert found[name]["problem"], name
        assert "width" not in found[name]
    assert found["a.mp4"]["codec"] == "h264"


# Answers as the real process does, but falls over one file and never comes back from another.
_BAD = """
import json, os, time
from acuity.child_process import begin, read_document
file, tell = begin()
read_document(file)
tell(b"r")
while True:
    path = read_document(file)
    with open({log!r}, "a") as log:
        log.write(path + "\\n")
    path = os.path.basename(path)
    if "crash" in path:
        os.kill(os.getpid(), 11)
    if "hang" in path:
        time.sleep(600)
    tell(b"v", json.dumps({{"kind": "container"}}).encode())
"""


def bad_probe(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    modules = log.parent / "modules"
    modules.mkdir()
    (modules / "bad_probe.py").write_text(_BAD.format(log=str(log)))
    monkeypatch.setenv("PYTHONPATH", str(modules), prepend=os.pathsep)
    monkeypatch.setattr(videos, "_PROBE", "bad_probe")


async def test_a_file_that_crashes_its_decoder_costs_itself(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad_probe(monkeypatch, tmp_path / "log")
    (folder / "b_crash.mp4").write_bytes(b"x")
    async with Asked(videos.tools, roots=[folder]).playing() as ask:
        for _ in range(2):
            found = by_name(await ask("list_videos"))
            assert "crashed" in found["b_crash.mp4"].pop("problem")
            assert all("problem" not in video for video in found.values())
    asked = (tmp_path / "log").read_text().split()
    assert len(asked) == len(set(asked)) == 5  # everything once: what is known is not looked at again


def test_a_file_that_hangs_its_decoder_is_given_up(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad_probe(monkeypatch, tmp_path / "log")
    monkeypatch.setattr(videos, "_EACH", 2.0)
    (folder / "hang.mp4").write_bytes(b"x")
    found = by_name(listed(folder))
    assert found["hang.mp4"]["problem"] == "it takes too long to look at"
    assert found["a.mp4"]["kind"] == "container"


def test_looking_ends_in_time(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad_probe(monkeypatch, tmp_path / "log")
    monkeypatch.setattr(videos, "_TOGETHER", 0.0)
    found = listed(folder)
    assert {video["problem"] for video in found["videos"]} == {
        "it was not looked at: the files before it took too long"
    }
    monkeypatch.setattr(videos, "_TOGETHER", 60.0)
    for number in range(6):
        (folder / f"0_crash{number}.mp4").write_bytes(b"x")
    problems = [video.get("problem", "") for video in listed(folder)["videos"]]
    assert sum("crashed" in problem for problem in problems) == videos._STARTS


async def test_a_file_that_changed_is_looked_at_again(folder: Path) -> None:
    async with Asked(videos.tools, roots=[folder]).playing() as ask:
        assert by_name(await ask("list_videos"))["b.y4m"]["frames"] == FRAMES
        y4m(folder / "b.y4m", FRAMES + 2)
        assert by_name(await ask("list_videos"))["b.y4m"]["frames"] == FRAMES + 2

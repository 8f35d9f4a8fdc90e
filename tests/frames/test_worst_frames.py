"""find_worst(): its files and document, what it refuses, and that nothing is left of work that failed."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from acuity.errors import AcuityError, InputError, NarratorError, OutputError
from acuity.frames.request import WorstProgress, WorstRequest
from acuity.frames.worst import find_worst
from acuity.scoring.request import Request
from acuity.video.picture import PixelFormat
from acuity.video.readers.open import open_video
from numbered_clips import FRAMES, HEIGHT, WIDTH, clip, pair, read_png, y4m

KINDS = ("distorted", "reference", "heat")


@pytest.fixture
def videos(tmp_path: Path) -> tuple[Path, Path]:
    return pair(tmp_path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "new" / "out"


def wanted(
    videos: tuple[Path, Path], out: Path, n: int = 2, apart: float = 0.0, **changes: Any
) -> WorstRequest:
    region = changes.pop("region", False)
    return WorstRequest(Request(*videos, threads=1, **changes), out, n, apart, region)


def test_the_files_and_the_document(videos: tuple[Path, Path], out: Path) -> None:
    found = find_worst(wanted(videos, out))
    numbers = [frame.index for frame in found.frames]
    names = {f"frame_{number:06d}_{kind}.png" for number in numbers for kind in KINDS}
    assert {path.name for path in out.iterdir()} == {*names, "contact_sheet.png", "worst.json"}
    document = found.to_document()
    assert json.loads((out / "worst.json").read_text()) == document
    about = [document[name] for name in ("schema", "model_id", "model", "score", "colours")]
    score = pytest.approx(found.scoring.score)
    assert about == ["acuity.worst/1", None, "vmaf_v0.6.1", score, "smpte170m, limited range"]
    for entry, number in zip(document["frames"], numbers, strict=True):
        assert (entry["frame_index"], entry["time"], entry["narration"]) == (number, number / 25, None)
        for key in ("png", "reference_png", "heat_png"):
            assert Path(entry[key]).parent == out
            assert read_png(Path(entry[key])).shape == (HEIGHT, WIDTH, 3)
        assert entry["description"].endswith(".")
        assert entry["artefacts"][0]["severity"] > 0
        assert entry["region"]["width"] == 64
        assert 0 < entry["loss"] < 1
    assert max(read_png(found.contact_sheet).shape) <= 4000
    # What is wrong is unusual: the other frames equal their reference, so nothing is typical.
    frame = found.frames[0]
    first = frame.artefacts[0]
    assert first["typical"] < 0.1 < 0.3 < first["severity"]
    assert frame.description.lower().startswith(first["name"])
    assert "none in most of the clip" in frame.description


def test_the_region_alone(videos: tuple[Path, Path], out: Path) -> None:
    whole = find_worst(wanted(videos, out / "whole", 1)).frames[0]
    part = find_worst(wanted(videos, out / "part", 1, region=True)).frames[0]
    x, y, width, height = part.region
    assert (width, height) == (64, 64)
    for kind in KINDS:
        cut, all_of_it = read_png(getattr(part, kind)), read_png(getattr(whole, kind))
        np.testing.assert_array_equal(cut, all_of_it[y : y + height, x : x + width])


def test_frames_are_spread_out(videos: tuple[Path, Path], out: Path) -> None:
    found = find_worst(wanted(videos, out, 5, apart=0.25))
    numbers = sorted(frame.index for frame in found.frames)
    assert min(np.diff(numbers)) >= 7
    assert [note.code for note in found.notes].count("fewer-frames") == 1


def test_a_stretch_alone(videos: tuple[Path, Path], out: Path) -> None:
    request = WorstRequest(Request(*videos, threads=1), out, 3, 0.0, start=0.2, end=0.6)
    found = find_worst(request)
    assert len(found.frames) == 3
    assert all(frame.time is not None and 0.2 <= frame.time <= 0.6 for frame in found.frames)


def test_a_stretch_after_the_end_is_refused_before_anything_is_scored(
    videos: tuple[Path, Path], out: Path
) -> None:
    seen: list[WorstProgress] = []
    request = WorstRequest(Request(*videos, threads=1), out / "late", 3, start=10.0, end=12.0)
    with pytest.raises(InputError, match=f"start=10 can't be: what is compared ends at {FRAMES / 25:g} s"):
        find_worst(request, progress=seen.append)
    assert not [told for told in seen if told.stage == "scoring"]
    request = replace(request, start=0.201, end=0.202)  # between two frames
    with pytest.raises(InputError, match=r"no frame there was compared: the first is at 0 s, the last at "):
        find_worst(request)


def test_only_scored_frames_are_picked(videos: tuple[Path, Path], out: Path) -> None:
    found = find_worst(wanted(videos, out, 32, subsample=3))
    assert {frame.index for frame in found.frames} == set(range(0, FRAMES, 3))


def test_identical_frames_are_not_the_worst(tmp_path: Path, out: Path) -> None:
    """Frame 0 scores less than the highest even if it is identical; the others have the highest."""
    frames, tinted = clip(), clip()
    for number, step in ((6, 2), (7, 4), (12, 3)):
        tinted[number][1][:8, :8] += np.uint8(step)
    videos = y4m(tmp_path / "ref.y4m", frames), y4m(tmp_path / "dis.y4m", tinted)
    found = find_worst(wanted(videos, out, 5))
    assert len({frame.score for frame in found.frames}) == 1
    assert [frame.index for frame in found.frames] == [7, 12, 6]
    said = {note.code: note.text for note in found.notes}
    assert said["equal-scores"].startswith("3 frames have the same score")
    assert said["fewer-frames"].endswith("; 13 are identical to their reference")
    assert all(frame.loss > 0 for frame in found.frames)


def test_all_frames_are_identical(videos: tuple[Path, Path], out: Path) -> None:
    found = find_worst(wanted((videos[0], videos[0]), out, 5))
    assert found.frames == []
    assert found.to_document()["contact_sheet"] is None
    assert [path.name for path in out.iterdir()] == ["worst.json"]
    assert "identical-frames" in [note.code for note in found.notes]


def described(
    folder: Path, out: Path, numbers: list[int], shown: list[int], n: int, **options: str
) -> dict[int, str]:
    """What is said of the frames of a video that shows these in the place of others."""
    videos = y4m(folder / "ref.y4m", clip(numbers)), y4m(folder / "dis.y4m", clip(shown))
    return {frame.index: frame.description for frame in find_worst(wanted(videos, out, n, **options)).frames}


def test_a_freeze_is_named_with_its_start(tmp_path: Path, out: Path) -> None:
    numbers = [*range(20)]
    shown = [*range(10), *[9] * 6, *range(16, 20)]
    said = described(tmp_path, out, numbers, shown, 6, align="warn")
    assert said.keys() == {*range(10, 16)}
    assert "repeats frame 9" in said[10]
    assert all("frozen since frame 9" in said[number] for number in range(11, 16))


def test_a_freeze_over_a_reference_that_holds_its_pictures_keeps_its_start(tmp_path: Path, out: Path) -> None:
    numbers = [number // 3 for number in range(24)]  # each picture three times
    shown = [min(number, 3) if number < 6 else number for number in numbers]
    said = described(tmp_path, out, numbers, shown, 24, align="off")
    assert "frozen since frame 11" in said[15]  # the reference holds frame 11 as well


def test_another_moment_is_all_that_is_said(tmp_path: Path, out: Path) -> None:
    numbers = [*range(20)]
    shown = [*range(9), *range(11, 20), 19, 19]  # two frames are lost
    said = described(tmp_path, out, numbers, shown, 20, align="off")
    assert said[12].startswith("Misaligned: the picture shows another moment, frame 14 of the reference")
    assert ";" not in said[12]


def test_the_place_of_a_loss_that_is_named_is_said_once(tmp_path: Path, out: Path) -> None:
    frames, damaged = clip(range(2)), clip(range(2))
    damaged[1][2][36:, 52:] += np.uint8(20)
    videos = y4m(tmp_path / "ref.y4m", frames), y4m(tmp_path / "dis.y4m", damaged)
    frame = find_worst(wanted(videos, out, 1)).frames[0]
    assert "lower right" in [artefact["where"] for artefact in frame.artefacts]
    assert "Greatest loss" not in frame.description


def test_threads_change_nothing(videos: tuple[Path, Path], tmp_path: Path) -> None:
    for threads in (1, 4):
        find_worst(WorstRequest(Request(*videos, threads=threads), tmp_path / str(threads), n=3, apart=0))
    one, four = (sorted((tmp_path / name).glob("*.png")) for name in "14")
    assert [path.name for path in one] == [path.name for path in four]
    assert len(one) == 10
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(one, four, strict=True))


def test_other_files_are_left_alone(videos: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    (out / "worst.json").write_text("old")
    find_worst(wanted(videos, out, 1))
    assert (out / "mine.txt").read_text() == "mine"
    assert json.loads((out / "worst.json").read_text())["frames"]
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("size", "layout", "depth"), [((17, 19), "400", 8), ((18, 18), "420", 8), ((65, 33), "422", 16)]
)
def test_small_odd_gray_and_deep_frames(
    size: tuple[int, int], layout: str, depth: int, tmp_path: Path
) -> None:
    format = PixelFormat(layout, depth)
    random = np.random.default_rng(1)
    paths = []
    for name, top in (("ref", 200), ("dis", 120)):
        planes = [
            random.integers(50, top, shape).astype(format.dtype) << (depth - 8)
            for _ in range(3)
            for shape in format.plane_shapes(*size)
        ]
        paths.append(tmp_path / f"{name}.yuv")
        paths[-1].write_bytes(b"".join(plane.tobytes() for plane in planes))
    geometry = {"width": size[0], "height": size[1], "pixel_format": layout, "bitdepth": depth}
    request = Request(*paths, threads=1, models=["vmaf_v0.6.1"], align="off", **geometry)
    found = find_worst(WorstRequest(request, tmp_path / "out", n=3, apart=0))
    assert len(found.frames) == 3
    assert found.frames[0].time is None
    for frame in found.frames:
        assert read_png(frame.heat).shape == (size[1], size[0], 3)


def test_progress_rises_to_the_end_and_a_narrator_adds_its_sentence(
    videos: tuple[Path, Path], out: Path
) -> None:
    told: list[WorstProgress] = []
    narrator = Narrates()
    found = find_worst(wanted(videos, out), progress=told.append, narrator=narrator)
    assert found.model_id == "a/model"
    assert [frame.narration for frame in found.frames] == ["it is picture 1", "it is picture 2"]
    assert narrator.asked == [frame.description for frame in found.frames]
    shares = [progress.share for progress in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    stages = {progress.stage: progress for progress in told}
    assert list(stages) == ["scoring", "drawing", "describing"]
    last = stages["scoring"]
    about = {"stage": "scoring", "frames": FRAMES, "total": FRAMES, "mean": last.mean}
    assert last.details() == about
    assert last.line().startswith(f"scoring: {FRAMES} of {FRAMES} frames, mean ")


@pytest.mark.parametrize("stage", ["scoring", "drawing", "describing"])
def test_cancelled_work_leaves_nothing(videos: tuple[Path, Path], out: Path, stage: str) -> None:
    def stop(progress: WorstProgress) -> None:
        if progress.stage == stage and progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_worst(wanted(videos, out), progress=stop, narrator=Narrates())
    assert not out.parent.exists()


class Narrates:
    """A narrator that looks at the picture, and fails at some."""

    def __init__(self, fails: int = 0) -> None:
        self.model_id: str | None = "a/model"
        self.fails = fails
        self.asked: list[str] = []

    def narrate(self, png: Path, hint: str) -> str:
        assert read_png(png).shape[2] == 3
        self.asked.append(hint)
        if len(self.asked) <= self.fails:
            raise NarratorError("it is tired")
        return f"it is picture {len(self.asked)}"


def test_a_narrator_that_fails_costs_its_sentence_alone(videos: tuple[Path, Path], out: Path) -> None:
    found = find_worst(wanted(videos, out), narrator=Narrates(fails=1))
    assert [frame.narration for frame in found.frames] == [None, "it is picture 2"]
    assert found.frames[0].narration_error == "it is tired"
    assert [note.text for note in found.notes if note.code == "narrator"] == ["it is tired"]
    none = find_worst(wanted(videos, out, 1), narrator=Narrates(fails=1))
    assert none.model_id is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"predict": False}, "leave out predict=False"), ({"metrics": ("psnr",)}, "metrics='vmaf'")],
)
def test_no_score(videos: tuple[Path, Path], out: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        find_worst(wanted(videos, out, **changes))
    assert not out.parent.exists()


def test_what_can_be_read_once(videos: tuple[Path, Path], tmp_path: Path, out: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with open_video(videos[1]) as reader:
        for once in ("-", pipe, reader):
            with pytest.raises(InputError, match="read a second time"):
                find_worst(wanted((videos[0], once), out))  # type: ignore[arg-type]
    assert not out.parent.exists()


def test_the_folder_is_a_file(videos: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for target in (file, file / "inside"):
        with pytest.raises(OutputError, match="is a file, so name a folder"):
            find_worst(wanted(videos, target))
    assert file.read_text() == "mine"


def test_a_folder_in_the_place_of_a_file(videos: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "out" / "worst.json").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"'worst.json' in it is a folder"):
        find_worst(wanted(videos, tmp_path / "out"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["worst.json"]


def test_a_full_disk(videos: tuple[Path, Path], out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OutputError, match=r"new/out': No space left on device"):
        find_worst(wanted(videos, out))
    assert not out.parent.exists()


def other(path: Path) -> None:
    before = path.stat()
    y4m(path, clip(damaged=(1, 2)))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


LARGER = [[plane.repeat(2, 0).repeat(2, 1) for plane in frame] for frame in clip()]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda path: y4m(path, clip(range(10))), "there are 10 now"),
        (lambda path: y4m(path, LARGER), "width was 128 and is 256"),
        (other, "changed while"),
        (Path.unlink, "does not exist"),
    ],
)
def test_a_video_that_changes_on_the_way(
    videos: tuple[Path, Path], out: Path, change: Callable[[Path], object], says: str
) -> None:
    done: list[bool] = []

    def progress(at: WorstProgress) -> None:
        if at.stage == "scoring" and at.done == FRAMES and not done:
            done.append(True)
            for path in videos:
                change(path)

    with pytest.raises(AcuityError, match=says):
        find_worst(wanted(videos, out, 1), progress=progress)
    assert done
    assert not out.parent.exists()

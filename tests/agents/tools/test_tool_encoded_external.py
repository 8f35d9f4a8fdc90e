"""vmaf_score_encoded where VMAF_BIN names another binary: decoded and paired here, scored there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from acuity.cli.vmaf.options import help_page
from damaged_clip import damage
from scoring_clips import FORK_HELP, FRAMES, container, fake_vmaf, raw, runs_of, y4m
from scoring_room import ThreadJobs, ask_once, playing
from vmaf_binary import make_binary

# Reads a frame of each video in turn, the distorted first, and tells how much there was.
IN_TURN = """
size = int(after("--width")) * int(after("--height")) * 3 // 2
seen = {"-d": 0, "-r": 0}
with open(after("-r"), "rb") as ref, open(after("-d"), "rb") as dis:
    while True:
        counts = {"-d": len(dis.read(size)), "-r": len(ref.read(size))}
        for flag, count in counts.items():
            seen[flag] += count
        if not all(counts.values()):
            break
report(seen=seen)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    clips = tmp_path / "clips"
    clips.mkdir()
    container(clips / "ref.mkv")
    container(clips / "dis.mp4", worse=True, codec="libx264")
    return clips


@pytest.fixture
def own_command(tmp_path: Path) -> Path:
    """Acuity's own vmaf command, as a binary like any other."""
    made = tmp_path / "bin"
    made.mkdir()
    return Path(make_binary(made, help=help_page()))


def pair(folder: Path, ref: str = "ref.mkv", dis: str = "dis.mp4", **more: Any) -> dict[str, Any]:
    return {"reference_encoded": str(folder / ref), "distorted_encoded": str(folder / dis), **more}


def asked(folder: Path, arguments: dict[str, Any], binary: Path | None, jobs: Any = None) -> dict[str, Any]:
    return ask_once(folder, "vmaf_score_encoded", binary=binary, jobs=jobs, **arguments)


@pytest.mark.parametrize(
    ("files", "more"),
    [
        ({}, {"precision": "max", "feature": ["psnr", "vif=debug=true"], "model": "auto"}),
        ({}, {"subsample": 2, "frame_skip_ref": 1, "frame_skip_dist": 1, "frame_cnt": 4}),
        ({"dis": "half.mkv"}, {"no_prediction": True}),
        ({"dis": "fast.mkv"}, {"rate": "match"}),
        ({"dis": "dis.y4m"}, {"model": "version=vmaf_v0.6.1neg"}),
        ({"ref": "ref_70x52_420p8.yuv"}, {}),
    ],
)
def test_the_digits_and_the_notes_are_those_of_the_own_engine(
    folder: Path, own_command: Path, files: dict[str, str], more: dict[str, Any]
) -> None:
    container(folder / "half.mkv", FRAMES - 1, half=True)
    container(folder / "fast.mkv", rate=50)
    y4m(folder / "dis.y4m", worse=True)
    raw(folder / "ref_70x52_420p8.yuv")
    arguments = pair(folder, **files, **more)
    own, other = asked(folder, arguments, None), asked(folder, arguments, own_command)
    for key in ("frames", "pooled_metrics", "aggregate_metrics", "reference_encoded", "distorted_encoded"):
        assert other[key] == own[key], key
    assert other.get("mismatched_model_warning") == own.get("mismatched_model_warning")
    assert other["notes"] == own["notes"]
    for key in ("input", "width", "height", "bitdepth", "frames"):
        assert other["acuity"][key] == own["acuity"][key], key
    assert (other["backend_requested"], other["backend_used"]) == ("auto", "cpu")


def test_the_binary_gets_raw_pictures_through_pipes(folder: Path) -> None:
    binary = fake_vmaf(folder.parent / "vmaf", help=FORK_HELP, scoring=IN_TURN)
    jobs = ThreadJobs()
    before = set(os.listdir("/dev/fd"))
    found = asked(folder, pair(folder, backend="cuda", threads=1, frame_cnt=4), binary, jobs)
    frame = 70 * 52 * 3 // 2
    assert found["seen"] == {"-d": 4 * frame, "-r": 4 * frame}
    assert (found["backend_requested"], found["backend_used"]) == ("cuda", "cuda")
    assert [(spec.task, spec.tool) for spec in jobs.specs] == [("external", "vmaf_score_encoded")]
    argv = runs_of(binary)[-1]
    assert argv[4 : argv.index("-m")] == [
        *("--width", "70", "--height", "52", "-p", "420", "-b", "8"),
        *("--precision", "legacy", "--threads", "1", "--no_sycl"),
    ]
    assert set(os.listdir(folder)) == {"ref.mkv", "dis.mp4"}
    assert set(os.listdir("/dev/fd")) <= before


async def test_progress_counts_frames(folder: Path, own_command: Path) -> None:
    told: list[tuple[float, float | None]] = []

    async def listen(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total))

    async with playing(folder, binary=own_command) as ask:
        await ask("vmaf_score_encoded", **pair(folder), _progress=listen)
    assert told[0] == (0, FRAMES)
    assert told[-1] == (FRAMES, FRAMES)


def test_a_binary_that_fails_before_it_has_read_everything(folder: Path) -> None:
    container(folder / "long.mkv", 200)
    binary = fake_vmaf(folder.parent / "vmaf", scoring='print("no device", file=sys.stderr); sys.exit(3)')
    found = asked(folder, pair(folder, "long.mkv", "long.mkv"), binary)
    assert found["error"].startswith("vmaf exited 3: no device")


def test_pairs_that_are_refused_are_refused_in_the_same_words(folder: Path, own_command: Path) -> None:
    container(folder / "fast.mkv", rate=50)
    damage(container(folder / "damaged.mkv", 12, worse=True, codec="libx264"), 0)
    (folder / "noise.mkv").write_bytes(b"no video at all" * 50)
    for name in ("fast.mkv", "damaged.mkv", "noise.mkv"):
        own, other = (asked(folder, pair(folder, dis=name), binary) for binary in (None, own_command))
        assert list(own) == ["error"]
        assert other == own

"""The task that scores with Acuity's own engine: the document it leaves, and what it says on the way."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import acuity
from acuity.errors import AcuityError, JobCancelled, JobFailed
from acuity.jobs.service import Jobs
from acuity.jobs.tasks.score import run, score_payload
from acuity.jobs.tasks.tune import tune_payload
from acuity.scoring.request import Request
from acuity.tune.request import PerShotRequest, SearchRequest, TuneRequest
from job_helpers import Heard, Watched, config
from longwire.work import JobSpec, Progress
from scoring_clips import FRAMES, HEIGHT, WIDTH, container, raw
from tune_clips import write_y4m

pytestmark = pytest.mark.usefixtures("prepared_workers")

MODEL = "version=vmaf_v0.6.1"
GEOMETRY: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    raw(folder / "ref.yuv")
    raw(folder / "dis.yuv", worse=True)
    container(folder / "ref.mkv")
    container(folder / "dis.mkv", worse=True)
    return folder


def score(ref: Path, dis: Path, **more: Any) -> dict[str, Any]:
    precision, echo = more.pop("precision", "legacy"), more.pop("echo", {})
    request = Request(str(ref), str(dis), **{"models": [MODEL], "guess": "width" not in more, **more})
    payload = score_payload(request, precision=precision, **echo)
    return run(json.loads(json.dumps(payload)), lambda _: None)


def test_the_document_is_the_commands_report(clips: Path, tmp_path: Path) -> None:
    from acuity.cli.vmaf import main

    output = tmp_path / "report.json"
    size = ("-w", str(GEOMETRY["width"]), "-h", str(GEOMETRY["height"]), "-p", "420", "-b", "8")
    files = ("-r", str(clips / "ref.yuv"), "-d", str(clips / "dis.yuv"))
    assert main([*files, *size, "--json", "-q", "-o", str(output)]) == 0
    expected = json.loads(output.read_text())
    found = score(clips / "ref.yuv", clips / "dis.yuv", **GEOMETRY)
    assert list(expected) == [key for key in found if key in expected]
    for key in expected.keys() - {"fps", "version", "acuity"}:
        assert found[key] == expected[key], key
    assert found["acuity"]["version"] == found["version"] == expected["acuity"]["version"]
    summary = {"score", "model", "models", "worst", "worst_segments", "mismatched_model_warning"}
    assert set(found) - set(expected) == {*summary, "backend_requested", "backend_used"}
    assert (found["backend_requested"], found["backend_used"]) == ("auto", "cpu")


@pytest.mark.parametrize("precision", ["legacy", "max", "5"])
def test_the_summary_is_that_of_the_library_with_the_digits_of_the_report(
    clips: Path, precision: str
) -> None:
    found = score(clips / "ref.mkv", clips / "dis.mkv", precision=precision)
    exact = acuity.score(clips / "ref.mkv", clips / "dis.mkv", model="vmaf_v0.6.1").to_dict()
    close = {"legacy": {"abs": 1e-6}, "max": {"rel": 0, "abs": 0}, "5": {"rel": 1e-4}}[precision]
    assert found["score"] == found["pooled_metrics"]["vmaf"]["mean"] == pytest.approx(exact["score"], **close)
    assert (found["model"], len(found["models"])) == ("vmaf_v0.6.1", 1)
    assert found["models"][0]["percentiles"] == pytest.approx(exact["models"][0]["percentiles"], **close)
    assert found["worst"][0]["frame"] == exact["worst"][0]["frame"]
    assert found["worst"][0]["time"] == pytest.approx(exact["worst"][0]["time"], **close)
    silent = score(clips / "ref.mkv", clips / "dis.mkv", predict=False)
    assert (silent["score"], silent["model"], silent["models"], silent["worst"]) == (None, None, [], [])


def test_progress_has_frames_speed_and_the_mean(clips: Path) -> None:
    told: list[Progress] = []
    request = Request(str(clips / "ref.yuv"), str(clips / "dis.yuv"), models=[MODEL], **GEOMETRY)
    found = run(score_payload(request, precision="max"), told.append)
    assert (told[0].done, told[0].total, told[0].message) == (0, FRAMES, f"0 of {FRAMES} frames")
    last = told[-1]
    assert (last.done, last.total, last.details["eta_seconds"]) == (FRAMES, FRAMES, 0)
    assert last.details["mean"] == pytest.approx(found["pooled_metrics"]["vmaf"]["mean"])
    assert last.details["fps"] > 0
    assert last.message.startswith(f"{FRAMES} of {FRAMES} frames, ")


def test_what_pairing_did_is_told(tmp_path: Path, clips: Path) -> None:
    small = container(tmp_path / "small.mkv", FRAMES - 2, worse=True, half=True)
    found = score(clips / "ref.mkv", small, echo={"reference_encoded": "given"})
    assert found["reference_encoded"] == "given"
    compared = found["acuity"]["input"]
    assert (compared["reference"]["width"], compared["distorted"]["width"]) == (70, 34)
    assert compared["width"] == 70
    assert "scaled from 34x26 to 70x52" in compared["conversions"][0]
    assert compared["pairs"] == FRAMES - 2
    assert compared["time_offset"] == 0
    assert {"scaled", "frame-count"} <= {note["code"] for note in found["acuity"]["notes"]}


def test_the_rest_of_the_payload_is_heeded(clips: Path) -> None:
    options = {"skip_ref": 1, "skip_dis": 1, "frames": 4, "subsample": 3, "predict": False, "threads": 1024}
    files = (clips / "ref.yuv", clips / "dis.yuv")
    found = score(*files, **GEOMETRY, **options, features=["vif=debug=true"])
    assert [frame["frameNum"] for frame in found["frames"]] == [0, 3]
    assert "vmaf" not in found["pooled_metrics"]
    assert "integer_vif" in found["pooled_metrics"]
    assert "mismatched_model_warning" not in found  # no model, no warning
    assert found["acuity"]["input"]["frame_skip_dis"] == 1
    assert found["acuity"]["threads"] <= 1024


def test_the_model_may_be_chosen_by_size(clips: Path) -> None:
    found = score(clips / "ref.mkv", clips / "dis.mkv", models=["auto"])
    assert found["acuity"]["model"] == "vmaf_v0.6.1"
    named = score(clips / "ref.mkv", clips / "dis.mkv", models=["version=vmaf_v0.6.1"])
    assert found["mismatched_model_warning"] == named["mismatched_model_warning"]  # however it was chosen


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        ({"width": 70, "height": 53, "pixel_format": "420", "bitdepth": 8}, "not a whole number of frames"),
        ({"models": ["version=nothing"]}, "run 'acuity models' for a list"),
        ({"features": ["psychic"]}, "unknown feature extractor 'psychic'"),
        ({"skip_ref": 99}, "no frame in common"),
    ],
)
def test_the_engines_sentences_come_through(clips: Path, payload: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AcuityError, match=sentence):
        score(clips / "ref.yuv", clips / "dis.yuv", **{**GEOMETRY, **payload})


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_CACHE", str(tmp_path / "cache"))


def job(command: str, request: TuneRequest) -> JobSpec:
    return JobSpec("tune", tune_payload(command, request), f"run_{command}", "a test")


def encoder_processes() -> Iterator[int]:
    """The processes under this one that encode."""
    for child in psutil.Process(os.getpid()).children(recursive=True):
        with suppress(psutil.Error):  # it has ended already
            if "acuity.tune" in " ".join(child.cmdline()):
                yield child.pid


async def test_progress_rises_to_the_answer(jobs: Jobs, tmp_path: Path) -> None:
    source = str(write_y4m(tmp_path / "clip.y4m", 20))
    heard = Heard()
    asked = SearchRequest(src=source, target_vmaf=75.0, preset="ultrafast")
    outcome = await jobs.run(job("search", asked), client="me", progress=heard)
    assert outcome.document["ok"]
    assert heard.all
    done = [progress.done for progress in heard.all]
    assert done == sorted(done)
    assert done[-1] >= 1
    assert "libx264 crf" in heard.all[-1].message
    assert set(heard.all[-1].details) >= {"encodes_done", "encodes_planned", "fps", "eta_seconds", "best"}


async def test_a_cancelled_job_leaves_no_file_and_no_encoder(tmp_path: Path) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    source = str(write_y4m(folder / "long.y4m", 150, 256, 144))
    heard = Heard()
    request = SearchRequest(
        src=source,
        target_vmaf=1.0,
        crf_min=23,
        crf_max=23,
        preset="placebo",
        encoder_options=("x264-params=rc-lookahead=0:bframes=0",),  # frames come out soon
        encode=str(folder / "out.mkv"),
    )
    idle = set(encoder_processes())  # of tests before this one, which wait for an encode of this process
    async with Jobs(config()) as jobs:
        call = asyncio.ensure_future(jobs.run(job("search", request), client="me", progress=heard))
        while not any(told.details.get("frames") for told in heard.all):
            await heard.more()
        encoders = [Watched(pid) for pid in set(encoder_processes()) - idle]
        assert encoders
        ((running, *_), _more) = await jobs.list([], 1)
        await jobs.cancel(running.id)
        with pytest.raises(JobCancelled):
            await call
        for encoder in encoders:
            await encoder.gone()
    assert [path.name for path in folder.iterdir()] == ["long.y4m"]


async def test_a_refusal_is_the_job_s_sentence(jobs: Jobs, tmp_path: Path) -> None:
    request = PerShotRequest(src=str(tmp_path / "none.mkv"))
    with pytest.raises(JobFailed, match="does not exist"):
        await jobs.run(job("tune-per-shot", request), client="me")

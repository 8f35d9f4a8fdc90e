"""vmaf_score and vmaf_score_encoded, asked by the SDK's own client."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acuity
from acuity.report.precision import parse_precision
from canary import FileCanary
from misaligned_clips import encode_luma, frames_of
from scoring_clips import FRAMES, GEOMETRY, container, raw
from scoring_room import ERAS, OWN_GEOMETRY, Ask, ThreadJobs, encoded_arguments, playing, raw_arguments


async def test_pictures_are_cut_and_fill_a_display(ask: Ask, clips: Path) -> None:
    asked = {"crop": "64:48:2:2", "display": "1080p", "frame_cnt": 2, "precision": "max"}
    found = await ask("vmaf_score_encoded", **encoded_arguments(clips, filter="lanczos", **asked))
    scored = {"frames": 2, "crop": "64:48:2:2", "display": "1080p", "filter": "lanczos"}
    expected = acuity.score(clips / "ref.mkv", clips / "dis.mp4", model="vmaf_v0.6.1", **scored)
    assert found["score"] == expected.score
    shown = found["acuity"]["input"]
    assert (shown["crop"], shown["display"], shown["filter"]) == ([64, 48, 2, 2], "1080p", "lanczos")
    assert (shown["width"], shown["height"]) == (1440, 1080)
    assert {note["code"] for note in found["notes"]} >= {"crop", "scaled"}
    raw_pair = await ask("vmaf_score", **raw_arguments(clips, **asked))
    assert raw_pair["acuity"]["input"]["display"] == "1080p"


@pytest.mark.parametrize("era", ERAS)
async def test_a_raw_pair(ask: Ask, clips: Path) -> None:
    found = await ask("vmaf_score", **raw_arguments(clips, precision="max"))
    expected = acuity.score(clips / "ref.yuv", clips / "dis.yuv", model="vmaf_v0.6.1", **OWN_GEOMETRY)
    assert found["pooled_metrics"]["vmaf"]["mean"] == expected.score
    assert len(found["frames"]) == FRAMES
    assert (found["backend_requested"], found["backend_used"]) == ("auto", "cpu")
    assert "70x52 (sd)" in found["mismatched_model_warning"]
    assert (found["job_id"], found["report"]) == ("job-1", "acuity://reports/job-1")
    assert found["acuity"]["input"]["pairs"] == FRAMES


@pytest.mark.parametrize("era", ERAS)
async def test_an_encoded_pair(ask: Ask, clips: Path) -> None:
    given = encoded_arguments(clips, backend="cpu", frame_cnt=4.0)
    found = await ask("vmaf_score_encoded", **given)
    expected = acuity.score(clips / "ref.mkv", clips / "dis.mp4", model="vmaf_v0.6.1", frames=4)
    assert found["pooled_metrics"]["vmaf"]["mean"] == pytest.approx(expected.score, abs=1e-6)
    assert (found["backend_requested"], found["backend_used"]) == ("cpu", "cpu")
    assert {key: found[key] for key in given if key.endswith("_encoded")} == encoded_arguments(clips)
    compared = found["acuity"]["input"]
    assert compared["distorted"]["codec"] == "h264"
    assert (compared["pairs"], compared["pair_by"]) == (4, "index")
    assert found["report"].startswith("acuity://reports/")


async def test_options_become_the_engines(ask: Ask, thread_jobs: ThreadJobs, clips: Path) -> None:
    options = {"disable_clip": True, "enable_transform": True, "feature": ["vif=debug=true"], "threads": 1}
    options |= {"frame_skip_ref": 1, "frame_skip_dist": 1, "subsample": 2, "precision": "3"}
    named = raw_arguments(clips, model="version=vmaf_v0.6.1:name=mine", **options)
    found = await ask("vmaf_score", **named)
    assert [frame["frameNum"] for frame in found["frames"]] == [0, 2, 4]
    metrics = found["frames"][0]["metrics"]
    assert {"mine", "integer_vif"} <= set(metrics)
    assert metrics["mine"] == float(parse_precision(3).format(metrics["mine"]))
    only = await ask("vmaf_score", **raw_arguments(clips, no_prediction=True))
    assert "vmaf" not in only["pooled_metrics"]
    assert "integer_adm2" in only["pooled_metrics"]
    model = "version=vmaf_v0.6.1:name=mine:disable_clip:enable_transform"
    assert thread_jobs.specs[0].payload["request"]["models"] == [model]
    assert thread_jobs.specs[0].title == "dis.yuv against ref.yuv"
    assert (thread_jobs.specs[0].task, thread_jobs.specs[0].tool) == ("score", "vmaf_score")


async def test_frame_rates_that_differ_are_refused_with_the_argument_to_pass(tmp_path: Path) -> None:
    slow, fast = container(tmp_path / "slow.mkv"), container(tmp_path / "fast.mkv", rate=50)
    given = {"reference_encoded": str(slow), "distorted_encoded": str(fast)}
    async with playing(tmp_path) as ask:
        assert "pass rate=match" in (await ask("vmaf_score_encoded", **given))["error"]
        found = await ask("vmaf_score_encoded", **given, rate="match")
        assert found["acuity"]["input"]["frame_step_dis"] == 2
        assert len(found["frames"]) == FRAMES // 2


@pytest.mark.parametrize("backend", ["cuda", "sycl", "hip", "metal"])
@pytest.mark.parametrize("tool", ["vmaf_score", "vmaf_score_encoded"])
@pytest.mark.usefixtures("without_cuda")
async def test_a_backend_that_is_not_there_is_refused(
    ask: Ask, thread_jobs: ThreadJobs, clips: Path, tool: str, backend: str
) -> None:
    make = raw_arguments if tool == "vmaf_score" else encoded_arguments
    why = ": CuPy is not installed: pip install 'acuity-vmaf[cuda]'" if backend == "cuda" else ""

    assert (await ask(tool, **make(clips, backend=backend)))["error"] == (
        f"backend '{backend}' requested but this server does not have it{why} (available: ['cpu']); "
        "refusing to fall back silently. Pass backend='auto' to let Acuity pick."
    )
    assert thread_jobs.specs == []  # refused before anything was queued


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"ref": "/etc/passwd"},
            "path /etc/passwd not under an allowlisted root; set VMAF_MCP_ALLOW to extend.",
        ),
        ({"dis": "http://example.org/a.yuv"}, "only local files are read"),
        ({"model": "path=/etc/passwd"}, "path /etc/passwd not under an allowlisted root"),
        ({"model": "/etc/hostname.json"}, "path /etc/hostname.json not under an allowlisted root"),
        ({"feature": ["cambi=heatmaps_path=/tmp/x"]}, "writes files"),
        ({"feature": ["vif=file=/etc/passwd"]}, "path /etc/passwd not under an allowlisted root"),
        ({"model": "version=vmaf_v0.6.1:nonsense"}, "the model option 'nonsense'"),
        ({"model": "auto", "disable_clip": True}, "name a model"),
        ({"width": 0}, "invalid width 0: should be 1 or more"),
        ({"width": "70"}, "invalid width '70': should be of type integer"),
        ({"pixfmt": "nv12"}, "invalid pixfmt 'nv12': use one of '400', '420', '422', '444'"),
        ({"bitdepth": 9}, "invalid bitdepth 9: use one of 8, 10, 12, 14, 16"),
        ({"backend": "vulkan"}, "invalid backend 'vulkan'"),
        ({"precision": "18"}, "invalid precision '18'"),
        ({"subsample": 0}, "invalid subsample 0: should be 1 or more"),
        ({"frame_cnt": 0}, "invalid frame_cnt 0: should be 1 or more"),
        ({"feature": ["vif"] * 65}, "should have at most 64 entries"),
        ({"gpumask": 1}, "tool 'vmaf_score' has no argument 'gpumask'"),
        ({"height": 51}, "not a whole number of frames"),
        *(({"aom_ctc": version}, "invalid aom_ctc") for version in ("v8.0", "proposed", 7)),
        ({"model": "version=none"}, "call list_models for a list"),
        ({"model": "version=vmaf_v0.6.1:cambi.enc_width=640"}, "does not use the extractor 'cambi'"),
        *(
            (
                {"model": f"version=vmaf_v0.6.1:name={name}"},
                f"would be reported as '{name}', which is the name of another column",
            )
            for name in ("integer_adm2", "psnr_y", "frameNum")
        ),
    ],
)
async def test_bad_arguments(ask: Ask, clips: Path, changed: dict[str, Any], sentence: str) -> None:
    assert sentence in (await ask("vmaf_score", **raw_arguments(clips, **changed)))["error"]


async def test_missing_things(ask: Ask, clips: Path) -> None:
    encoded, unknown = str(clips / "ref.mkv"), str(clips / "ref.yuv")
    missing = await ask("vmaf_score", **raw_arguments(clips, ref=str(clips / "none.yuv")))
    assert missing["error"] == (
        f"no such file under the allowed folders: {clips / 'none.yuv'}; list_videos shows what is there"
    )
    root = await ask("vmaf_score", **raw_arguments(clips, ref=str(clips)))
    assert root["error"].startswith(f"path {clips} is an allowed folder, not a file: name a file in it")
    incomplete = await ask("vmaf_score", ref="a.yuv")
    assert incomplete["error"] == (
        "tool 'vmaf_score' missing required argument: 'dis', 'width', 'height', 'pixfmt', 'bitdepth'"
    )
    swapped = await ask("vmaf_score", **raw_arguments(clips, ref=encoded, dis=encoded))
    assert swapped["error"].endswith("score the pair with vmaf_score_encoded")
    unnamed = await ask("vmaf_score_encoded", **encoded_arguments(clips, reference_encoded=unknown))
    assert "score the pair with vmaf_score, which takes width" in unnamed["error"]


async def test_a_model_file_of_ones_own(clips: Path, tmp_path: Path) -> None:
    info = next(model for model in acuity.list_models() if model.name == "vmaf_v0.6.1")
    for name in ("ref.yuv", "dis.yuv"):
        (tmp_path / name).write_bytes((clips / name).read_bytes())
    (tmp_path / "mine.json").write_bytes(info.path.read_bytes())
    async with playing(tmp_path) as ask:
        usual = await ask("vmaf_score", **raw_arguments(tmp_path))
        model = f"path={tmp_path}/../{tmp_path.name}/mine.json"
        mine = await ask("vmaf_score", **raw_arguments(tmp_path, model=model))
        assert mine["pooled_metrics"] == usual["pooled_metrics"]
        assert "mismatched_model_warning" not in mine  # nobody knows what it is for


def wide(path: Path, *, worse: bool = False) -> Path:
    """Two frames of 256x176: VMAF v1 takes nothing much smaller."""
    rng = np.random.default_rng(7)
    frames = rng.integers(16, 236, 2 * 256 * 176 * 3 // 2, np.uint8)
    path.write_bytes((frames & (0xF0 if worse else 0xFF)).tobytes())
    return path


async def test_a_way_of_watching_and_metrics(tmp_path: Path) -> None:
    ref, dis = wide(tmp_path / "ref_256x176_420p8.yuv"), wide(tmp_path / "dis_256x176_420p8.yuv", worse=True)
    raw_pair = {"ref": str(ref), "dis": str(dis), "width": 256, "height": 176, "pixfmt": "420", "bitdepth": 8}
    encoded_pair = {"reference_encoded": str(ref), "distorted_encoded": str(dis)}
    metrics = ["psnr", "cambi"]
    expected = acuity.score(ref, dis, viewing="tv", metrics=metrics).to_dict()
    async with playing(tmp_path) as ask:
        for tool, given in (("vmaf_score", raw_pair), ("vmaf_score_encoded", encoded_pair)):
            found = await ask(tool, **given, viewing="tv", metrics=metrics, precision="max")
            assert (found["score"], found["model"]) == (expected["score"], "vmaf_v1.0.16_3d0h")
            assert found["metrics"] == expected["metrics"]
            assert found["acuity"]["model_chosen_by"] == "viewing"
            plain = await ask(tool, **given)
            assert (plain["model"], plain["acuity"]["model_chosen_by"]) == ("vmaf_v0.6.1", "default")
            named = await ask(tool, **given, model="version=vmaf_v0.6.1")
            assert named["acuity"]["model_chosen_by"] == "caller"
            assert "metrics" not in plain
            alone = await ask(tool, **given, metrics=["psnr"])
            assert (alone["score"], alone["models"]) == (None, [])
            assert next(iter(alone["pooled_metrics"])) == "psnr_y"
            both = await ask(tool, **given, metrics=["vmaf", "psnr"])
            assert both["score"] == plain["score"]
            labels = [(metric["name"], metric["label"]) for metric in both["metrics"]]
            assert labels == [("vmaf", "vmaf_v0.6.1"), ("psnr", "psnr")]
            for model in ("version=vmaf_v0.6.1neg", "version=vmaf_v0.6.1"):  # the second is the default
                refused = (await ask(tool, **given, viewing="tv", model=model))["error"]
                assert "viewing='tv' chooses the model, and 'model' names one" in refused
            changed = (await ask(tool, **given, viewing="tv", disable_clip=True))["error"]
            assert "viewing='tv' takes no disable_clip" in changed
            for wrong, known in (
                ({"viewing": "cinema"}, "'tv', 'phone', '4k-tv'"),
                ({"metrics": ["beauty"]}, "'vmaf', "),
            ):
                assert f"use one of {known}" in (await ask(tool, **given, **wrong))["error"]


async def test_frames_that_are_not_the_same(tmp_path: Path) -> None:
    frames = frames_of("grain")[:40]
    ref = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    dis = encode_luma(tmp_path / "x.mp4", frames[1:], crf="28")
    given = {"reference_encoded": str(ref), "distorted_encoded": str(dis)}
    async with playing(tmp_path) as ask:
        refused = (await ask("vmaf_score_encoded", **given))["error"]
        assert refused.endswith("pass frame_skip_ref=1, or align=auto")
        found = await ask("vmaf_score_encoded", **given, align="auto", precision="max")
        assert found["score"] == acuity.score(ref, dis, align="auto", model="vmaf_v0.6.1").score
        assert "alignment" in {note["code"] for note in found["notes"]}


@pytest.mark.parametrize("name", ["pixfmt_test.yuv", "--width.yuv"])
async def test_names_that_look_like_settings_stay(tmp_path: Path, name: str) -> None:
    clip = str(raw(tmp_path / name))
    (tmp_path / "m.json").write_text("{}")
    async with playing(tmp_path) as ask:
        refused = await ask("vmaf_score_encoded", reference_encoded=clip, distorted_encoded=clip)
        assert refused["error"] == (
            f"'{clip}' is raw video and its name gives no size: "
            "score the pair with vmaf_score, which takes width, height, pixfmt and bitdepth"
        )
        refused = await ask("vmaf_score", ref=clip, dis=clip, **{**GEOMETRY, "height": 53})
        assert f"'{clip}'" in refused["error"]


async def test_a_playlist_in_an_allowed_folder_leads_nowhere(clips: Path, tmp_path: Path) -> None:
    """Nor does one of playlists, nor an address: what lies outside isn't opened."""
    outside = Path(shutil.copy(clips / "dis.mp4", tmp_path))
    (clips / "inner.m3u8").write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{outside}\n")
    (clips / "outer.mp4").write_text("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\ninner.m3u8\n")
    said = {
        str(clips / "inner.m3u8"): "is a playlist, not a video",
        str(clips / "outer.mp4"): "is a playlist, not a video",
        f"file://{outside}": "not under an allowlisted root",
        f"concat:{outside}": "only local files are read",
        "http://127.0.0.1:9/list.m3u8": "only local files are read",
    }
    with FileCanary(outside) as canary:
        async with playing(clips) as ask:
            for given, sentence in said.items():
                found = await ask("vmaf_score_encoded", **encoded_arguments(clips, distorted_encoded=given))
                assert sentence in found["error"]
        assert not canary.touched

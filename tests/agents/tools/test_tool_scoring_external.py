"""vmaf_score where VMAF_BIN names another binary; test_tool_encoded_external.py has vmaf_score_encoded."""

from __future__ import annotations

from pathlib import Path

import pytest

from scoring_clips import FORK_HELP, fake_vmaf, runs_of
from scoring_room import ThreadJobs, playing, raw_arguments


async def test_the_binary_scores_with_the_options_it_has(clips: Path, tmp_path: Path) -> None:
    binary = fake_vmaf(tmp_path / "vmaf", help=FORK_HELP)

    jobs = ThreadJobs()
    async with playing(clips, binary=binary, jobs=jobs) as ask:
        options = {"threads": 2, "frame_cnt": 3, "frame_skip_ref": 1, "subsample": 2, "no_prediction": True}
        options |= {"feature": ["psnr", "cambi=window_size=3"], "disable_clip": True}
        found = await ask("vmaf_score", **raw_arguments(clips, backend="cuda", **options))
        assert found["version"] == "fake"
        size = (clips / "ref.yuv").stat().st_size
        assert found["seen"] == {"ref": size, "dis": size}
        assert (found["backend_requested"], found["backend_used"]) == ("cuda", "cuda")
        assert (found["job_id"], found["report"]) == ("job-1", "acuity://reports/job-1")
        assert "mismatched_model_warning" not in found  # no model predicts
    assert [(spec.task, spec.tool) for spec in jobs.specs] == [("external", "vmaf_score")]
    argv = runs_of(binary)[-1]
    given = argv[4 : argv.index("-m")]
    assert given == [
        *("--width", "70", "--height", "52", "-p", "420", "-b", "8"),
        *("--precision", "legacy", "--no_prediction", "--subsample", "2", "--threads", "2"),
        *("--frame_cnt", "3", "--frame_skip_ref", "1", "--no_sycl"),
        *("--feature", "psnr", "--feature", "cambi=window_size=3"),
    ]
    assert argv[argv.index("-m") + 1] == "version=vmaf_v0.6.1:disable_clip"


@pytest.mark.parametrize(
    ("help", "backend", "disabled", "used"),
    [
        (FORK_HELP, "cpu", ["--no_cuda", "--no_sycl"], "cpu"),
        (FORK_HELP, "sycl", ["--no_cuda"], "sycl"),
        (FORK_HELP, "auto", [], "unknown"),
        ("--reference --distorted", "auto", [], "cpu"),  # it can't be anything else
        ("--reference --distorted", "cpu", [], "cpu"),
    ],
)
async def test_backends_are_chosen_by_switching_off_the_others(
    clips: Path, tmp_path: Path, help: str, backend: str, disabled: list[str], used: str
) -> None:
    binary = fake_vmaf(tmp_path / "vmaf", help=help)
    async with playing(clips, binary=binary) as ask:
        found = await ask("vmaf_score", **raw_arguments(clips, backend=backend))
        assert found["backend_used"] == used
    assert [option for option in runs_of(binary)[-1] if option.startswith("--no_")] == disabled


async def test_a_backend_it_does_not_advertise_is_refused(clips: Path, tmp_path: Path) -> None:
    binary = fake_vmaf(tmp_path / "vmaf")
    async with playing(clips, binary=binary) as ask:
        assert (await ask("vmaf_score", **raw_arguments(clips, backend="cuda")))["error"] == (
            "backend 'cuda' requested but the local vmaf binary does not advertise it (available: ['cpu']); "
            "refusing to fall back silently. Pass backend='auto' to let vmaf pick, "
            "or rebuild with the requested backend enabled."
        )
    assert runs_of(binary) == [["--help"]]


async def test_a_stock_binary_has_no_precision(clips: Path, tmp_path: Path) -> None:
    binary = fake_vmaf(tmp_path / "vmaf")
    async with playing(clips, binary=binary) as ask:
        assert "version" in await ask("vmaf_score", **raw_arguments(clips))
        refused = await ask("vmaf_score", **raw_arguments(clips, precision="max"))
        assert refused["error"].startswith(
            f"the vmaf binary {binary} has no --precision: leave out precision"
        )
        for name, value in (("scale", "force"), ("viewing", "tv"), ("metrics", ["psnr"])):
            refused = await ask("vmaf_score", **raw_arguments(clips, **{name: value}))
            assert f"has no --{name}" in refused["error"]
    assert "--precision" not in runs_of(binary)[-1]


async def test_failures(clips: Path, tmp_path: Path) -> None:
    binary = tmp_path / "vmaf"
    async with playing(clips, binary=binary) as ask:
        gone = await ask("vmaf_score", **raw_arguments(clips))
        assert gone["error"].startswith(f"vmaf binary not found at {binary}. ")
        fake_vmaf(binary)
        outside = await ask("vmaf_score", **raw_arguments(clips, ref="/etc/passwd"))
        assert "not under an allowlisted root" in outside["error"]
    assert runs_of(binary) == []


async def test_the_model_may_be_chosen_by_size(clips: Path, tmp_path: Path) -> None:
    binary = fake_vmaf(tmp_path / "vmaf")
    async with playing(clips, binary=binary) as ask:
        found = await ask("vmaf_score", **raw_arguments(clips, model="auto"))
        assert "(sd)" in found["mismatched_model_warning"]
    argv = runs_of(binary)[-1]
    assert argv[argv.index("-m") + 1] == "version=vmaf_v0.6.1"

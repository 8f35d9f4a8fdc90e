"""Common test conditions in the scoring tools: the figures of the command, in one argument."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.cli.vmaf import main as vmaf
from acuity.scoring.presets import PRESETS
from moving_pictures import luma
from scoring_clips import HELP, fake_vmaf, runs_of
from scoring_room import Ask, ThreadJobs, playing, raw_arguments

FRAMES = 2
# Large enough for every extractor of the presets.
WIDTH, HEIGHT = 350, 260
GEOMETRY: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "pixfmt": "420", "bitdepth": 8}
ALL = [(family, version) for family, versions in PRESETS.items() for version in versions]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("clips")
    for name, worse in (("ref", False), ("dis", True)):
        pictures = [np.tile(luma(index, worse=worse).astype(np.uint8), (5, 5)) for index in range(FRAMES)]
        grey = bytes([128]) * (WIDTH * HEIGHT // 2)
        frames = [picture.tobytes() + grey for picture in pictures]
        (made / f"{name}.yuv").write_bytes(b"".join(frames))
        header = f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip C420jpeg\n".encode()
        (made / f"{name}.y4m").write_bytes(header + b"".join(b"FRAME\n" + frame for frame in frames))
    return made


@pytest.fixture
def ask(folder: Path, thread_jobs: ThreadJobs) -> AbstractAsyncContextManager[Ask]:
    return playing(folder, jobs=thread_jobs)


def raw_pair(folder: Path, **more: Any) -> dict[str, Any]:
    return raw_arguments(folder, **GEOMETRY, **more)


def encoded_pair(folder: Path, **more: Any) -> dict[str, Any]:
    pair = {f"{name}_encoded": str(folder / f"{name[:3]}.y4m") for name in ("reference", "distorted")}
    return pair | more


def report_of_the_command(folder: Path, out: Path, *options: str) -> dict[str, Any]:
    pair = ["-r", str(folder / "ref.y4m"), "-d", str(folder / "dis.y4m")]
    assert vmaf([*pair, *options, "--json", "-o", str(out), "-q"]) == 0
    return json.loads(out.read_text())


@pytest.mark.parametrize(("family", "version"), ALL)
async def test_the_figures_of_the_command(
    ask: Ask, folder: Path, tmp_path: Path, family: str, version: str
) -> None:
    expected = report_of_the_command(folder, tmp_path / "report.json", f"--{family}", version)
    for tool, pair in (("vmaf_score", raw_pair), ("vmaf_score_encoded", encoded_pair)):
        found = await ask(tool, **pair(folder, **{family: version}))
        for key in ("frames", "pooled_metrics", "aggregate_metrics"):
            assert found[key] == expected[key], (tool, key)
        assert "(sd)" in found["mismatched_model_warning"]


async def test_a_further_model_and_feature_are_added(ask: Ask, folder: Path) -> None:
    more = {"aom_ctc": "v1.0", "model": "version=vmaf_4k_v0.6.1:name=four", "feature": ["vif=debug=true"]}
    found = await ask("vmaf_score", **raw_pair(folder, **more))
    assert {"four", "vmaf", "vmaf_neg", "integer_vif", "psnr_hvs"} <= set(found["pooled_metrics"])


async def test_both_presets_at_once_need_names_of_their_own(ask: Ask, folder: Path) -> None:
    found = await ask("vmaf_score", **raw_pair(folder, aom_ctc="v1.0", nflx_ctc="v1.0"))
    assert "vmaf" in found["error"]


async def test_clipping_is_switched_off_in_all_models(
    ask: Ask, thread_jobs: ThreadJobs, folder: Path
) -> None:
    assert "frames" in await ask(
        "vmaf_score", **raw_pair(folder, aom_ctc="v1.0", disable_clip=True, frame_cnt=1)
    )
    payload = thread_jobs.specs[0].payload
    assert all("disable_clip" in model for model in payload["request"]["models"])


async def test_another_binary_is_passed_the_preset(folder: Path, tmp_path: Path) -> None:
    binary = fake_vmaf(tmp_path / "vmaf", help=HELP + " --aom_ctc: conditions\n")
    async with playing(folder, binary=binary) as ask:
        found = await ask("vmaf_score", **raw_pair(folder, aom_ctc="v3.0"))
        assert "(sd)" in found["mismatched_model_warning"]
        await ask("vmaf_score", **raw_pair(folder, aom_ctc="v3.0", model="version=vmaf_4k_v0.6.1:name=four"))
        lacking = await ask("vmaf_score", **raw_pair(folder, nflx_ctc="v1.0"))
        assert f"the vmaf binary {binary} has no --nflx_ctc" in lacking["error"]
        clipped = await ask("vmaf_score", **raw_pair(folder, aom_ctc="v3.0", disable_clip=True))
        assert "disable_clip" in clipped["error"]
    _, first, second = runs_of(binary)
    assert first[first.index("--aom_ctc") + 1] == "v3.0"
    assert "-m" not in first
    assert second[second.index("-m") + 1] == "version=vmaf_4k_v0.6.1:name=four"

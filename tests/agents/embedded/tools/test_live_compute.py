"""compute_vmaf: a pair of files, scored in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import acuity
from acuity import EmbeddedServer
from acuity.access.paths import AllowedPaths
from acuity.measure import Measurement
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.scoring.watched import WatchedRun
from embedded_client import connected
from live_ground import MODEL, NEG, Ground, playing
from moving_pictures import HEIGHT, WIDTH, luma, measure

FRAMES = 3
CHROMA = {"420": (2, 2), "422": (2, 1), "444": (1, 1), "400": None}
DEPTHS = {"420": 12, "422": 10, "444": 8, "400": 16}


def clip(folder: Path, layout: str, depth: int, *, worse: bool) -> str:
    """A raw video whose chroma is grey."""
    path = folder / f"{layout}_{depth}_{worse}.yuv"
    with path.open("wb") as file:
        for index in range(FRAMES):
            file.write(luma(index, worse=worse, depth=depth).tobytes())
            if (step := CHROMA[layout]) is not None:
                shape = (2, HEIGHT // step[1], WIDTH // step[0])
                kind = np.uint8 if depth == 8 else np.uint16
                file.write(np.full(shape, 1 << (depth - 1), kind).tobytes())
    return str(path)


def raw(folder: Path, layout: str = "420", depth: int = 8) -> dict[str, Any]:
    ref, dis = (clip(folder, layout, depth, worse=worse) for worse in (False, True))
    return {"reference_path": ref, "distorted_path": dis, "width": WIDTH, "height": HEIGHT}


async def test_every_layout_and_depth_off_the_measuring_thread(ground: Ground, tmp_path: Path) -> None:
    expected = measure(FRAMES, MODEL)
    others = psutil.Process().children()  # of fixtures
    assert not ground.compute.started
    plain = await ground.ask("compute_vmaf", **raw(tmp_path))
    assert (plain["score"], plain["frames_scored"]) == (expected.pool(), FRAMES)
    assert (plain["model"], plain["pool_method"]) == (MODEL, "mean")
    assert (plain["model_version"], plain["bitdepth"]) == (MODEL, 8)
    assert plain["pooled_metrics"]["vmaf"]["min"] == expected.pool(method="min")
    assert (plain["frames"], plain["frames_omitted"]["count"]) == ([], FRAMES)
    for layout, depth in DEPTHS.items():
        given, samples = raw(tmp_path, layout, depth), {"pixel_format": layout, "bitdepth": depth}
        found = await ground.ask("compute_vmaf", **given, **samples)
        paths, size = [*given.values()][:2], {"width": WIDTH, "height": HEIGHT}
        score = acuity.score(*paths, model=MODEL, **size, **samples).score
        assert (found["score"], found["bitdepth"]) == (score, depth)
    full = await ground.ask("compute_vmaf", **raw(tmp_path), model=NEG, include_frames=True)
    assert [row["frameNum"] for row in full["frames"]] == list(range(FRAMES))
    assert full["score"] == measure(FRAMES, NEG).pool()
    named = await ground.ask("compute_vmaf", **raw(tmp_path), model_version=NEG)
    assert (named["score"], named["model_version"]) == (full["score"], NEG)
    assert ground.measurement.frames == 0  # nobody asked the measurement
    workers = [child for child in psutil.Process().children() if child not in others]
    assert len(workers) == 1
    await ground.compute.close()
    assert not psutil.wait_procs(workers, 30)[1]


async def test_what_cannot_be_scored_is_said_in_a_sentence(tmp_path: Path) -> None:
    outside = tmp_path.parent / "elsewhere.yuv"
    outside.write_bytes(b"")
    inside = tmp_path / "allowed"
    inside.mkdir()
    async with playing(inside, MODEL) as ground:
        good = raw(inside)

        async def refused(**changes: Any) -> str:
            given = {key: value for key, value in (good | changes).items() if value is not None}
            return await ground.refused("compute_vmaf", **given)

        assert "not under an allowlisted root" in await refused(reference_path=str(outside))
        assert "not under an allowlisted root" in await refused(model=f"path={outside}")
        name = str(inside / "nope.yuv")
        for given in ({"reference_path": name}, {"distorted_path": name}, {"model": f"path={name}"}):
            sentence = await refused(**given)
            assert sentence.startswith("no such file under the allowed folders: ")
            assert name in sentence
        assert "give one of them" in await refused(model=NEG, model_version=MODEL)
        assert "missing required argument: 'distorted_path'" in await refused(distorted_path=None)
        assert "use one of '400', '420'" in await refused(pixel_format="411")
        assert "use one of 8, 10" in await refused(bitdepth=9)
        assert not ground.compute.started  # none of this needed a worker
        sentence = await refused(model="vmaf_v9")
        assert "there is no model named 'vmaf_v9'" in sentence
        assert "call list_models" in sentence
        assert "height" in await refused(height=None)
        assert "vmaf_score" not in await refused(width=None, height=None)
        assert "frame" in await refused(width=WIDTH - 2)
        found = await ground.ask("compute_vmaf", **good)  # the worker is as good as before
        assert found["frames_scored"] == FRAMES


async def test_a_way_of_watching_and_metrics(ground: Ground, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    frames = rng.integers(16, 236, 2 * 256 * 176 * 3 // 2, np.uint8)
    ref, dis = tmp_path / "ref.yuv", tmp_path / "dis.yuv"
    ref.write_bytes(frames.tobytes())
    dis.write_bytes((frames & 0xF0).tobytes())
    given = {"reference_path": str(ref), "distorted_path": str(dis), "width": 256, "height": 176}
    size: dict[str, Any] = {"width": 256, "height": 176, "pixel_format": "420", "bitdepth": 8}
    expected = acuity.score(ref, dis, viewing="tv", metrics=["psnr"], **size).to_dict()
    found = await ground.ask("compute_vmaf", **given, viewing="tv", metrics=["psnr"])
    assert (found["score"], found["model"]) == (expected["score"], "vmaf_v1.0.16_3d0h")
    assert found["metrics"] == expected["metrics"]
    alone = await ground.ask("compute_vmaf", **given, metrics=["psnr"])
    assert (alone["score"], alone["model"]) == (None, None)
    for name, model in (("model", NEG), ("model", MODEL), ("model_version", "vmaf_v0.6.1")):
        asked = {**given, "viewing": "tv", name: model}
        refused = await ground.refused("compute_vmaf", **asked)
        assert f"viewing='tv' chooses the model, and '{name}' names one" in refused
    twice = {**given, "model": MODEL, "model_version": "vmaf_v0.6.1neg"}
    assert "give one of them" in await ground.refused("compute_vmaf", **twice)


@pytest.mark.parametrize("name", ["pixfmt_test.yuv", "--width.yuv"])
async def test_names_that_look_like_settings_stay(ground: Ground, tmp_path: Path, name: str) -> None:
    clip = tmp_path / name
    clip.write_bytes(bytes(64 * 36 * 3 // 2))
    given = {"reference_path": str(clip), "distorted_path": str(clip)}
    said = f"'{clip}' is raw video and its name gives no size: give width, height, pixel_format and bitdepth"
    assert await ground.refused("compute_vmaf", **given) == said


def test_the_files_being_measured_may_be_read_and_none_beside_them(tmp_path: Path) -> None:
    given = raw(tmp_path)
    reference, distorted = given["reference_path"], given["distorted_path"]
    beside = clip(tmp_path, "420", 10, worse=True)
    found: list[Any] = []

    def attach(measurement: Measurement, watched: WatchedRun) -> None:
        paths = AllowedPaths([tmp_path / "elsewhere"])
        with EmbeddedServer(measurement, paths=paths, watched=watched) as server:
            server.start_uds(tmp_path / "s")
            with connected(tmp_path / "s") as client:
                for other in (distorted, beside):
                    asked = {**given, "distorted_path": other}
                    found.append(client.ask("tools/call", name="compute_vmaf", arguments=asked)["result"])

    request = Request(
        reference, distorted, width=WIDTH, height=HEIGHT, pixel_format="420", bitdepth=8, models=[MODEL]
    )
    report = run_request(request, attach=attach)
    scored, refused = found
    assert scored["structuredContent"]["score"] == report.score
    assert "not under an allowlisted root" in refused["content"][0]["text"]

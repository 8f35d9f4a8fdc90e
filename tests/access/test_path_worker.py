"""The guard where it matters: in the worker processes that read for clients."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.errors import AcuityError
from acuity.jobs.config import JobsConfig
from acuity.jobs.service import Jobs
from acuity.jobs.tasks.score import score_payload
from acuity.scoring.request import Request
from canary import FileCanary
from longwire.work import JobSpec
from path_ground import Ground, make_ground
from small_model import small_document

WIDTH, HEIGHT = 64, 48
PATIENCE = 60.0


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = make_ground(tmp_path)
    rng = np.random.default_rng(0)
    for folder in (ground.root, ground.root / "sub", ground.outside):
        (folder / "clip.yuv").write_bytes(rng.bytes(WIDTH * HEIGHT * 3 // 2 * 2))
    return ground


@pytest.fixture
def jobs(ground: Ground) -> Jobs:
    roots = tuple(map(str, ground.paths.roots))
    return Jobs(JobsConfig(workers=1, queue=4, time_limit=PATIENCE, kept=100, data=None, roots=roots))


def score(ground: Ground, **changes: Any) -> JobSpec:
    geometry = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}
    pair = str(ground.root / "clip.yuv"), str(ground.root / "sub/clip.yuv")
    request = Request(*pair, models=[f"path={ground.root}/model.json"], threads=1, **geometry)
    return JobSpec("score", score_payload(replace(request, **changes)), tool="vmaf_score", title="a score")


async def test_a_worker_reads_only_under_the_roots(jobs: Jobs, ground: Ground) -> None:
    """Paths reach it unchecked here: by then they may lead elsewhere than when the server checked them."""
    (ground.outside / "model.json").write_text(json.dumps(small_document()))
    swapped = ground.root / "swapped.yuv"
    attempts: list[tuple[dict[str, Any], str]] = [
        ({"distorted": str(ground.outside / "clip.yuv")}, "not under an allowlisted root"),
        ({"reference": str(ground.root / "out_folder/clip.yuv")}, "not under an allowlisted root"),
        ({"models": [f"path={ground.outside}/model.json"]}, "not under an allowlisted root"),
        ({"distorted": str(swapped)}, "not under an allowlisted root"),
        ({"distorted": "-"}, "standard input"),
        ({"distorted": "/dev/zero"}, "is a device"),
        ({"distorted": str(ground.root / "pipe.yuv")}, "is a pipe"),
        ({"distorted": "/proc/self/environ"}, "not under an allowlisted root"),
        ({"distorted": str(ground.outside / "shot.%04d.png")}, "not searched for images here"),
        ({"distorted": str(ground.root / "*.png")}, "not searched for images here"),
        ({"distorted": "http://127.0.0.1:9/a.mkv", "allow_network": True}, "only local files are read"),
    ]
    outcome = await jobs.run(score(ground), client="a")
    assert len(outcome.document["frames"]) == 2
    swapped.write_bytes((ground.root / "clip.yuv").read_bytes())
    assert ground.paths.check(str(swapped)) == swapped
    swapped.unlink()
    swapped.symlink_to(ground.outside / "clip.yuv")
    for changes, says in attempts:
        with pytest.raises(AcuityError, match=says):
            await jobs.run(score(ground, **changes), client="a")
    assert (await jobs.run(score(ground), client="a")).document["frames"]
    assert jobs.stats().workers_lost == 0


async def test_what_is_outside_is_never_read(jobs: Jobs, ground: Ground) -> None:
    """Opened, perhaps, where a link was put in its place just now; but not a byte is read."""
    (ground.root / "late.yuv").symlink_to(ground.outside / "clip.yuv")
    with FileCanary(ground.outside / "clip.yuv", events=FileCanary.READ) as canary:
        with pytest.raises(AcuityError, match="not under an allowlisted root"):
            await jobs.run(score(ground, distorted=str(ground.root / "late.yuv")), client="a")
        assert not canary.touched

"""Pictures of worst frames are kept with their jobs, within a number of bytes, and read by URI."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import numpy as np
import pytest
from mcp.shared.exceptions import MCPError

from acuity.agents.resources.worst import WorstResources
from acuity.agents.tools.kept_pictures import KeptPictures
from acuity.frames.previews import picture_size, previews
from acuity.png import rgb_png


class KnownJobs:
    """Jobs by their ids, with a status each."""

    def __init__(self, **statuses: str) -> None:
        self._jobs = {
            IDS[name]: SimpleNamespace(status=status, over=status != "running", client="me")
            for name, status in statuses.items()
        }

    async def get(self, id: str) -> Any:
        return self._jobs.get(id)


IDS = {name: name * 8 for name in ("dead", "beef", "cafe", "f00d")}


def fill(data: Path, name: str, size: int, when: int) -> Path:
    folder = data / "worst" / IDS[name]
    folder.mkdir(parents=True)
    (folder / "frame_000001_heat.png").write_bytes(bytes(size))
    os.utime(folder, (when, when))
    return folder


def left(data: Path) -> set[str]:
    names = {id: name for name, id in IDS.items()}
    return {names.get(path.name, path.name) for path in (data / "worst").iterdir()}


def test_folders_of_unknown_and_failed_jobs_are_removed(tmp_path: Path) -> None:
    for when, name in enumerate(IDS):
        fill(tmp_path, name, 10, when)
    (tmp_path / "worst" / "mine").mkdir()
    jobs: Any = KnownJobs(dead="completed", beef="failed", cafe="running")
    anyio.run(KeptPictures(tmp_path / "none yet").sweep, jobs)
    anyio.run(KeptPictures(tmp_path).sweep, jobs)
    assert left(tmp_path) == {"dead", "cafe", "mine"}


def test_the_oldest_go_when_all_are_too_large(tmp_path: Path) -> None:
    for when, name in enumerate(IDS):
        fill(tmp_path, name, 1000, when)
    jobs: Any = KnownJobs(**dict.fromkeys(IDS, "completed"))
    anyio.run(KeptPictures(tmp_path, 2500).sweep, jobs)
    assert left(tmp_path) == {"cafe", "f00d"}


@pytest.mark.parametrize("name", ["../../jobs.sqlite", "worst.json", ".hidden.png", "a/b.png", ""])
def test_only_pictures_are_found(tmp_path: Path, name: str) -> None:
    fill(tmp_path, "dead", 10, 1)
    kept = KeptPictures(tmp_path)
    assert kept.find(IDS["dead"], name) is None
    assert kept.find("..", "frame_000001_heat.png") is None
    assert kept.find(IDS["dead"], "frame_000001_heat.png") is not None


def noise(width: int, height: int, block: int = 1) -> bytes:
    """A picture of random blocks, which gets harder to compress when it is made smaller."""
    small = np.random.default_rng(7).integers(0, 256, (height // block, width // block, 3), np.uint8)
    return rgb_png(small.repeat(block, axis=0).repeat(block, axis=1))


@pytest.mark.parametrize("block", [1, 3])
async def test_a_picture_that_is_too_large_for_a_message_says_how_to_read_it(
    tmp_path: Path, block: int
) -> None:
    folder = fill(tmp_path, "dead", 1, 1)
    (folder / "frame_000002_heat.png").write_bytes(noise(640 * block, 480 * block, block))
    uri = f"acuity://worst/{IDS['dead']}/frame_000002_heat.png"
    jobs: Any = KnownJobs(dead="completed")
    resources = WorstResources(jobs, KeptPictures(tmp_path))
    with pytest.raises(MCPError, match=r"more than the 700,000 of a message: read acuity.*\?width=\d+") as no:
        await resources.read(uri)
    smaller = str(no.value).split("read ")[1].split(" for")[0]
    found = await resources.read(smaller)
    (content,) = found.contents
    assert len(base64.b64decode(content.blob)) <= 700_000  # type: ignore[union-attr]
    with pytest.raises(MCPError, match="is not understood: write"):
        await resources.read(f"{uri}?width=wide")
    assert await resources.read("acuity://reports/x") is None


def test_previews_fit_their_room_at_one_scale(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for path in paths:
        path.write_bytes(noise(320, 240))
    small = previews(paths, 60_000)
    assert sum(len(preview.data) for preview in small) <= 60_000
    assert len({(preview.width, preview.height) for preview in small}) == 1
    assert small[0].width / small[0].height == pytest.approx(4 / 3, rel=0.05)
    assert previews([], 1000) == []


def test_previews_of_small_pictures_have_their_size(tmp_path: Path) -> None:
    path = tmp_path / "small.png"
    path.write_bytes(noise(40, 30))
    assert [(preview.width, preview.height) for preview in previews([path], 60_000)] == [picture_size(path)]

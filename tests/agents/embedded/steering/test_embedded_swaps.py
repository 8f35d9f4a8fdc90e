"""Models on their way into a running measurement."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.access.paths import AllowedPaths
from acuity.agents.embedded.steering.commands import ModelLoader
from acuity.errors import EmbeddedError, ModelError, PathError
from acuity.measure.feed import feed
from bridge_room import Room, measuring
from moving_pictures import pair
from small_model import small_document


@pytest.mark.parametrize("threads", [1, 3])
async def test_a_model_is_swapped_while_frames_are_fed(threads: int) -> None:
    models = ("vmaf_v0.6.1", "vmaf_v0.6.1neg")
    room = Room(measuring(models[:1], threads))
    decided = threading.Event()

    def pairs() -> Any:
        index = 0
        while not decided.is_set():
            yield pair(index % 20)
            index += 1
        yield from (pair(later % 20) for later in range(index, index + 30))

    feeding = asyncio.create_task(asyncio.to_thread(feed, room.measurement, pairs()))
    swapped = await room.steer.submit("swap_model", {"model": models[1], "repredict": False})
    decided.set()
    await feeding
    frames, first = room.measurement.frames, swapped["first"]
    assert (swapped["reported_as"], swapped["model"], swapped["before"]) == ("vmaf", models[1], models[0])
    assert 0 < swapped["next_frame"] <= first < frames
    found = room.measurement.results()
    assert [(s.label, s.first, s.last) for s in found.segments] == [
        (models[0], 0, first - 1),
        (models[1], first, frames - 1),
    ]
    for label, part in ((models[0], slice(0, first)), (models[1], slice(first, frames))):
        alone = _alone(label, frames)
        assert np.array_equal(found.columns["vmaf"][part], alone[part])
    room.close()


def _alone(model: str, frames: int) -> Any:
    with measuring((model,)) as measurement:
        feed(measurement, (pair(index % 20) for index in range(frames)))
        return measurement.results().columns["vmaf"]


async def test_models_that_can_not_be_had_never_reach_the_ring() -> None:
    room = Room(measuring(("vmaf_v0.6.1",)))
    with pytest.raises(ModelError, match="vmaf_v9"):
        await room.steer.submit("swap_model", {"model": "vmaf_v9"})
    with pytest.raises(PathError, match="allowlisted"):
        await room.steer.submit("swap_model", {"model": "path=/etc/hostname"})
    assert room.native.outstanding == 0
    unknown = await room.send("swap_model", {"model": "vmaf_v0.6.1neg", "slot": "other"})
    await room.feed()
    with pytest.raises(EmbeddedError, match="reported as 'other'"):
        await unknown
    assert room.handoff.attachments == {}
    room.close()


async def test_nothing_to_swap() -> None:
    room = Room()
    answer = await room.send("swap_model", {"model": "vmaf_v0.6.1"})
    await room.feed()
    with pytest.raises(EmbeddedError, match="no model is being measured"):
        await answer
    room.close()


async def test_a_model_that_comes_back_is_the_same_unless_its_file_changed(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps(small_document()))
    loader = ModelLoader(AllowedPaths([tmp_path]))
    first = await loader.load(f"path={file}")
    assert await loader.load(f"path={file}") is first
    changed = small_document()
    changed["model_dict"]["slopes"][1] = 3.5
    file.write_text(json.dumps(changed))
    os.utime(file, ns=(1, 1))
    assert await loader.load(f"path={file}") is not first
    others = [await loader.load(f"path={file}:name=n{number}") for number in range(9)]
    assert await loader.load(f"path={file}:name=n8") is others[8]
    assert await loader.load(f"path={file}:name=n0") is not others[0]  # eight are kept

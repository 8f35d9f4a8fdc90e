"""Models on their way into a running measurement."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from acuity.access.paths import AllowedPaths
from acuity.agents.embedded.steering.commands import ModelLoader
from acuity.errors import EmbeddedError, ModelError, PathError
from bridge_room import Room, measuring
from small_model import small_document


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

"""Large results are read beside the event loop, which goes on meanwhile."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from acuity.jobs import store as documents
from job_helpers import PATIENCE, on_loop


@pytest.mark.parametrize("frames", [0, 1, 10_000])
@on_loop
async def test_documents_are_read_whole(frames: int) -> None:
    document = {"frames": [{"frame": n, "vmaf": n / 3} for n in range(frames)], "name": "é"}
    assert await documents.parse(json.dumps(document)) == document


@on_loop
async def test_the_loop_gets_its_turn_in_the_middle_of_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    turns: list[bool] = []

    def hook(value: dict[str, Any]) -> dict[str, Any]:
        if len(turns) < 3:
            turn = threading.Event()
            loop.call_soon_threadsafe(turn.set)
            turns.append(turn.wait(PATIENCE))
        return value

    monkeypatch.setattr(documents, "_unchanged", hook)
    await documents.parse(json.dumps([{"frame": n} for n in range(10_000)]))
    assert turns == [True, True, True]

"""Frames below a score: waited for with vmaf.watch, told to subscribers, each frame once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError

from acuity.agents.embedded.resources import SCORES, WATCH
from acuity.agents.embedded.subscriptions import META_KEY, NotificationMeta
from live_ground import MODEL, NEG, SECONDS, Ground, playing
from moving_pictures import measure
from test_live_subscriptions import FAST, Heard

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

FRAMES = 24
HIGH = 101.0  # every frame is below it


def low_frames(below: float) -> list[dict[str, Any]]:
    scores = measure(FRAMES, MODEL).columns["vmaf"].tolist()
    return [{"frame": frame, "score": score} for frame, score in enumerate(scores) if score < below]


def median() -> float:
    return sorted(measure(FRAMES, MODEL).columns["vmaf"].tolist())[FRAMES // 2]


async def test_a_client_that_only_asks_is_told_of_every_low_frame_once(ground: Ground) -> None:
    below = median()
    found: list[dict[str, Any]] = []
    first, over = 0, False
    while not over:
        waiting = asyncio.ensure_future(ground.ask("vmaf.watch", below=below, first=first))
        await anyio.lowlevel.checkpoint()
        if ground.measurement.frames < FRAMES:
            await ground.feed(min(3, FRAMES - ground.measurement.frames))
        elif not ground.measurement.over:
            await ground.flush()
        # Where none of them is low, the next ones are needed.
        while not waiting.done() and ground.measurement.frames < FRAMES:
            await ground.feed(1)
        if not waiting.done() and not ground.measurement.over:
            await ground.flush()
        answer = await waiting
        found += answer["frames"]
        first, over = answer["next_first"], answer["over"]
    assert found == low_frames(below)
    assert first == FRAMES


async def test_it_answers_when_the_time_or_the_measurement_is_over(ground: Ground) -> None:
    early = await ground.ask("vmaf.watch", below=HIGH, timeout_seconds=0)
    nothing = {"name": "vmaf", "below": HIGH, "frames": [], "next_first": 0, "over": False}
    assert early == nothing | {"state": "waiting", "reason": None}
    await ground.feed(4)
    late = await ground.ask("vmaf.watch", below=-1, timeout_seconds=0)
    assert (late["frames"], late["next_first"], late["over"]) == ([], 3, False)
    waiting = asyncio.ensure_future(ground.ask("vmaf.watch", below=-1, timeout_seconds=300))
    await ground.flush()
    assert (await waiting)["over"] is True
    motion = await ground.ask("vmaf.watch", below=0.5, name="integer_motion2")
    assert motion["frames"][0] == {"frame": 0, "score": 0.0}
    assert "nothing named 'vmfa'" in await ground.refused("vmaf.watch", below=1, name="vmfa")
    assert "below" in await ground.refused("vmaf.watch")
    assert "300" in await ground.refused("vmaf.watch", below=1, timeout_seconds=301)


async def test_many_low_frames_come_in_parts(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acuity.agents.embedded.tools.watching.MAX_ROWS", 5)
    await ground.finish(12)
    seen, first, over = [], 0, False
    while not over:
        part = await ground.ask("vmaf.watch", below=HIGH, first=first)
        assert len(part["frames"]) <= 5
        seen += [row["frame"] for row in part["frames"]]
        first, over = part["next_first"], part["over"]
    assert seen == list(range(12))


@pytest.mark.parametrize(
    ("uri", "below"), [(f"{WATCH}?below={{below}}&rate=100", True), (SCORES + FAST, False)]
)
async def test_subscribers_are_told_of_every_frame_once(ground: Ground, uri: str, below: bool) -> None:
    limit = median() if below else HIGH
    uri = uri.format(below=limit)
    heard = Heard()
    async with ground.connected("legacy", message_handler=heard) as client:
        await client.subscribe_resource(uri)
        while ground.measurement.frames < FRAMES:
            await ground.feed(4)
        await ground.flush()
        with anyio.fail_after(SECONDS):
            while not heard.updates or not heard.updates[-1].meta[META_KEY]["over"]:
                await heard.until(len(heard.updates) + 1)
        told = [update.meta[META_KEY]["scores"] for update in heard.updates]
        assert [row for scores in told for row in scores["frames"]] == low_frames(limit)
        for scores in told:
            assert scores["omitted"] == 0
            if scores["frames"]:
                assert scores["first"] == scores["frames"][0]["frame"]
                assert scores["last"] == scores["frames"][-1]["frame"]
        if below:
            (read,) = (await client.read_resource(uri)).contents
            assert json.loads(read.text)["frames"] == low_frames(limit)


async def test_who_listens_without_a_handshake_is_told_of_low_frames(tmp_path: Path) -> None:
    async with (
        playing(tmp_path, MODEL) as ground,
        ground.connected("2026-07-28") as client,
        client.listen(resource_subscriptions=[f"{WATCH}?below={HIGH}&rate=100"]) as events,
    ):
        await ground.feed(3)
        with anyio.fail_after(SECONDS):
            assert str((await anext(events)).uri).startswith(WATCH)
        with pytest.raises(MCPError, match="nothing named 'x'"):
            async with client.listen(resource_subscriptions=[f"{WATCH}?below=1&name=x"]):
                pass


async def test_what_is_watched_for_has_to_be_said(ground: Ground) -> None:
    for query, sentence in {
        "": r"write acuity://measurement/watch\?below=70",
        "?below=low": "below 'low' must be a number",
        "?below=inf": "below 'inf' must be a number",
        "?below=70&name=vmfa": "nothing named 'vmfa' is measured",
    }.items():
        with pytest.raises(MCPError, match=sentence):
            await ground.client.subscribe_resource(WATCH + query)


async def test_a_slow_reader_gets_the_newest_and_how_many_were_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acuity.agents.embedded.live.scores.MAX_ROWS", 4)
    async with playing(tmp_path, MODEL, NEG + ":name=other") as ground:
        await ground.feed(3)
        meta = NotificationMeta(ground.live, ground.scores)
        meta.begin(SCORES)
        await ground.feed(9)
        scores = (await meta.make(SCORES))[META_KEY]["scores"]
        assert [row["frame"] for row in scores["frames"]] == [7, 8, 9, 10]
        assert (scores["first"], scores["last"], scores["omitted"]) == (7, 10, 5)  # from 2 on
        assert (await meta.make(SCORES))[META_KEY]["scores"]["frames"] == []
        # Frames that were told and have another score now are told again.
        await ground.measuring(lambda: ground.measurement.swap_model("vmaf", NEG, repredict=True))
        await ground.feed(1)
        scores = (await meta.make(SCORES))[META_KEY]["scores"]
        assert scores["omitted"] == 12 - 4
        assert scores["frames"][-1]["score"] == ground.measurement.score_at(11)
        meta.end(SCORES)
        assert "scores" not in (await meta.make(SCORES))[META_KEY]

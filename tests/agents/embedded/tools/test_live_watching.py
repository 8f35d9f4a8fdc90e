"""Tools that look at a running measurement, asked by the official client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcp import Client

from acuity.agents.embedded.live import report as reporting
from acuity.agents.embedded.live.report import Excerpt
from acuity.measure.pooling import POOLS, pool
from acuity.report import render_report
from acuity.report.precision import Precision
from acuity.report.writers import report_rows
from live_ground import ERAS, MODEL, NEG, Ground, playing
from longwire.product.results import to_text
from moving_pictures import measure


async def test_status_says_where_it_stands(ground: Ground) -> None:
    before = await ground.ask("vmaf.status")
    assert (before["state"], before["frames_read"], before["last_score"]) == ("waiting", 0, None)
    assert before["model"] == MODEL
    schemas = {tool.name: tool.output_schema or {} for tool in (await ground.client.list_tools()).tools}
    assert set(before) == set(schemas["vmaf.status"]["properties"])
    await ground.feed(4)
    during = await ground.ask("vmaf.status")
    assert (during["state"], during["frames_read"]) == ("measuring", 4)
    assert during["last_score"] == ground.measurement.score_at(during["last_frame"])
    await ground.flush()
    after = await ground.ask("vmaf.status")
    assert (after["state"], after["last_frame"], after["frames_pending"]) == ("over", 3, 0)


async def test_features_are_those_being_computed(ground: Ground) -> None:
    found = await ground.ask("vmaf.features")
    extractors = {entry["name"]: entry for entry in found["extractors"]}
    assert set(extractors) == {"vif", "adm", "motion"}
    (model,) = found["models"]
    assert set(model["reads"]) <= set(found["figures"])
    assert set(extractors["vif"]["keys"]) <= set(found["figures"])


@pytest.mark.parametrize("threads", [1, 3])
async def test_scores_have_the_digits_of_the_report(threads: int, tmp_path: Path) -> None:
    whole = measure(12, MODEL)
    async with playing(tmp_path, MODEL, threads=threads) as ground:
        await ground.feed(7)
        newest = await ground.ask("vmaf.score")
        assert newest["score"] == whole.columns["vmaf"][newest["frame"]]
        assert newest["aggregate"]["mean"] == whole.pool(last=newest["aggregate"]["last"])
        await ground.finish(5)
        over = await ground.ask("vmaf.score", percentiles=[0, 5, 50, 99.5])
        assert (over["frame"], over["model"]) == (11, MODEL)
        aggregate = over["aggregate"]
        assert {method: aggregate[method] for method in POOLS} == whole.pooled()["vmaf"]
        assert aggregate["percentiles"] == {
            name: pool(whole.columns["vmaf"], name) for name in ("p0", "p5", "p50", "p99.5")
        }
        for index in (0, 5, 11):
            one = await ground.ask("vmaf.score", index=index)
            assert (one["frame"], one["score"]) == (index, whole.columns["vmaf"][index])


async def test_the_newest_score_is_the_newest_there_is(tmp_path: Path) -> None:
    """However often it is asked for, and with the aggregate of the same frames."""
    whole = measure(40, MODEL)
    async with playing(tmp_path, MODEL, max_age=1000.0) as ground:
        for fed in (8, 16, 40):
            await ground.feed(fed - ground.measurement.frames)
            for arguments in ({}, {"percentiles": [50]}):
                found = await ground.ask("vmaf.score", **arguments)
                assert found["frame"] == found["aggregate"]["last"] == fed - 2  # the last needs the next
                assert found["score"] == whole.columns["vmaf"][fed - 2]
                assert found["aggregate"]["mean"] == whole.pool(last=fed - 2)
            assert ground.scores.newest()["frame"] == fed - 2  # what quick answers are made of


async def test_a_range_has_its_own_aggregate_and_features(tmp_path: Path) -> None:
    whole = measure(9, MODEL, features=("vif=debug=true",))
    async with playing(tmp_path, MODEL, features=("vif=debug=true",)) as ground:
        await ground.finish(9)
        found = await ground.ask("vmaf.score", first=2, last=5, features=["all"], percentiles=[10])
        assert [row["frame"] for row in found["frames"]] == [2, 3, 4, 5]
        assert found["aggregate"]["mean"] == whole.pool(first=2, last=5)
        assert found["aggregate"]["percentiles"]["p10"] == whole.pool(method="p10", first=2, last=5)
        for row in found["frames"]:
            assert row["features"] == {name: values[row["frame"]] for name, values in whole.columns.items()}
        assert found["next_first"] is None
        tail = await ground.ask("vmaf.score", first=7)
        assert [row["frame"] for row in tail["frames"]] == [7, 8]
        head = await ground.ask("vmaf.score", last=1, name="integer_vif_scale0")
        assert head["model"] is None
        assert head["score"] == whole.columns["integer_vif_scale0"][1]


async def test_a_long_range_comes_in_parts(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acuity.agents.embedded.live.scores.MAX_FRAMES", 4)
    await ground.finish(10)
    seen: list[int] = []
    first: int | None = 1
    while first is not None:
        part = await ground.ask("vmaf.score", first=first, last=9)
        assert part["aggregate"]["frames"] == 10 - first
        seen += [row["frame"] for row in part["frames"]]
        first = part["next_first"]
    assert seen == list(range(1, 10))


async def test_what_cannot_be_answered_is_said_in_a_sentence(ground: Ground) -> None:

    async def refused(**arguments: object) -> str:
        return await ground.refused("vmaf.score", **arguments)

    assert await refused() == "no frame has vmaf yet: ask again after a frame or two"
    assert await refused(index=0) == "frame 0 was not read yet: none was"
    assert "no frame has vmaf yet" in await ground.refused("vmaf.worst_frames")
    assert "no frame was measured" in await ground.refused("vmaf.report")
    await ground.feed(3)
    assert await refused(index=3) == "frame 3 was not read yet: the newest is 2"
    assert await refused(index=2) == "frame 2 has no vmaf yet: ask again in a moment"
    assert await refused(first=2, last=1) == "first 2 is behind last 1: swap them"
    assert "give one or the other" in await refused(index=0, first=0)
    assert "nothing named 'vmfa'" in await refused(name="vmfa")
    assert "nothing named 'vmfa'" in await refused(features=["vmfa"])
    assert await refused(index=-1) == "invalid index -1: should be 0 or more"
    assert "should be of type integer" in await refused(index="first")
    assert "has no argument 'frame'" in await refused(frame=1)
    assert "should be 100 or less" in await refused(percentiles=[101])
    await ground.flush()
    assert await refused(index=3) == "there is no frame 3: 3 were measured, and no more come"


async def test_without_a_model_features_have_to_be_named(tmp_path: Path) -> None:
    async with playing(tmp_path, features=("motion",)) as ground:
        await ground.feed(3)
        sentence = await ground.refused("vmaf.score")
        assert sentence.startswith("no model is measured, so there are no scores: name a feature of ")
        found = await ground.ask("vmaf.score", name="integer_motion2", index=1)
        assert found["score"] == ground.measurement.feature_at(1, "integer_motion2")
        worst = await ground.ask("vmaf.worst_frames", name="integer_motion2", n=1)
        assert worst["frames"] == [{"frame": 0, "score": 0.0}]
        assert (await ground.ask("vmaf.status"))["model"] is None


async def test_subsampled_frames_are_left_out(tmp_path: Path) -> None:
    async with playing(tmp_path, MODEL, subsample=3) as ground:
        await ground.finish(7)
        found = await ground.ask("vmaf.score", first=0)
        assert [row["frame"] for row in found["frames"]] == [0, 3, 6]
        sentence = await ground.refused("vmaf.score", index=4)
        assert sentence == "frame 4 has no vmaf, because one frame in 3 is measured"
        assert (await ground.ask("vmaf.report"))["acuity"]["frames_scored"] == 3


async def test_the_worst_frames_so_far(ground: Ground) -> None:
    whole = measure(10, MODEL)
    await ground.finish(10)
    found = await ground.ask("vmaf.worst_frames", n=3)
    assert [(row["frame"], row["score"]) for row in found["frames"]] == whole.worst(3)
    assert found["frames_compared"] == 10
    assert len((await ground.ask("vmaf.worst_frames"))["frames"]) == 5
    apart = await ground.ask("vmaf.worst_frames", n=5, apart=4)
    places = [row["frame"] for row in apart["frames"]]
    assert places[0] == whole.worst(1)[0][0]
    assert all(abs(one - other) >= 4 for one in places for other in places if one != other)
    shown = await ground.ask("vmaf.worst_frames", n=1, pictures=True)
    assert shown["frames"][0]["picture"] is None
    assert shown["pictures_missing"].startswith("no picture of these places is kept: ")
    curve = await ground.ask("vmaf.curve", first=8, status=True)
    assert curve["frames"] == [8, 9]
    assert curve["status"]["last_score"] == curve["scores"][-1]
    assert "status" not in await ground.ask("vmaf.curve")


async def test_the_report_is_the_commands(ground: Ground) -> None:
    await ground.feed(6)
    early = await ground.ask("vmaf.report")
    assert early["acuity"] | {"partial": True, "frames_read": 6} == early["acuity"]
    assert [row["frameNum"] for row in early["frames"]] == list(range(6))
    assert "vmaf" not in early["frames"][5]["metrics"]  # its motion needs the next frame
    assert early["pooled_metrics"]["vmaf"]["mean"] == pytest.approx(
        np.mean([row["metrics"]["vmaf"] for row in early["frames"][:5]]), abs=1e-5
    )
    await ground.flush()
    final = await ground.ask("vmaf.report", precision="max")
    results = ground.measurement.results()
    written = json.loads("".join(render_report(results, "json", "max")))
    assert {key: final[key] for key in written} == written
    assert final["acuity"]["partial"] is False
    part = await ground.ask("vmaf.report", first=1, last=2)
    assert [row["frameNum"] for row in part["frames"]] == [1, 2]
    assert (
        part["pooled_metrics"]["vmaf"]
        == json.loads("".join(render_report(results, "json")))["pooled_metrics"]["vmaf"]
    )
    bare = await ground.ask("vmaf.report", include_frames=False)
    assert bare["frames"] == []
    assert bare["frames_omitted"]["count"] == 6
    assert "acuity://measurement/report?frames=" in bare["frames_omitted"]["remedy"]


async def test_frames_come_unasked_only_while_the_report_is_short(ground: Ground) -> None:
    for frames in (5, 40):
        await ground.feed(frames)
        result = await ground.client.call_tool("vmaf.report", {})
        assert len(result.content[0].text) <= 20_000
        assert bool(result.structured_content["frames"]) is (frames == 5)
    whole = await ground.ask("vmaf.report", include_frames=True)
    assert len(whole["frames"]) == 45


async def test_a_report_too_long_for_an_answer(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out is never written: that takes long, and the interpreter from the measuring thread."""
    written: list[int] = []

    def rows(part: Excerpt, digits: Precision) -> Iterator[dict[str, Any]]:
        written.append(len(part.frames))
        return report_rows(part, digits)

    monkeypatch.setattr(reporting, "MOST_FRAMES", 3)
    monkeypatch.setattr(reporting, "report_rows", rows)
    await ground.feed(5)
    found = await ground.ask("vmaf.report")
    assert (found["frames"], found["frames_omitted"]["count"]) == ([], 5)
    assert found["pooled_metrics"]["vmaf"]["mean"] == pytest.approx(
        ground.measurement.results(partial=True).pool(), abs=1e-6
    )
    sentence = await ground.refused("vmaf.report", include_frames=True)
    assert sentence == "5 frames are too many for one answer, 3 are the most: name first and last"
    part = await ground.ask("vmaf.report", include_frames=True, last=2)
    assert len(part["frames"]) == 3
    assert written == [3]


async def test_a_long_report_is_written_in_slices(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each it is asked whether the client may go on; the text is as if written at once."""
    monkeypatch.setattr(reporting, "_SLICE", 7)
    monkeypatch.setattr(reporting, "READABLE", 1000)
    monkeypatch.setattr("longwire.product.results.READABLE", 1000)

    async def turn() -> None:
        nonlocal turns
        turns += 1

    monkeypatch.setattr(ground.live.budget, "turn", turn)
    await ground.finish(60)
    for precision in ("legacy", "max"):
        turns = 0
        result = await ground.client.call_tool(
            "vmaf.report", {"include_frames": True, "precision": precision}
        )
        assert turns >= 2 * 60 // 7
        written = json.loads("".join(render_report(ground.measurement.results(), "json", precision)))
        assert result.structured_content["frames"] == written["frames"]
        assert result.content[0].text == to_text(result.structured_content)
    turns = 0
    (table,) = (await ground.client.read_resource("acuity://measurement/report.csv")).contents
    assert turns >= 60 // 7
    assert table.text == "".join(render_report(ground.measurement.results(), "csv"))
    (report,) = (await ground.client.read_resource("acuity://measurement/report?frames=3-50")).contents
    assert [row["frameNum"] for row in json.loads(report.text)["frames"]] == list(range(3, 51))


async def test_what_there_is_to_measure_with(ground: Ground) -> None:
    found = await ground.ask("list_features")
    assert found["count"] == len(found["features"]) == len(found["extractors"])
    assert {"vif", "adm", "motion"} <= set(found["features"])
    assert all(
        set(extractor) == {"name", "backend", "source", "summary"} for extractor in found["extractors"]
    )
    (vif,) = (await ground.ask("list_features", name="vif"))["extractors"]
    assert {"provides", "options"} <= set(vif)
    full = (await ground.ask("list_features", detail=True))["extractors"]
    assert vif in full
    assert len(full) == found["count"]
    models = await ground.ask("list_models")
    assert {MODEL, NEG} <= {model["name"] for model in models["models"]}


@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_says_what_it_takes_and_gives(ground: Ground, era: str) -> None:
    steering = {"request_model_swap", "pause", "resume", "stop", "stop_after", "set_subsample"}
    reading = {"status", "features", "score", "curve", "worst_frames", "report", "watch"}
    client: Client
    async with ground.connected(era) as client:
        listed = await client.list_tools()
    sent = listed.model_dump(by_alias=True, mode="json", exclude_none=True)["tools"]
    assert len(json.dumps(sent, separators=(",", ":"), ensure_ascii=False)) < 27_000
    tools = {tool.name: tool for tool in listed.tools}
    others = {"list_features", "list_models", "describe_model", "compute_vmaf"}
    assert set(tools) == {f"vmaf.{name}" for name in steering | reading} | others
    for name, tool in tools.items():
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        assert tool.annotations.read_only_hint is (name.removeprefix("vmaf.") not in steering)

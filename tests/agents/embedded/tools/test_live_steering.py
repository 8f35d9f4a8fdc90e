"""Tools that steer a running measurement: answered at the next frame boundary, exact from there on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import anyio
import pytest
from mcp import MCPError

from live_ground import ERAS, MODEL, NEG, SECONDS, Ground, playing
from moving_pictures import measure
from small_model import small_document

FOUR_K = "vmaf_4k_v0.6.1"


async def test_a_swap_is_answered_when_it_holds(tmp_path: Path) -> None:
    plain, neg = measure(8, MODEL).columns["vmaf"], measure(8, NEG).columns["vmaf"]
    async with playing(
        tmp_path, MODEL, features=("vif=vif_enhn_gain_limit=1.0", "adm=adm_enhn_gain_limit=1.0")
    ) as ground:
        await ground.feed(3)
        done = await ground.steered("vmaf.request_model_swap", name=NEG)
        assert (done["first"], done["next_frame"]) == (4, 4)  # the fourth was under way
        assert done["status"] == "MODEL_SWAPPED" or done["waits_for"]
        await ground.finish(4)
        found = await ground.ask("vmaf.score", first=0)
        first = done["first"]
        expected = [*plain[:first], *neg[first:]]
        assert [row["score"] for row in found["frames"]] == expected
        report = await ground.ask("vmaf.report")
        segments = report["acuity"]["steering"]["segments"]
        assert [(s["label"], s["first"], s["last"]) for s in segments] == [
            (MODEL, 0, first - 1),
            (NEG, first, 7),
        ]


async def test_a_swap_that_has_to_wait_says_so_and_shows_later(tmp_path: Path) -> None:
    """The measurement begins with a model that needs no motion; the other's has to be known of neighbours."""
    small = tmp_path / "small.json"
    small.write_text(json.dumps(small_document()))
    averaging = f"{MODEL}:motion.motion_moving_average=true"
    async with playing(tmp_path, str(small)) as ground:
        await ground.feed(4)
        done = await ground.steered("vmaf.request_model_swap", name=averaging)
        assert done["status"] == "MODEL_SWAP_ENQUEUED"
        assert done["first"] > done["next_frame"] == 5
        assert any("motion" in key for key in done["waits_for"])
        assert set(done["waits_for"]) <= set(done["starts"])
        assert (await ground.ask("vmaf.status"))["model"] == str(small)
        await ground.feed(done["first"] - 5)
        assert (await ground.ask("vmaf.status"))["model"] == MODEL
        await ground.finish(2)
        frame = done["first"]
        found = await ground.ask("vmaf.score", index=frame)
        assert found["model"] == averaging
        assert found["score"] == measure(frame + 2, averaging).columns["vmaf"][frame]


async def test_earlier_frames_can_be_predicted_again(tmp_path: Path) -> None:
    neg = measure(6, NEG).columns["vmaf"]

    # Both models' features are measured from the start.
    async with playing(tmp_path, MODEL, f"version={NEG}:name=other") as ground:
        await ground.feed(3)
        before = await ground.ask("vmaf.score", last=1)
        done = await ground.steered("vmaf.request_model_swap", name=NEG, repredict=True)
        assert done["repredicted"] == [{"first": 0, "last": done["next_frame"] - 1}]
        after = await ground.ask("vmaf.score", last=1)
        assert before["model"] == MODEL
        assert after["model"] == NEG
        await ground.finish(2)
        found = await ground.ask("vmaf.score")
        assert found["aggregate"]["frames"] == 6
        report = await ground.ask("vmaf.report", precision="max")
        assert [row["metrics"]["vmaf"] for row in report["frames"]] == neg.tolist()
        assert found["aggregate"]["mean"] == report["pooled_metrics"]["vmaf"]["mean"]


async def test_figures_of_several_models_are_never_pooled(tmp_path: Path) -> None:
    pools = ("min", "max", "mean", "harmonic_mean")
    async with playing(tmp_path, MODEL, f"version={NEG}:name=other") as ground:
        await ground.feed(3)
        assert "parts" not in (await ground.ask("vmaf.score"))["aggregate"]
        done = await ground.steered("vmaf.request_model_swap", name=NEG)
        assert done["repredicted"] == []
        assert [note["code"] for note in done["notes"]] == ["display"]
        assert "70x52 is scored as if" in done["notes"][0]["text"]
        assert (await ground.ask("vmaf.status"))["last_model"] == MODEL
        await ground.finish(2)
        early = await ground.ask("vmaf.score", last=done["first"] - 1, percentiles=[5])
        late = await ground.ask("vmaf.score", first=done["first"], percentiles=[5])
        assert "parts" not in late["aggregate"]
        parts = [{"model": MODEL, **early["aggregate"]}, {"model": NEG, **late["aggregate"]}]
        score = (await ground.ask("vmaf.score", percentiles=[5]))["aggregate"]
        assert [score[method] for method in pools] == [None] * 4
        assert score["percentiles"] == {"p5": None}
        assert (score["models"], score["parts"]) == ([MODEL, NEG], parts)
        assert "no common scale" in score["reason"]
        curve = (await ground.ask("vmaf.curve"))["aggregate"]
        assert [part["mean"] for part in curve["parts"]] == [part["mean"] for part in parts]
        worst = await ground.ask("vmaf.worst_frames", n=2)
        assert worst["models"] == [MODEL, NEG]
        assert [row["model"] for row in worst["frames"]] == [MODEL, MODEL, NEG, NEG]
        report = await ground.ask("vmaf.report", precision="max")
        assert set(report["pooled_metrics"]["vmaf"].values()) == {None}
        segments = [part for part in report["acuity"]["steering"]["segments"] if part["name"] == "vmaf"]
        assert [part["mean"] for part in segments] == [part["mean"] for part in parts]
        assert (await ground.ask("vmaf.status"))["last_model"] == NEG


async def test_what_cannot_be_swapped_is_said_in_a_sentence(ground: Ground, tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside.json"

    async def refused(**arguments: object) -> str:
        return await ground.refused("vmaf.request_model_swap", **arguments)

    sentence = await refused(name="vmaf_v9")
    assert sentence.startswith("there is no model named 'vmaf_v9'")
    assert "call list_models" in sentence
    assert "not under an allowlisted root" in await refused(name=f"path={outside}")
    assert "missing required argument: 'name'" in await refused()
    waiting = asyncio.ensure_future(refused(name=NEG, reported_as="other"))
    with anyio.fail_after(SECONDS):
        while not ground.native.outstanding:
            await anyio.lowlevel.checkpoint()
    await ground.feed()
    assert await waiting == "no model is reported as 'other': there are vmaf"
    await ground.flush()
    assert "the measurement is over" in await refused(name=NEG)


async def test_pause_subsample_and_stop(ground: Ground) -> None:
    paused = await ground.steered("vmaf.pause")
    assert (paused["paused"], paused["next_frame"], paused["lease_seconds"]) == (True, 1, 300)
    status = await ground.ask("vmaf.status")
    assert (status["state"], status["paused"]) == ("paused", True)
    # The feeding thread waits as feed() does, and is released by a ground.client.
    waits = asyncio.ensure_future(ground.measuring(ground.measurement.wait_while_paused))
    resumed = await ground.ask("vmaf.resume")
    assert (resumed["paused"], resumed["next_frame"]) == (False, 1)
    assert resumed["lifted"] == paused["paused_by"]
    with anyio.fail_after(SECONDS):
        await waits
    done = await ground.steered("vmaf.set_subsample", n=2.0)
    assert done == {"subsample": 2, "next_frame": 2}
    done = await ground.steered("vmaf.stop_after", frame=6)
    assert done == {"stop_after": 6, "next_frame": 3, "finished": False}
    done = await ground.steered("vmaf.stop_after", frame=None)
    assert done["stop_after"] is None
    done = await ground.steered("vmaf.stop_after", frame=4)
    assert done["finished"] is True
    await ground.flush()
    found = await ground.ask("vmaf.score", first=0)
    assert [row["frame"] for row in found["frames"]] == [0, 1, 2, 4]
    assert (await ground.ask("vmaf.report"))["acuity"]["steering"]["stopped_after"] == 4


async def test_frames_that_are_past_cannot_be_the_last(ground: Ground) -> None:
    await ground.feed(5)
    assert "should be 0 or more" in await ground.refused("vmaf.stop_after", frame=-1)
    assert "should be 1 or more" in await ground.refused("vmaf.set_subsample", n=0)
    waiting = asyncio.ensure_future(ground.refused("vmaf.stop_after", frame=2))
    with anyio.fail_after(SECONDS):
        while not ground.native.outstanding:
            await anyio.lowlevel.checkpoint()
    await ground.feed()
    assert await waiting == "the measurement cannot stop after frame 2: name 5 or a later one"


@pytest.mark.parametrize("era", ERAS)
async def test_a_full_queue_is_an_error_of_the_protocol(era: str, tmp_path: Path) -> None:
    async with playing(tmp_path, MODEL, depth=2) as ground, ground.connected(era) as client:
        waiting = [asyncio.ensure_future(ground.ask("vmaf.pause", by=client)) for _ in range(2)]
        with anyio.fail_after(SECONDS):
            while ground.native.outstanding < 2:
                await anyio.lowlevel.checkpoint()
        with pytest.raises(MCPError) as caught:
            await client.call_tool("vmaf.resume", {})
        assert caught.value.error.data == {"code": "VMAF_ERR_MCP_QUEUE_FULL"}
        assert "VMAF_ERR_MCP_QUEUE_FULL" in str(caught.value)
        full = {"depth": 2, "waiting": 2, "outstanding": 2, "refused": 1}
        assert (await ground.ask("vmaf.status", by=client))["queue"] == full
        await ground.feed()
        for answer in waiting:
            assert (await answer)["paused"] is True


async def test_a_swap_replaces_the_model_that_it_names(tmp_path: Path) -> None:
    async with playing(tmp_path, MODEL, f"version={FOUR_K}:name=second") as ground:
        await ground.feed()
        done = await ground.steered("vmaf.request_model_swap", name=f"version={NEG}:name=second")
        assert (done["reported_as"], done["before"]) == ("second", FOUR_K)
        status = await ground.ask("vmaf.status")
        assert status["models"] == [{"name": "vmaf", "label": MODEL}, {"name": "second", "label": NEG}]
        both = {"name": f"version={NEG}:name=second", "reported_as": "vmaf"}
        refused = await ground.refused("vmaf.request_model_swap", **both)
        assert "name= in the model is 'second' and reported_as is 'vmaf'" in refused


@pytest.mark.parametrize("name", ["acuity_fr_v1", "path=/models/a.onnx"])
async def test_a_tiny_model_takes_no_models_place(ground: Ground, name: str) -> None:
    refused = await ground.refused("vmaf.request_model_swap", name=name)
    assert "is a tiny model, which can't replace another one" in refused

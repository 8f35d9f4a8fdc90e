"""Pictures in the answer to a score: only on request, named in order, and never more than a message holds."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

from mcp import Client

from acuity.agents.tool_answers import PLOT, WORST, with_images
from product_server import clip, product_client, raw_pair

MOST = 1 << 20  # bytes of a message that the official client takes


def pictures(result: Any) -> list[bytes]:
    blocks = [block for block in result.content if block.type == "image"]
    assert all(block.mime_type == "image/png" for block in blocks)
    return [base64.b64decode(block.data) for block in blocks]


def size(png: bytes) -> str:
    width, height = struct.unpack(">16xII", png[:24])
    return f"{width}x{height}"


async def test_the_plot_and_the_worst_frames_come_when_they_are_asked_for(tmp_path: Path) -> None:
    async with product_client(tmp_path) as client:
        pair = raw_pair(tmp_path, 40)
        plain = await client.call_tool("vmaf_score", pair)
        assert pictures(plain) == []
        assert "images" not in (plain.structured_content or {})
        result = await client.call_tool("vmaf_score", {**pair, "images": [PLOT, WORST]})
        document: dict[str, Any] = result.structured_content or {}
        assert document["images"][0] == "plot of vmaf over 40 frames, 960x400"
        worst = document["worst"][0]["frame"]
        assert document["images"][1].startswith(f"frame {worst}, distorted, ")
        assert document["images"][2].startswith(f"frame {worst}, reference, ")
        assert len(document["images"]) < 7  # a short clip has no three frames a second apart
        assert "of 3 frames are shown: the clip has no more 1 s apart" in document["images_missing"]
        found = pictures(result)
        assert [name.rpartition(" ")[2] for name in document["images"]] == [*map(size, found)]
        assert sum(map(len, found)) < 600_000
        assert len(result.model_dump_json(by_alias=True)) < MOST
        text = result.content[0].text  # type: ignore[union-attr]
        assert json.loads(text) == document  # the text says what each picture is
        assert str(tmp_path / "data") not in text  # nothing of the server's own files
        report = await client.read_resource(document["report"])
        assert str(tmp_path / "data") not in report.contents[0].text  # type: ignore[union-attr]
        await looks_at_the_job(client, document, found)


async def looks_at_the_job(client: Client, scored: dict[str, Any], found: list[bytes]) -> None:
    """get_job gives the same by itself, and what it is asked for instead."""
    job = {"job_id": scored["job_id"]}
    same = await client.call_tool("get_job", job)
    assert pictures(same) == found
    assert same.structured_content["result"]["images"] == scored["images"]
    for kinds, some in (([PLOT], found[:1]), ([], [])):
        assert pictures(await client.call_tool("get_job", {**job, "images": kinds})) == some


async def test_pictures_that_cannot_be_had_are_said_and_the_score_is_there(tmp_path: Path) -> None:
    async with product_client(tmp_path) as client:
        pair = raw_pair(tmp_path, 5)
        same = {**pair, "dis": clip(tmp_path, "same.yuv", 5), "images": [WORST]}
        result = await client.call_tool("vmaf_score", same)
        document: dict[str, Any] = result.structured_content or {}
        assert document["images"] == pictures(result) == []
        assert "identical to its reference" in document["images_missing"]
        assert document["score"] > 90
        plain: dict[str, Any] = (await client.call_tool("vmaf_score", pair)).structured_content or {}
        late = await client.call_tool("get_job", {"job_id": plain["job_id"], "images": [WORST, PLOT]})
        told = (late.structured_content or {})["result"]
        assert told["images"] == ["plot of vmaf over 5 frames, 960x400"]
        assert told["images_missing"].startswith(
            "worst: the score was made without them; describe_worst_frames"
        )


def test_a_message_with_pictures_leaves_frames_out_that_have_no_room() -> None:
    rows = [{"frameNum": number, "metrics": {"vmaf": 50.0 + number % 7}} for number in range(9000)]
    pooled = {"score": 53.0, "models": [{"name": "vmaf"}], "pooled_metrics": {"vmaf": {"mean": 53.0}}}
    answer, found = with_images({**pooled, "frames": rows}, {**pooled, "frames": rows}, [PLOT])
    assert (answer["frames"], answer["frames_omitted"]["count"], len(found)) == ([], 9000, 1)

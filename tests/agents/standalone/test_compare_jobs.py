"""compare_encodes of the whole server behind two method workers: progress, report, and cancelling."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import acuity
from moving_pictures import HEIGHT, WIDTH
from product_server import ProductServer, asked, clip, product_server
from tool_results import conforming

FRAMES = 200
GEOMETRY = {"width": WIDTH, "height": HEIGHT, "pixfmt": "400", "bitdepth": 8}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProductServer]:
    folder: Path = tmp_path_factory.mktemp("comparing")
    with product_server(
        folder, "--http", "0", "--method-workers", "2", "--workers", "1", "--grace", "0"
    ) as running:
        yield running


def encodes(folder: Path, frames: int, *, count: int = 2) -> dict[str, Any]:
    """Arguments of a comparison of a clip with one that is nearly the same and with worse ones."""
    reference = clip(folder, f"ref_{frames}.yuv", frames)
    near = folder / f"near_{frames}.yuv"  # a copy would have no place
    near.write_bytes(bytes([Path(reference).read_bytes()[0] ^ 1]) + Path(reference).read_bytes()[1:])
    worse = clip(folder, f"dis_{frames}.yuv", frames, worse=True)
    named = [{"path": worse, "name": f"worse {number}"} for number in range(count - 1)]
    return {"reference": reference, "encodes": [str(near), *named], "remember": False, **GEOMETRY}


async def test_a_call_with_progress_and_its_report(server: ProductServer) -> None:
    given = encodes(server.folder, FRAMES)
    told: list[tuple[float, str | None]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        told.append((done, message))

    async with server.client("http", "2026-07-28") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool("compare_encodes", given, progress_callback=hear)
        found = conforming(result, tools["compare_encodes"])
        assert found["ranking"] == [f"near_{FRAMES}.yuv", "worse 0"]
        alone = acuity.score(
            given["reference"],
            given["encodes"][1]["path"],
            model="vmaf_v0.6.1",
            width=WIDTH,
            height=HEIGHT,
            pixel_format="400",
            bitdepth=8,
        )
        assert found["pairs"][1]["score"] == round(alone.score, 6)
        for _ in range(2):  # each worker knows it
            (content,) = (await client.read_resource(found["report"])).contents
            assert json.loads(content.text)["ranking"] == found["ranking"]  # type: ignore[union-attr]
        (page,) = (await client.read_resource(f"{found['report']}/report.html")).contents
        assert page.mime_type == "text/html"
        job = await asked(client, "get_job", {"job_id": found["job_id"]})
        assert job["result"]["pairs"] == found["pairs"]
    assert told
    assert [done for done, _ in told] == sorted(done for done, _ in told)


async def test_a_comparison_is_cancelled(server: ProductServer) -> None:
    given = encodes(server.folder, 8000, count=8)
    async with server.client("http", "2026-07-28") as client:
        work = {"tool": "compare_encodes", "arguments": given}
        job = (await asked(client, "submit_job", work))["job_id"]
        with anyio.fail_after(30):
            seen = await asked(client, "get_job", {"job_id": job})
            while not (seen["progress"] or {}).get("done"):
                await anyio.sleep(0.1)  # as clients poll
                seen = await asked(client, "get_job", {"job_id": job})
        assert seen["status"] == "running"
        assert "frames" in seen["progress"]["message"]
        assert (await asked(client, "cancel_job", {"job_id": job}))["status"] == "cancelled"
        again = await asked(client, "compare_encodes", encodes(server.folder, 4))
        assert len(again["ranking"]) == 2  # the worker is free

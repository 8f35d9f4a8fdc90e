"""The page of MCP Apps in the extension's own host: a real result is shown, read back and followed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from acuity.agents.apps import app_page
from app_host import AppHost, app_host, apps_client, as_sent
from devtools import Chromium
from product_server import product_client, raw_pair

EVIL = "<script>window.evil=1</script><img src=x onerror=window.evil=1>.yuv"
SCORE = "#cards .card:first-child .value"
CANVAS = "document.querySelector('canvas.chart-plot')"
# How many pixels of the curve's canvas are not see-through.
INK = f"""(() => {{
  const canvas = {CANVAS};
  const copy = new OffscreenCanvas(canvas.width, canvas.height)
    .getContext('2d', {{ willReadFrequently: true }});
  copy.drawImage(canvas, 0, 0);
  const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
  let found = 0;
  for (let at = 3; at < data.length; at += 4) if (data[at]) found += 1;
  return found;
}})()"""
GROUND = "window.getComputedStyle(document.body).backgroundColor"


async def page_of(client: Client, tool: str) -> str:
    """The HTML that the list of tools names."""
    listed = {found.name: found for found in (await client.list_tools()).tools}
    meta = listed[tool].meta or {}
    uri = meta["ui"]["resourceUri"]
    assert meta["ui/resourceUri"] == uri
    content = (await client.read_resource(uri)).contents[0]
    assert content.mime_type == "text/html;profile=mcp-app"
    assert content.meta == {"ui": {"prefersBorder": True}}
    return str(content.text)  # type: ignore[union-attr]


async def test_a_score_is_shown_with_its_curve_in_the_hosts_theme(chromium: Chromium, tmp_path: Path) -> None:
    async with product_client(tmp_path, apps_client) as client:
        pair = raw_pair(tmp_path, 200)
        result = await client.call_tool("vmaf_score", pair)
        report: dict[str, Any] = result.structured_content or {}
        assert report["frames"] == []  # left out, so the page has to read them
        html = await page_of(client, "vmaf_score")
        async with app_host(client, chromium) as host:
            assert (await host.show(html, theme="dark"))["name"] == "acuity"
            await host.give(as_sent(result), pair)
            await host.app_until(f"document.querySelector('{SCORE}') !== null && {CANVAS} !== null")
            assert await host.text(SCORE) == f"{report['score']:.2f}"
            assert await host.text("h1") == "dis200.yuv"
            cards = await host.text("#cards")
            for figure in (report["models"][0]["harmonic_mean"], report["models"][0]["min"]):
                assert f"{figure:.2f}" in cards
            await host.app_until(f"{INK} > 2000")
            await host.app_until(f"{CANVAS}.getAttribute('aria-label').includes('200 frames')")
            dark = await host.app(GROUND)
            await host.page.value("bridge.setHostContext({theme: 'light'})")
            await host.app_until(f"{GROUND} !== '{dark}'")
            await _points_at_the_worst(host, report)
            height = await host.app("document.documentElement.getBoundingClientRect().height")
            await host.page.until(f"Math.abs(sizes.at(-1)[1] - {height}) < 60")
            asked = await host.page.value("asked")
            assert {method for method, _ in asked} == {"resources/read"}
            assert await host.page.value("bridge.teardownResource({})") == {}
            assert await host.stopped() == []


async def _points_at_the_worst(host: AppHost, report: dict[str, Any]) -> None:
    """Move the cursor with the keyboard to the first frame, and read its figure back."""
    first = report["worst"][0]
    assert first["frame"] == 0
    await host.app(f"{CANVAS}.focus()")
    await host.app(
        f"{CANVAS}.dispatchEvent(new window.KeyboardEvent('keydown', {{key: 'Home', bubbles: true}}))"
    )
    await host.app_until(
        f"document.querySelector('.chart-readout').textContent.includes('{first['score']:.2f}')"
    )
    assert "frame 0" in await host.text(".chart-readout")


async def test_a_comparison_is_shown_with_ranking_and_curves(chromium: Chromium, tmp_path: Path) -> None:
    pair = raw_pair(tmp_path, 60)
    torn = tmp_path / "torn.mp4"
    torn.write_bytes(b"no video at all")
    other = tmp_path / "other.yuv"
    other.write_bytes(bytes(value ^ 3 for value in Path(pair["ref"]).read_bytes()))
    named = [{"path": pair["dis"], "name": EVIL}, str(other), str(torn)]
    geometry = {name: pair[name] for name in ("width", "height", "pixfmt", "bitdepth")}
    given = {"reference": pair["ref"], "encodes": named, "remember": False, **geometry}
    async with product_client(tmp_path, apps_client) as client:
        result = await client.call_tool("compare_encodes", given)
        found: dict[str, Any] = result.structured_content or {}
        assert [entry["place"] for entry in found["pairs"]] == [1, 2, None]
        async with app_host(client, chromium) as host:
            await host.show(await page_of(client, "compare_encodes"))
            await host.give(as_sent(result), given)
            await host.app_until(f"{CANVAS} !== null")
            await host.app_until(f"{INK} > 2000")
            assert await host.text("h1") == "3 encodes of ref60.yuv"
            ranking = await host.text("#tables table")
            for entry in found["pairs"][:2]:
                assert entry["name"] in ranking
                assert f"{entry['score']:.2f}" in ranking
            assert "torn.mp4 failed" in await host.text("#notes")
            assert EVIL in await host.text("#curve .legend")
            assert await host.app("window.evil") is None
            assert await host.stopped() == []


async def test_a_job_is_followed_until_its_score_is_there(chromium: Chromium, tmp_path: Path) -> None:
    async with product_client(tmp_path, apps_client) as client:
        arguments = {"tool": "vmaf_score", "arguments": raw_pair(tmp_path, 60)}
        job = (await client.call_tool("submit_job", arguments)).structured_content or {}
        queued = {**job, "status": "queued", "queue_position": 1, "progress": None, "result": None}
        async with app_host(client, chromium) as host:
            await host.show(await page_of(client, "get_job"))
            # It asks again after 2 s, so the page is looked at from before it is told.
            told = "document.querySelector('#status').textContent.includes('number 1 in the queue')"
            async with anyio.create_task_group() as looking:
                looking.start_soon(host.app_until, f"!document.querySelector('#progress').hidden && {told}")
                given = {"content": [], "structuredContent": queued}
                await host.give(given, {"job_id": job["job_id"]})
            await host.app_until(f"document.querySelector('{SCORE}') !== null")
            done = await client.call_tool("get_job", {"job_id": job["job_id"]})
            report = (done.structured_content or {})["result"]
            assert await host.text(SCORE) == f"{report['score']:.2f}"
            assert await host.app("document.querySelector('#progress').hidden")
            calls = await host.page.value("asked")
            assert ["tools/call", {"name": "get_job", "arguments": {"job_id": job["job_id"]}}] in calls
            assert await host.stopped() == []


async def test_hostile_and_broken_results_stay_text(chromium: Chromium) -> None:
    path = f"/videos/{EVIL}"
    hostile = {
        "score": 50.0,
        "model": EVIL,
        "models": [{"name": EVIL, "label": EVIL, "mean": 50.0, "percentiles": None}, None, 7],
        "worst": [None, {"frame": "x"}],
        "notes": [{"level": EVIL, "text": EVIL}, None],
        "images": ["frame 1, distorted, 1x1"],
        "report": "javascript:alert(1)",
        "pooled_metrics": {EVIL: {"mean": None}},
        "acuity": {"input": {"distorted": {"path": path}, "reference": {"path": 3, "frame_rate": "0/0"}}},
        "frames": [
            {"frameNum": 0, "metrics": {EVIL: "NaN", "b": None}},
            None,
            {"frameNum": "1"},
            {"frameNum": 1},
        ],
    }
    broken: list[dict[str, Any]] = [
        {},
        {"content": None, "structuredContent": []},
        {"content": [{"type": "text", "text": "not JSON"}]},
        {"content": [{"type": "text", "text": json.dumps({"error": EVIL})}], "isError": True},
        {"content": [], "structuredContent": {"job_id": "1", "status": EVIL, "error": EVIL, "title": 5}},
        {"content": [], "structuredContent": {"pooled_metrics": {}, "frames": [[]]}},
    ]
    async with app_host(None, chromium) as host:
        await host.show(app_page(), capabilities={})
        picture = {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz48L3N2Zz4="}
        await host.give({"content": [picture], "structuredContent": hostile})
        await host.app_until(f"{CANVAS} !== null")
        assert "<img src=x" in await host.text("h1") or "script>" in await host.text("h1")
        assert await host.text(SCORE) == "50.00"
        for result in broken:
            # Not through AppBridge, which checks what it sends: another host may not.
            message = {"jsonrpc": "2.0", "method": "ui/notifications/tool-result", "params": result}
            await host.page.value(
                f"document.getElementById('app').contentWindow.postMessage({json.dumps(message)}, '*')"
            )
        await host.app_until("document.querySelector('#status').textContent !== undefined")
        better = {**hostile, "models": [{"name": EVIL, "label": EVIL, "mean": 51.0}]}
        await host.give({"content": [], "structuredContent": better})
        await host.app_until(f"document.querySelector('{SCORE}')?.innerText === '51.00'")
        assert await host.app("window.evil") is None
        assert await host.app("document.querySelectorAll('#app script, #app img').length") == 0
        assert await host.stopped() == []


async def test_a_host_that_allows_nothing_gets_what_the_answer_has(
    chromium: Chromium, tmp_path: Path
) -> None:
    async with product_client(tmp_path, apps_client) as client:
        result = await client.call_tool("vmaf_score", raw_pair(tmp_path, 200))
        report: dict[str, Any] = result.structured_content or {}
        async with app_host(client, chromium) as host:
            await host.show(await page_of(client, "vmaf_score_encoded"), capabilities={})
            await host.give(as_sent(result))
            await host.app_until(f"document.querySelector('{SCORE}') !== null")
            assert await host.text(SCORE) == f"{report['score']:.2f}"
            await host.app_until("document.querySelector('#status').textContent.includes('200 frames')")
            assert await host.page.value("asked") == []
            assert await host.stopped() == []

"""Who is told of the page, and that clients without the extension get what they always got."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client import advertise
from mcp.shared.exceptions import MCPError

from acuity.agents.apps import SCORE, app_page
from app_host import apps_client, as_sent
from longwire.product.offered_tools import APPS
from product_server import product_client

ERAS = ["legacy", "2026-07-28"]
STANDALONE = {"vmaf_score", "vmaf_score_encoded", "compare_encodes", "get_job"}


async def listed(folder: Path, make: Any) -> dict[str, Any]:
    async with product_client(folder, make) as client:
        return as_sent(await client.list_tools())


def named(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in answer["tools"]}


@pytest.mark.parametrize("era", ERAS)
async def test_only_clients_with_the_extension_read_of_pages(tmp_path: Path, era: str) -> None:
    plain = named(await listed(tmp_path, lambda server: Client(server, mode=era)))
    found = await listed(tmp_path, lambda server: apps_client(server, mode=era))
    shown = named(found)
    assert found.get("cacheScope") in (None, "private")  # another client must not be given this list
    assert not any("ui" in tool.get("_meta", {}) for tool in plain.values())
    assert {name for name, tool in shown.items() if "_meta" in tool} == STANDALONE
    for name, tool in shown.items():
        meta = tool.pop("_meta", None)
        assert tool == plain[name]  # but for the page nothing differs
        if name in STANDALONE:
            assert meta == {"ui": {"resourceUri": SCORE}, "ui/resourceUri": SCORE}


@pytest.mark.parametrize(
    "settings", [{}, {"mimeTypes": ["text/html"]}, {"mimeTypes": "text/html;profile=mcp-app"}]
)
async def test_a_client_that_shows_other_pages_reads_of_none(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    found = await listed(tmp_path, lambda server: Client(server, extensions=[advertise(APPS, settings)]))
    assert not any("_meta" in tool for tool in found["tools"])


async def test_the_page_is_small_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    assert len(app_page().encode()) < 130_000
    async with product_client(tmp_path, apps_client) as client:
        with pytest.raises(MCPError, match="no such resource: ui://acuity/"):
            await client.read_resource("ui://acuity/other.html")

"""Who is told of the page, and that clients without the extension get what they always got."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
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


def ask(folder: Path, make: Any, question: Any) -> Any:
    async def main() -> Any:
        async with product_client(folder, make) as client:
            return await question(client)

    return anyio.run(main)


def described(listed: Any) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in as_sent(listed)["tools"]}


@pytest.mark.parametrize("era", ERAS)
def test_only_clients_with_the_extension_read_of_pages(tmp_path: Path, era: str) -> None:
    async def listed(client: Client) -> Any:
        return await client.list_tools()

    plain = described(ask(tmp_path, lambda server: Client(server, mode=era), listed))
    found = ask(tmp_path, lambda server: apps_client(server, mode=era), listed)
    shown = described(found)
    assert found.cache_scope in (None, "private")  # another client must not be given this list
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
def test_a_client_that_shows_other_pages_reads_of_none(tmp_path: Path, settings: dict[str, Any]) -> None:
    async def listed(client: Client) -> Any:
        return await client.list_tools()

    shown = described(
        ask(tmp_path, lambda server: Client(server, extensions=[advertise(APPS, settings)]), listed)
    )
    assert not any("_meta" in tool for tool in shown.values())


def test_the_page_is_small_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    assert len(app_page().encode()) < 130_000

    async def question(client: Client) -> None:
        with pytest.raises(MCPError, match="no such resource: ui://acuity/"):
            await client.read_resource("ui://acuity/other.html")

    ask(tmp_path, apps_client, question)

"""Who is told of the page, and that clients without the extension get what they always got."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client import advertise
from mcp.server import apps as sdk
from mcp.shared.exceptions import MCPError

from acuity.agents.apps import SCORE, app_page
from app_host import apps_client, as_sent
from longwire.product.offered_tools import APP_PAGE, APPS
from product_server import product_client, raw_pair

ERAS = ["legacy", "2026-07-28"]
STANDALONE = {"vmaf_score", "vmaf_score_encoded", "compare_encodes", "get_job"}


def ask(folder: Path, make: Any, question: Any) -> Any:
    async def main() -> Any:
        async with product_client(folder, make) as client:
            return await question(client)

    return anyio.run(main)


def described(listed: Any) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in as_sent(listed)["tools"]}


def test_names_of_the_extension_are_those_of_the_official_package() -> None:
    assert (APPS, APP_PAGE) == (sdk.EXTENSION_ID, sdk.APP_MIME_TYPE)


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


def test_results_and_lists_of_resources_are_the_same_for_all(tmp_path: Path) -> None:
    """The bytes of what clients read: the same job asked for by both, and all lists of resources."""

    async def question(client: Client) -> Any:
        jobs = (await client.call_tool("list_jobs", {})).structured_content or {}
        if not jobs["count"]:
            await client.call_tool("vmaf_score", raw_pair(tmp_path, 5))
            jobs = (await client.call_tool("list_jobs", {})).structured_content or {}
        result = await client.call_tool("get_job", {"job_id": jobs["jobs"][0]["job_id"]})
        lists = await client.list_resources(), await client.list_resource_templates()
        return [found.model_dump_json(by_alias=True) for found in (result, *lists)]

    assert ask(tmp_path, Client, question) == ask(tmp_path, apps_client, question)


def test_the_page_is_small_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    assert len(app_page().encode()) < 130_000

    async def question(client: Client) -> None:
        with pytest.raises(MCPError, match="no such resource: ui://acuity/"):
            await client.read_resource("ui://acuity/other.html")

    ask(tmp_path, apps_client, question)

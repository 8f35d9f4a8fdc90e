"""The example of "Ask the client" in docs/mcp.md works in both eras, and the page names every way to ask."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from asking_client import Person
from longwire.product.app import build_server
from longwire.product.catalog import Call, Catalog, Tool
from longwire.sessions.client_requests import MOST
from longwire.settings import CapabilityPolicy, WireLimits

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mcp.md").read_text()
SECTION = PAGE.split("\n## Ask the client\n", 1)[1].split("\n## ", 1)[0]
NOT_ASKING = {"progress"}


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_example_works(era: str) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    tool = Tool("suggest", "Suggest", "Asks.", {"type": "object", "properties": {}}, names["suggest"])
    person = Person(target=93)
    words = "Which x264 settings reach VMAF 93? One line."
    server = build_server(Catalog(tools=[tool]), name="t", version="1")
    async with Client(server, mode=era, **person.callbacks) as client:
        told = await client.call_tool("suggest", {})
        assert told.structured_content["suggestion"]["text"] == f"about {words}"
    assert person.asked == ["Which VMAF should the encode reach?", f"{words}|You know video encoders.|200"]


def test_the_page_names_every_way_to_ask() -> None:
    listed = set(re.findall(r"^\| `(\w+)\(", SECTION, re.MULTILINE))
    asking = {name for name, member in inspect.getmembers(Call, inspect.iscoroutinefunction)}
    assert listed == asking - NOT_ASKING


def test_the_page_has_the_limits_and_policies() -> None:
    limits = WireLimits()
    assert f"({limits.client_timeout:g} by default)" in SECTION
    assert f"At most {MOST} questions" in SECTION
    policies = set(re.findall(r"^\| `(\w+)`", SECTION, re.MULTILINE))
    assert policies == set(CapabilityPolicy.__args__)  # type: ignore[attr-defined]
    assert f"| `{limits.capability_policy}` (default) |" in SECTION

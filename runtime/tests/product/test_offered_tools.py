"""Allowlists: what a principal may list is what it may call, in both eras and through every way to a tool."""

from __future__ import annotations

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.extension import Extension

from longwire.principals.principal import PRINCIPAL, Principal
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Context, Tool
from tool_results import sentence_of

ERAS = ["legacy", "2026-07-28"]
OBJECT = {"type": "object", "properties": {}, "additionalProperties": False}
NAMES = ["score", "score_encoded", "search", "list_models"]
START = {
    "type": "object",
    "properties": {"tool": {"type": "string", "enum": ["score", "search"]}},
    "required": ["tool"],
}


async def _say(call: Call) -> Answer:
    return {"ran": call.arguments.get("tool", call.tool.name)}


class Intercepts(Extension):
    """An extension that answers calls before the catalog's tools see them."""

    identifier = "test/intercepts"

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        if params.name != "search":
            return await call_next(ctx)
        return types.CallToolResult(content=[types.TextContent(text="intercepted")])


CATALOG = Catalog(
    tools=[
        *(Tool(name, name, "", OBJECT, _say) for name in NAMES),
        Tool("start", "start", "", START, _say, runs="tool"),
    ],
    extensions=[Intercepts()],
    cache={"tools/list": CacheHint(1000, "public")},
)


def client_of(principal: Principal | None, era: str = ERAS[1]) -> Client:
    PRINCIPAL.set(principal)
    return Client(build_server(CATALOG, name="test", version="1"), mode=era)


def allowed(*tools: str) -> Principal:
    return Principal.of_token("alice", tools=frozenset(tools))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("principal", "seen"),
    [
        (None, [*NAMES, "start"]),
        (Principal.of_address("127.0.0.1"), [*NAMES, "start"]),
        (Principal.of_token("root"), [*NAMES, "start"]),
        (allowed("score"), ["score"]),
        (allowed("score*", "list_*"), ["score", "score_encoded", "list_models"]),
        (allowed("*"), [*NAMES, "start"]),
        (allowed("SCORE", "nothing", "core"), []),
        (allowed(), []),
        (allowed("start"), []),  # it could start none
    ],
)
async def test_lists_and_calls_agree(era: str, principal: Principal | None, seen: list[str]) -> None:
    async with client_of(principal, era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == seen
        for name in [*NAMES, "start"]:
            result = await client.call_tool(name, {"tool": "score"} if name == "start" else {})
            assert result.is_error is (name not in seen)
            if name not in seen:
                others = ", ".join(sorted(seen)) or "none for this client"
                told = sentence_of(result)
                assert told.startswith(f"unknown tool: {name}; there are ")
                assert sorted(told.partition("there are ")[2].split(", ")) == sorted(others.split(", "))


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_that_runs_others_offers_the_allowed_ones(era: str) -> None:
    async with client_of(allowed("start", "sea*"), era) as client:
        listed = (await client.list_tools()).tools
        assert listed[-1].input_schema["properties"]["tool"]["enum"] == ["search"]
        assert (await client.call_tool("start", {"tool": "search"})).structured_content == {"ran": "search"}
        refused = await client.call_tool("start", {"tool": "score"})
        assert sentence_of(refused) == "invalid tool 'score': use one of 'search'"


@pytest.mark.parametrize(
    ("principal", "scope"),
    [
        (None, "public"),
        (Principal.of_address("127.0.0.1"), "public"),
        (Principal.of_token("root"), "private"),
        (allowed("score"), "private"),
    ],
)
async def test_a_shared_cache_shows_no_principal_the_list_of_another(
    principal: Principal | None, scope: str
) -> None:
    async with client_of(principal) as client:
        found = await client.list_tools()
    assert (found.ttl_ms, found.cache_scope) == (1000, scope)

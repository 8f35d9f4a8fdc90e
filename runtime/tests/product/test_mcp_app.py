"""The server object made of a catalog, asked by the SDK's own client in both eras of the protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from longwire.errors import ToolError
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Context, Prompt, Tool
from tool_results import sentence_of

OBJECT = {"type": "object", "properties": {}, "additionalProperties": False}


async def _good(call: Call) -> Answer:
    await call.progress(1, 2, "half")
    return {"client": call.client, "value": 1.0}


async def _refusing(_: Call) -> Answer:
    raise ToolError("'a.yuv' does not exist: check the path")


async def _broken(_: Call) -> Answer:
    raise KeyError("secret detail")


async def _render(params: types.GetPromptRequestParams, _: Context) -> types.GetPromptResult:
    text = f"about {(params.arguments or {})['what']}"
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))]
    )


class _Letters:
    """Resources letter://a and letter://b."""

    async def list(self) -> Sequence[types.Resource]:
        return [types.Resource(uri=f"letter://{letter}", name=letter) for letter in "ab"]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [types.ResourceTemplate(uri_template="letter://{name}", name="letter")]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if uri not in ("letter://a", "letter://b"):
            return None
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=uri[-1])])


async def _complete(params: types.CompleteRequestParams) -> Sequence[str]:
    return [f"{params.argument.value}{number}" for number in range(150)]


CATALOG = Catalog(
    tools=[
        Tool("good", "Good", "Works.", OBJECT, _good),
        Tool("refusing", "Refusing", "Says why.", OBJECT, _refusing, read_only=False),
        Tool("broken", "Broken", "Has a bug.", OBJECT, _broken),
    ],
    prompts=[Prompt("ask", "Ask", "", _render, [types.PromptArgument(name="what", required=True)])],
    resources=[_Letters()],
    complete=_complete,
    instructions="Call good.",
)


@pytest.fixture(params=["legacy", "2026-07-28"])
def client(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Client]:
    return Client(build_server(CATALOG, name="test", version="1"), mode=request.param)


async def refusal(asking: Awaitable[Any]) -> str:
    """The protocol error that a question gets."""
    with pytest.raises(MCPError) as error:
        await asking
    return str(error.value)


async def test_tools_are_listed_with_their_annotations(client: Client) -> None:
    listed = (await client.list_tools()).tools
    hints = [(tool.name, tool.annotations and tool.annotations.read_only_hint) for tool in listed]
    assert hints == [("good", True), ("refusing", False), ("broken", True)]


async def test_a_call_is_answered_with_progress(client: Client) -> None:
    told = []

    async def listen(*progress: Any) -> None:
        told.append(progress)

    result = await client.call_tool("good", {}, progress_callback=listen)
    assert result.structured_content == {"client": "local", "value": 1.0}
    assert told == [(1, 2, "half")]


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("refusing", {}, "'a.yuv' does not exist: check the path"),
        ("broken", {}, "'broken' failed in a way it should not; the server's log says more"),
        ("absent", {}, "unknown tool: absent; there are good, refusing, broken"),
        ("brken", {}, "unknown tool: brken; there are broken, good, refusing"),
        ("good", {"x": 1}, "tool 'good' has no argument 'x'; it takes: none"),
    ],
)
async def test_failures_are_results_with_an_error(
    client: Client, tool: str, arguments: Any, error: str
) -> None:
    assert sentence_of(await client.call_tool(tool, arguments)) == error


async def test_prompts(client: Client) -> None:
    content = (await client.get_prompt("ask", {"what": "bits"})).messages[0].content
    assert isinstance(content, types.TextContent)
    assert content.text == "about bits"
    assert "needs the argument 'what'" in await refusal(client.get_prompt("ask", {}))
    assert "unknown prompt 'no'" in await refusal(client.get_prompt("no", {}))
    assert len(await refusal(client.get_prompt("n" * 100_000, {}))) < 2000


async def test_resources(client: Client) -> None:
    assert [resource.name for resource in (await client.list_resources()).resources] == ["a", "b"]
    assert len((await client.list_resource_templates()).resource_templates) == 1
    content = (await client.read_resource("letter://b")).contents[0]
    assert isinstance(content, types.TextResourceContents)
    assert content.text == "b"
    assert "no such resource: letter://c" in await refusal(client.read_resource("letter://c"))
    long = await refusal(client.read_resource("letter://" + "c" * 100_000))
    assert "no such resource: letter://cc" in long
    assert len(long) < 2000


async def test_completions_are_cut_at_the_protocols_limit(client: Client) -> None:
    reference = types.PromptReference(type="ref/prompt", name="ask")
    found = (await client.complete(reference, {"name": "what", "value": "v"})).completion
    assert (len(found.values), found.values[0]) == (100, "v0")
    assert (found.total, found.has_more) == (150, True)

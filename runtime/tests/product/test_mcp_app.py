"""The server object made of a catalog, asked by the SDK's own client in both eras of the protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from longwire.errors import ToolError
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Context, Prompt, Tool
from tool_results import sentence_of

OBJECT = {"type": "object", "properties": {}, "additionalProperties": False}
ERAS = ["legacy", "2026-07-28"]


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


def ask(era: str, question: Callable[[Client], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        server = build_server(CATALOG, name="test", version="1")
        async with Client(server, mode=era) as client:
            return await question(client)

    return anyio.run(main)


def refusal(era: str, question: Callable[[Client], Awaitable[Any]]) -> str:
    """The protocol error that a question gets."""

    async def caught(client: Client) -> str:
        with pytest.raises(MCPError) as error:
            await question(client)
        return str(error.value)

    return str(ask(era, caught))


@pytest.mark.parametrize("era", ERAS)
def test_tools_are_listed_with_their_annotations(era: str) -> None:
    listed = ask(era, lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == ["good", "refusing", "broken"]
    assert [tool.annotations.read_only_hint for tool in listed] == [True, False, True]


@pytest.mark.parametrize("era", ERAS)
def test_a_call_is_answered_with_progress(era: str) -> None:
    told = []

    async def listen(*progress: Any) -> None:
        told.append(progress)

    result = ask(era, lambda client: client.call_tool("good", {}, progress_callback=listen))
    assert result.structured_content == {"client": "local", "value": 1.0}
    assert told == [(1, 2, "half")]


@pytest.mark.parametrize("era", ERAS)
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
def test_failures_are_results_with_an_error(era: str, tool: str, arguments: Any, error: str) -> None:
    result = ask(era, lambda client: client.call_tool(tool, arguments))
    assert sentence_of(result) == error


@pytest.mark.parametrize("era", ERAS)
def test_prompts(era: str) -> None:
    found = ask(era, lambda client: client.get_prompt("ask", {"what": "bits"}))
    assert found.messages[0].content.text == "about bits"
    assert "needs the argument 'what'" in refusal(era, lambda client: client.get_prompt("ask", {}))
    assert "unknown prompt 'no'" in refusal(era, lambda client: client.get_prompt("no", {}))
    assert len(refusal(era, lambda client: client.get_prompt("n" * 100_000, {}))) < 2000


@pytest.mark.parametrize("era", ERAS)
def test_resources(era: str) -> None:
    assert [r.name for r in ask(era, lambda client: client.list_resources()).resources] == ["a", "b"]
    assert len(ask(era, lambda client: client.list_resource_templates()).resource_templates) == 1
    assert ask(era, lambda client: client.read_resource("letter://b")).contents[0].text == "b"
    assert "no such resource: letter://c" in refusal(era, lambda client: client.read_resource("letter://c"))
    long = refusal(era, lambda client: client.read_resource("letter://" + "c" * 100_000))
    assert "no such resource: letter://cc" in long
    assert len(long) < 2000


@pytest.mark.parametrize("era", ERAS)
def test_completions_are_cut_at_the_protocols_limit(era: str) -> None:
    reference = types.PromptReference(type="ref/prompt", name="ask")
    found = ask(era, lambda client: client.complete(reference, {"name": "what", "value": "v"})).completion
    assert len(found.values) == 100
    assert found.values[0] == "v0"
    assert (found.total, found.has_more) == (150, True)

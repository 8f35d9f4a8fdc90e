"""Tools and a prompt of the stateless protocol that need input: the client calls again until all is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import mcp_types as types

from acuity.mcp.catalog import Answer, Call, Context, Prompt, Tool
from fixture_making import filled, form, require, responses, said, sample, text, tool

_WORDS: Final = {"type": "string"}
_NAME: Final = form("What is your name?", ("name",), name=_WORDS)
_OK: Final = form("Is this all right?", ("ok",), ok={"type": "boolean"})
_ROOTS: Final = types.ListRootsRequest()


def round_tools() -> list[Tool]:
    prefix = "test_input_required_result"
    return [
        tool(f"{prefix}_elicitation", _elicitation),
        tool(f"{prefix}_sampling", _sampling),
        tool(f"{prefix}_list_roots", _list_roots),
        tool(f"{prefix}_request_state", _with_state("state-ok")),
        tool(f"{prefix}_tampered_state", _with_state("the state is what it was")),
        tool(f"{prefix}_multiple_inputs", _several),
        tool(f"{prefix}_multi_round", _rounds),
        tool(f"{prefix}_capabilities", _what_the_client_can),
        tool("test_streaming_elicitation", _streaming),
    ]


def round_prompt() -> Prompt:
    return Prompt(
        name="test_input_required_result_prompt",
        title="A prompt that asks",
        description="Asks for its context before it is made.",
        render=_prompt,
    )


async def _elicitation(call: Call) -> Answer:
    name = filled(responses(call).get("user_name"), "name")
    return text(f"Hello, {name}!") if name is not None else needed(user_name=_NAME)


async def _sampling(call: Call) -> Answer:
    words = said(responses(call).get("capital_question"))
    return text(words) if words else needed(capital_question=sample("What is the capital of France?"))


async def _list_roots(call: Call) -> Answer:
    found = responses(call).get("client_roots")
    if not isinstance(found, types.ListRootsResult):
        return needed(client_roots=_ROOTS)
    return text(", ".join(str(root.uri) for root in found.roots))


def _with_state(words: str) -> Callable[[Call], Awaitable[Answer]]:
    async def run(call: Call) -> Answer:
        answered = filled(responses(call).get("confirm"), "ok") is not None
        if answered and call.input.request_state == "asked":
            return text(words)
        return needed("asked", confirm=_OK)

    return run


async def _several(call: Call) -> Answer:
    requests = {"user_name": _NAME, "greeting": sample("Generate a greeting", 50), "client_roots": _ROOTS}
    if requests.keys() <= responses(call).keys():
        return text("everything is known")
    return needed("asked", **requests)


async def _rounds(call: Call) -> Answer:
    given = responses(call)
    if call.input.request_state == "second" and (color := filled(given.get("step2"), "color")):
        return text(f"done: {color}")
    if call.input.request_state == "first" and filled(given.get("step1"), "name"):
        return needed("second", step2=form("Step 2: What is your favorite color?", ("color",), color=_WORDS))
    return needed("first", step1=form("Step 1: What is your name?", ("name",), name=_WORDS))


async def _what_the_client_can(call: Call) -> Answer:
    capabilities = call.context.session.client_capabilities or types.ClientCapabilities()
    wanted: dict[str, types.InputRequest] = {}
    if capabilities.elicitation is not None:
        wanted["user_name"] = _NAME
    if capabilities.sampling is not None:
        wanted["greeting"] = sample("Generate a greeting")
    if not wanted or wanted.keys() <= responses(call).keys():
        return text("nothing more to ask")
    return needed(**wanted)


async def _streaming(call: Call) -> Answer:
    require(call, "elicitation")
    name = filled(responses(call).get("user_name"), "name")
    return text(f"Hello, {name}!") if name is not None else needed(user_name=_NAME)


async def _prompt(
    params: types.GetPromptRequestParams, _: Context
) -> types.GetPromptResult | types.InputRequiredResult:
    context = filled(responses(params).get("user_context"), "context")
    if context is None:
        question = "What context should the prompt use?"
        return needed(user_context=form(question, ("context",), context=_WORDS))
    words = types.TextContent(type="text", text=f"Use this context: {context}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=words)])


def needed(state: str | None = None, **requests: types.InputRequest) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)

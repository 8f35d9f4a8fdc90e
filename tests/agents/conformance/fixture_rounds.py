"""Tools that ask their client, during the call and over several rounds: elicitation, sampling and roots."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import mcp_types as types

from fixture_making import arguments, filled, form, form_schema, needed, responses, said, text, tool
from longwire.product.catalog import Answer, Call, Context, Handler, Prompt, Tool

_WORDS: Final = {"type": "string"}

_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}

_OPTIONS: Final = ["option1", "option2", "option3"]


def _titled(kind: str) -> list[dict[str, str]]:
    ordinals = ("First", "Second", "Third")
    return [{"const": f"value{n}", "title": f"{word} {kind}"} for n, word in enumerate(ordinals, 1)]


_ENUMS: Final[dict[str, dict[str, Any]]] = {
    "untitledSingle": {"type": "string", "enum": _OPTIONS},
    "titledSingle": {"type": "string", "oneOf": _titled("Option")},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
}


def question_tools() -> list[Tool]:
    return [
        tool("test_sampling", _sampling_now, arguments(("prompt",), prompt=_WORDS)),
        tool("test_elicitation", _elicitation_now, arguments(("message",), message=_WORDS)),
        tool("test_elicitation_sep1034_defaults", _asking(_DEFAULTS)),
        tool("test_elicitation_sep1330_enums", _asking(_ENUMS)),
    ]


async def _sampling_now(call: Call) -> types.CallToolResult:
    return text(f"LLM response: {said(await call.sample(call.arguments['prompt'], max_tokens=100))}")


async def _elicitation_now(call: Call) -> types.CallToolResult:
    fields = {"username": _WORDS, "email": _WORDS}
    response = await call.elicit(call.arguments["message"], form_schema(("username", "email"), **fields))
    return text(f"User response: action={response.action}, content={response.content}")


def _asking(fields: dict[str, dict[str, Any]]) -> Handler:
    async def run(call: Call) -> types.CallToolResult:
        response = await call.elicit("Please look these over", form_schema(**fields))
        return text(f"Elicitation completed: action={response.action}, content={response.content}")

    return run


_NAME: Final = form_schema(("name",), name=_WORDS)


def round_tools() -> list[Tool]:
    prefix = "test_input_required_result"
    return [
        tool(f"{prefix}_elicitation", _elicitation),
        tool(f"{prefix}_sampling", _sampling),
        tool(f"{prefix}_list_roots", _list_roots),
        tool(f"{prefix}_request_state", _confirmed("state-ok")),
        tool(f"{prefix}_tampered_state", _confirmed("the state is what it was")),
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
    """Makes the rounds itself, because the suite expects this key and sends no state back."""
    name = filled(responses(call).get("user_name"), "name")
    if name is None:
        return needed(user_name=form("What is your name?", ("name",), name=_WORDS))
    return text(f"Hello, {name}!")


async def _streaming(call: Call) -> Answer:
    return text(f"Hello, {filled(await call.elicit('What is your name?', _NAME), 'name')}!")


async def _sampling(call: Call) -> Answer:
    return text(said(await call.sample("What is the capital of France?", max_tokens=100)) or "")


async def _list_roots(call: Call) -> Answer:
    return text(", ".join(str(root.uri) for root in await call.roots()))


def _confirmed(words: str) -> Callable[[Call], Awaitable[Answer]]:
    async def run(call: Call) -> Answer:
        await call.elicit("Is this all right?", form_schema(("ok",), ok={"type": "boolean"}))
        return text(words)

    return run


async def _several(call: Call) -> Answer:
    await asyncio.gather(
        call.elicit("What is your name?", _NAME),
        call.sample("Generate a greeting", max_tokens=50),
        call.roots(),
    )
    return text("everything is known")


async def _rounds(call: Call) -> Answer:
    await call.elicit("Step 1: What is your name?", _NAME)
    color = await call.elicit("Step 2: What is your favorite color?", form_schema(("color",), color=_WORDS))
    return text(f"done: {filled(color, 'color')}")


async def _what_the_client_can(call: Call) -> Answer:
    capabilities = call.context.session.client_capabilities or types.ClientCapabilities()
    questions: list[Awaitable[object]] = []
    if capabilities.elicitation is not None:
        questions.append(call.elicit("What is your name?", _NAME))
    if capabilities.sampling is not None:
        questions.append(call.sample("Generate a greeting", max_tokens=100))
    await asyncio.gather(*questions)
    return text("nothing more to ask")


async def _prompt(
    params: types.GetPromptRequestParams, _: Context
) -> types.GetPromptResult | types.InputRequiredResult:
    context = filled(responses(params).get("user_context"), "context")
    if context is None:
        question = "What context should the prompt use?"
        return needed(user_context=form(question, ("context",), context=_WORDS))
    words = types.TextContent(type="text", text=f"Use this context: {context}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=words)])

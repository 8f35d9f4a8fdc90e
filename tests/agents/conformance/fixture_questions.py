"""Tools that ask their client: elicitation and sampling."""

from __future__ import annotations

from typing import Any, Final

import mcp_types as types

from fixture_making import arguments, form_schema, said, text, tool
from longwire.product.catalog import Call, Handler, Tool

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
        tool("test_sampling", _sampling, arguments(("prompt",), prompt=_WORDS)),
        tool("test_elicitation", _elicitation, arguments(("message",), message=_WORDS)),
        tool("test_elicitation_sep1034_defaults", _asking(_DEFAULTS)),
        tool("test_elicitation_sep1330_enums", _asking(_ENUMS)),
    ]


async def _sampling(call: Call) -> types.CallToolResult:
    return text(f"LLM response: {said(await call.sample(call.arguments['prompt'], max_tokens=100))}")


async def _elicitation(call: Call) -> types.CallToolResult:
    fields = {"username": _WORDS, "email": _WORDS}
    response = await call.elicit(call.arguments["message"], form_schema(("username", "email"), **fields))
    return text(f"User response: action={response.action}, content={response.content}")


def _asking(fields: dict[str, dict[str, Any]]) -> Handler:
    async def run(call: Call) -> types.CallToolResult:
        response = await call.elicit("Please look these over", form_schema(**fields))
        return text(f"Elicitation completed: action={response.action}, content={response.content}")

    return run

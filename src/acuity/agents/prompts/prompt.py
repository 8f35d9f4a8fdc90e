"""Creates a prompt from the table of its arguments and a function that writes its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.text import one_line
from longwire.product.catalog import Context, Prompt

# Writes the text for the agent from the given arguments, none of them empty.
Writer: TypeAlias = Callable[[Mapping[str, str]], str]


def argument(name: str, title: str, description: str, *, required: bool = False) -> types.PromptArgument:
    return types.PromptArgument(name=name, title=title, description=description, required=required)


def make_prompt(
    name: str, title: str, description: str, arguments: tuple[types.PromptArgument, ...], write: Writer
) -> Prompt:
    """A prompt of one message. Empty arguments are ignored, because forms send them for empty fields."""
    known = {entry.name for entry in arguments}

    async def render(params: types.GetPromptRequestParams, _: Context) -> types.GetPromptResult:
        given = {
            key: text for key, value in (params.arguments or {}).items() if (text := one_line(value.strip()))
        }
        for entry in arguments:
            if entry.required and entry.name not in given:
                raise MCPError(types.INVALID_PARAMS, f"prompt '{name}': the argument '{entry.name}' is empty")
        for key in given:
            if key not in known:
                takes = ", ".join(entry.name for entry in arguments)
                raise MCPError(
                    types.INVALID_PARAMS, f"prompt '{name}' has no argument '{key}'; it takes: {takes}"
                )
        content = types.TextContent(type="text", text=write(given))
        return types.GetPromptResult(
            description=description, messages=[types.PromptMessage(role="user", content=content)]
        )

    return Prompt(name=name, title=title, description=description, render=render, arguments=arguments)

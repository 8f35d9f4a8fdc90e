"""Helpers for writing the records of fixtures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from longwire.product.asking import form_request
from longwire.product.catalog import Call, Handler, Tool


def arguments(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def tool(name: str, run: Handler, schema: dict[str, Any] | None = None) -> Tool:
    description = f"A fixture of the conformance suite: {name.replace('_', ' ')}."
    return Tool(name, name.replace("_", " "), description, schema or arguments(), run, read_only=False)


def text(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)])


def form(message: str, required: tuple[str, ...] = (), **properties: dict[str, Any]) -> types.ElicitRequest:
    """A request for a form that people fill in."""
    return form_request(message, form_schema(required, **properties))


def form_schema(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    """The fields of a form."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema


def needed(**requests: types.InputRequest) -> types.InputRequiredResult:
    """The result of a call that needs input first."""
    return types.InputRequiredResult(input_requests=requests)


def filled(response: types.InputResponse | None, name: str) -> Any:
    """What somebody wrote into the form, or None."""
    if isinstance(response, types.ElicitResult) and response.action == "accept":
        return (response.content or {}).get(name)
    return None


def said(response: types.InputResponse | None) -> str | None:
    """What the model said, or None."""
    if isinstance(response, types.CreateMessageResult) and isinstance(response.content, types.TextContent):
        return response.content.text
    return None


def responses(call: Call | types.GetPromptRequestParams) -> Mapping[str, types.InputResponse]:
    params = call.input if isinstance(call, Call) else call
    return params.input_responses or {}


def require(call: Call, name: str) -> None:
    """MCPError unless the client declares the capability."""
    capabilities = call.context.session.client_capabilities
    if getattr(capabilities, name, None) is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"this needs a client that declares '{name}'",
            {"requiredCapabilities": {name: {}}},
        )

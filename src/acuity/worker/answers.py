"""What handlers return, as the protocol's results."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import mcp_types as types
import pydantic_core
from pydantic import BaseModel

from acuity.errors import ToolError
from acuity.mcp.catalog import Answer
from acuity.mcp.results import to_text
from acuity.text import quoted

_CONTENT: Final = (
    types.TextContent,
    types.ImageContent,
    types.AudioContent,
    types.ResourceLink,
    types.EmbeddedResource,
)
_JSON: Final = "application/json"
_TEXT: Final = "text/plain"
_BYTES: Final = "application/octet-stream"


def tool_answer(value: Any) -> Answer:
    """The result of a tool: text, a document, content of the protocol, or any value of JSON."""
    if isinstance(value, str):
        return types.CallToolResult(content=[types.TextContent(type="text", text=value)])
    if isinstance(value, types.CallToolResult | types.InputRequiredResult):
        return value
    if value is None:
        return types.CallToolResult(content=[])
    if isinstance(value, _CONTENT):
        return types.CallToolResult(content=[value])
    if isinstance(value, list) and value and all(isinstance(one, _CONTENT) for one in value):
        return types.CallToolResult(content=value)
    plain = _plain(value)
    return plain if isinstance(plain, dict) else {"result": plain}


def resource_answer(uri: str, mime_type: str | None, value: Any) -> types.ReadResourceResult:
    """The content of a resource: text, bytes, or any value of JSON."""
    if isinstance(value, types.ReadResourceResult):
        return value
    content: types.TextResourceContents | types.BlobResourceContents
    if isinstance(value, bytes):
        blob = base64.b64encode(value).decode()
        content = types.BlobResourceContents(uri=uri, mime_type=mime_type or _BYTES, blob=blob)
    elif isinstance(value, str):
        content = types.TextResourceContents(uri=uri, mime_type=mime_type or _TEXT, text=value)
    else:
        text = to_text(_plain(value))
        content = types.TextResourceContents(uri=uri, mime_type=mime_type or _JSON, text=text)
    return types.ReadResourceResult(contents=[content])


def prompt_answer(description: str, value: Any) -> types.GetPromptResult:
    """The messages of a prompt: a text of the user, or messages of the protocol."""
    if isinstance(value, types.GetPromptResult):
        return value
    given = value if isinstance(value, list) else [value]
    messages = [one if isinstance(one, types.PromptMessage) else _said(one) for one in given]
    return types.GetPromptResult(description=description, messages=messages)


def method_answer(value: Any) -> BaseModel | dict[str, Any] | None:
    """The result of a method of one's own: an object, or None for an empty one."""
    if value is None or isinstance(value, BaseModel):
        return value
    plain = _plain(value)
    if not isinstance(plain, dict):
        raise ToolError(f"the handler returned {quoted(value)}: a result should be an object")
    return plain


def _said(value: Any) -> types.PromptMessage:
    if not isinstance(value, str):
        raise ToolError(f"a prompt returned {quoted(value)}: use text or PromptMessage")
    return types.PromptMessage(role="user", content=types.TextContent(type="text", text=value))


def _plain(value: Any) -> Any:
    """A value of JSON, made of models, dataclasses, sets, dates and so on."""
    if isinstance(value, Mapping) and not isinstance(value, dict):
        value = dict(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | list | tuple):
        value = list(value)
    try:
        return pydantic_core.to_jsonable_python(value, by_alias=True, inf_nan_mode="null")
    except ValueError as error:
        raise ToolError(f"the handler returned {quoted(value)}, which JSON can't hold: {error}") from error

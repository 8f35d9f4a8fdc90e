"""Makes the protocol's results of the values that handlers return."""

from __future__ import annotations

import base64
from typing import Any, Final

import mcp_types as types
import pydantic_core
from pydantic import BaseModel, ValidationError

from longwire.contract.writing import json_text
from longwire.product.catalog import Answer
from longwire.product.results import answer, to_text
from longwire.text import quoted
from longwire.worker.faults import HandlerFault

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


def protocol_answer(value: Any, *, texts: bool) -> Answer | None:
    """A result that is no document: the protocol's own types, and text or nothing if `texts`."""
    if isinstance(value, types.CallToolResult | types.InputRequiredResult):
        return value
    if isinstance(value, _CONTENT):
        return types.CallToolResult(content=[value])
    if isinstance(value, list | tuple) and any(isinstance(one, _CONTENT) for one in value):
        if all(isinstance(one, (*_CONTENT, str)) for one in value):
            blocks = [_text(one) if isinstance(one, str) else one for one in value]
            return types.CallToolResult(content=blocks)
        raise HandlerFault("the handler returned content and other values in one list: use content and text")
    if texts and isinstance(value, str):
        return types.CallToolResult(content=[_text(value)])
    if texts and value is None:
        return types.CallToolResult(content=[])
    return None


def documented(value: Any, wraps: bool) -> Answer:
    """A value of JSON as a result: structured, inside of `result` if `wraps`, and as text."""
    if not wraps:
        return answer(value)
    words = value if isinstance(value, str) else to_text(value)
    return types.CallToolResult(content=[_text(words)], structured_content={"result": value})


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
        text = to_text(plain(value))
        content = types.TextResourceContents(uri=uri, mime_type=mime_type or _JSON, text=text)
    return types.ReadResourceResult(contents=[content])


def prompt_answer(description: str, value: Any) -> types.GetPromptResult:
    """The messages of a prompt: a text of the user, or messages of the protocol."""
    if isinstance(value, types.GetPromptResult):
        return value
    given = value if isinstance(value, list | tuple) else [value]
    return types.GetPromptResult(description=description or None, messages=[_said(one) for one in given])


def method_answer(value: Any) -> BaseModel | dict[str, Any] | None:
    """The result of a method of one's own: an object, or None for an empty one."""
    if value is None or isinstance(value, BaseModel):
        return value
    found = plain(value)
    if not isinstance(found, dict):
        raise HandlerFault(f"the handler returned {quoted(value)}: a result should be an object")
    return found


def _said(value: Any) -> types.PromptMessage:
    if isinstance(value, types.PromptMessage):
        return value
    if isinstance(value, str):
        return types.PromptMessage(role="user", content=_text(value))
    try:
        given = {**value, "content": _block(value["content"])}
        return types.PromptMessage.model_validate(given, by_name=False)
    except (TypeError, KeyError, ValidationError):
        raise HandlerFault(
            f"a prompt returned {quoted(value)}: use text, PromptMessage, "
            'or {"role": "user" or "assistant", "content": text}'
        ) from None


def _block(content: Any) -> Any:
    return {"type": "text", "text": content} if isinstance(content, str) else content


def _text(text: str) -> types.TextContent:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise HandlerFault(f"the handler returned text that UTF-8 can't hold: {error}") from None
    return types.TextContent(type="text", text=text)


def plain(value: Any) -> Any:
    """A value of JSON, made of models, dataclasses, sets, dates and so on."""
    try:
        found = pydantic_core.to_jsonable_python(value, by_alias=True, inf_nan_mode="null")
        json_text(found)  # half of a surrogate pair is text to Python alone
        return found
    except (ValueError, TypeError) as error:
        raise HandlerFault(f"the handler returned {quoted(value)}, which JSON can't hold: {error}") from error

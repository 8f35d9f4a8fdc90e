"""Makes the protocol's results of the values that handlers return, and holds those of tools to a schema."""

from __future__ import annotations

import base64
import types as python_types
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints, is_typeddict

import mcp_types as types
import pydantic_core
import typing_extensions
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError

from longwire.contract.writing import json_text
from longwire.product.catalog import Answer
from longwire.product.results import answer, to_text
from longwire.product.schema_checks import schema_check
from longwire.text import quoted
from longwire.worker.faults import HandlerFault
from longwire.worker.signatures import Function, without_titles

_CONTENT: Final = get_args(types.ContentBlock)
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
    else:
        text, kind = (value, _TEXT) if isinstance(value, str) else (to_text(plain(value)), _JSON)
        content = types.TextResourceContents(uri=uri, mime_type=mime_type or kind, text=text)
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


# ---- what a tool returns ----------------------------------------------------------------------------

_TEXTS: Final = frozenset({str, type(None)})
_UNIONS: Final = frozenset({Union, python_types.UnionType})
_PROTOCOL: Final = "mcp_types"  # the module of content and results that are sent as they are


class Returns(NamedTuple):
    """The form of a tool's results."""

    schema: dict[str, Any] | None = None  # None: any
    wraps: bool = False  # its value is the member `result` of the document

    def answer(self, what: str, value: Any) -> Answer:
        """A value as the result of a call; raises HandlerFault."""
        found = protocol_answer(value, texts=self.schema is None)
        if found is not None:
            return found
        made = plain(value)
        if self.schema is None:
            return documented(made, not isinstance(made, dict))
        document = {"result": made} if self.wraps else made
        check = schema_check(self.schema)
        is_right = isinstance(document, dict) and check.is_surely_right(document)
        if not is_right and (fault := check.fault(document)) is not None:
            raise HandlerFault(f"{what} returned a value that doesn't fit its output schema: {fault}")
        return documented(made, self.wraps)


def returns_of(function: Function, given: Mapping[str, Any] | None) -> Returns:
    """The form of a handler's results, by its author's schema or else by its annotation."""
    if given is not None:
        return Returns(dict(given))
    hint = get_type_hints(function, include_extras=True).get("return", Any)
    if _is_free(hint):
        return Returns()
    try:
        schema = without_titles(_schema(hint))
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError):
        return Returns()  # it is sent as well as can be
    if _is_object(schema):
        return Returns({"type": "object", **schema})
    definitions = schema.pop("$defs", None)
    wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return Returns(wrapped if definitions is None else {**wrapped, "$defs": definitions}, wraps=True)


def _schema(hint: Any) -> dict[str, Any]:
    if is_typeddict(hint):  # before Python 3.12 pydantic takes those of typing_extensions alone
        typed_dict: Any = typing_extensions.TypedDict
        hint = typed_dict(hint.__name__, get_type_hints(hint, include_extras=True), total=hint.__total__)
    found: dict[str, Any] = TypeAdapter(hint).json_schema(mode="serialization")
    return found


def _is_free(hint: Any) -> bool:
    """Whether values of the type are no document: texts, content of the protocol, or anything at all."""
    if hint is Any or hint in (list, tuple, dict, object, bytes):
        return True
    if get_origin(hint) in _UNIONS:
        members = get_args(hint)
        return all(member in _TEXTS for member in members) or any(_is_content(one) for one in members)
    return hint in _TEXTS or _is_content(hint)


def _is_content(hint: Any) -> bool:
    """Whether a type of the protocol, or Any in a list, is in it."""
    if hint is Any:
        return True
    if get_origin(hint) in (list, tuple) or get_origin(hint) in _UNIONS:
        return any(_is_content(member) for member in get_args(hint))
    return str(getattr(hint, "__module__", "")).partition(".")[0] == _PROTOCOL


def _is_object(schema: Mapping[str, Any]) -> bool:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return bool(schema.get("$defs", {}).get(name, {}).get("type") == "object")
    return schema.get("type") == "object"

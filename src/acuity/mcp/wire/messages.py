"""Texts from a wire turned into messages, or into the error that answers them. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import mcp_types as types
import pydantic_core
from mcp.shared.dispatcher import as_request_id
from pydantic import BaseModel, ValidationError

from acuity.mcp.wire.message_bounds import TOO_LONG_ID, excess, is_id_too_long

Message: TypeAlias = (
    types.JSONRPCRequest | types.JSONRPCNotification | types.JSONRPCResponse | types.JSONRPCError
)

_ID_TYPES: Final = frozenset({int, str})
_BATCH: Final = "batches are not supported: send one message at a time"
_SPACE: Final = b" \t\r\n"
_WRONG: Final = {"id": "should be an integer or a string"}  # where the models' words don't help
_TOO_DEEP: Final = "recursion limit"  # as the JSON parser words it; its limit is about 200 levels


class Refused(ValueError):
    """A text that is no message: the error to answer it with."""

    def __init__(self, code: int, reason: str, request_id: types.RequestId | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.request_id = request_id

    def answer(self) -> types.JSONRPCError:
        return error_message(self.code, self.reason, self.request_id)


def error_message(code: int, reason: str, request_id: types.RequestId | None = None) -> types.JSONRPCError:
    """An error on the wire; without an id it answers something that had none to read."""
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=reason))


def parse(text: bytes) -> Message:
    """The message in a text; Refused says why there is none."""
    _refuse_batch(text)
    document = _document(text)
    if not isinstance(document, dict):
        raise Refused(types.INVALID_REQUEST, "a message should be a JSON object")
    _check_bounds(document, text)
    return _message(document)


@dataclass(slots=True)
class PlainRequest:
    """A request without the SDK's model of one, which takes longer to make than the rest of its parsing."""

    id: types.RequestId
    method: str
    params: dict[str, Any] | None


def parse_request(text: bytes) -> PlainRequest | Message:
    """The message in a text, as parse() has it; a request that is as it should be is a plain one."""
    _refuse_batch(text)
    try:
        document = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError:
        return parse(text)  # which says what is wrong
    if (
        type(document) is dict
        and document.get("jsonrpc") == "2.0"
        and type(method := document.get("method")) is str
        and "id" in document
        and type(request_id := document["id"]) in _ID_TYPES
        and ((params := document.get("params")) is None or type(params) is dict)
    ):
        _check_bounds(document, text)
        return PlainRequest(request_id, method, params)
    return parse(text)


def encode(message: Message) -> bytes:
    """A message as one line of JSON, without the line's end."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def progress_params(
    token: types.ProgressToken, progress: float, total: float | None, message: str | None
) -> dict[str, Any]:
    """The params of a progress notification; unknown values are left out."""
    given = {"total": total, "message": message}
    said = {name: value for name, value in given.items() if value is not None}
    return {"progressToken": token, "progress": progress, **said}


def _refuse_batch(text: bytes) -> None:
    """Refuse an array by its first byte: parsing a long one would take long."""
    first = text[:1]
    if first == b"[" or (first.isspace() and text.lstrip(_SPACE)[:1] == b"["):
        raise Refused(types.INVALID_REQUEST, _BATCH)


def _check_bounds(document: dict[str, Any], text: bytes) -> None:
    request_id = document.get("id")
    if is_id_too_long(request_id):
        raise Refused(types.INVALID_REQUEST, TOO_LONG_ID)  # without the id, which is too long to repeat
    if (problem := excess(document, len(text))) is not None:
        known = as_request_id(request_id) if "method" in document else None
        raise Refused(types.INVALID_REQUEST, problem, known)


def _document(text: bytes) -> Any:
    try:
        return pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise Refused(types.PARSE_ERROR, _why_unreadable(text, str(error))) from None


def _why_unreadable(text: bytes, reason: str) -> str:
    if _TOO_DEEP in reason:
        return "the message is nested too deeply"
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"the message is not UTF-8: byte {error.start} can't be read"
    return f"the message is not JSON: {reason}"


def _message(document: dict[str, Any]) -> Message:
    # The keys decide what it is, not which model happens to fit: a request whose id is null would pass
    # as a notification and never be answered.
    kind: type[BaseModel]
    if "method" in document:
        kind = types.JSONRPCRequest if "id" in document else types.JSONRPCNotification
    elif "result" in document:
        kind = types.JSONRPCResponse
    elif "error" in document:
        kind = types.JSONRPCError
    else:
        raise Refused(types.INVALID_REQUEST, "the message has no 'method'", as_request_id(document.get("id")))
    try:
        message = kind.model_validate(document, by_name=False)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        field = str(wrong["loc"][0]) if wrong["loc"] else "message"
        raise Refused(
            types.INVALID_REQUEST,
            f"the message's '{field}' is wrong or missing: {_WRONG.get(field, wrong['msg'])}",
            as_request_id(document.get("id")) if "method" in document else None,
        ) from None
    assert isinstance(message, Message)
    return message

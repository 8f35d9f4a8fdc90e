"""Texts from a wire turned into messages, or into the error that answers them. No I/O.

A message's parts are bounded, so that none keeps the server busy or is repeated at length. The number of
values, and that of their digits, is checked before any of them is built; the others before anything else
looks at the message, at the cost of a few lengths for a short one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import mcp_types as types
import pydantic_core
from mcp.shared.dispatcher import as_request_id
from pydantic import BaseModel, ValidationError

from longwire.foreign_json import has_longer_number, has_more_values, members, parse_strictly
from longwire.wire.http.request import Answer, HeaderList
from longwire.wire.replies import JSON, error_payload

LONGEST_METHOD: Final = 256  # characters
LONGEST_ID: Final = 1024  # characters
LARGEST_ID: Final = 1 << 63  # and not reached
MOST_ARGUMENTS: Final = 1000
MOST_VALUES: Final = 10_000  # of all lists and objects together; to build and look at more takes too long
MOST_DIGITS: Final = 400  # in a row; a double has 309 before its point
SURELY_FEW: Final = 2 * MOST_VALUES  # bytes of a text that has no room for more
MOST_LEVELS: Final = 50  # of lists and objects inside each other
_LONGEST: Final = {"name": 1024, "cursor": 1024, "uri": 8192}  # characters of a parameter
_SURELY_SHORT: Final = min(*_LONGEST.values(), MOST_ARGUMENTS)  # bytes of a text with no room for longer ones

TOO_LONG_ID: Final = (
    f"the message's 'id' should have at most {LONGEST_ID} characters, or be an integer of 64 bits"
)
TOO_MANY: Final = f"the message has more than {MOST_VALUES} values in its lists and objects: send fewer"
TOO_LONG_NUMBER: Final = (
    f"the message has a number with more than {MOST_DIGITS} digits in a row: send a shorter one"
)
TOO_DEEP: Final = f"the message nests lists and objects deeper than {MOST_LEVELS} levels: send it flatter"


def _excess(document: dict[str, Any], text: bytes) -> str | None:
    """A sentence about an excess in a message: characters, arguments, levels, a member twice; None: none."""
    method = document.get("method")
    if type(method) is str and len(method) > LONGEST_METHOD:
        return f"the method has {len(method)} characters: {LONGEST_METHOD} are the most"
    if len(text) > _SURELY_SHORT and (problem := _long_parameter(document.get("params"))) is not None:
        return problem
    try:
        kept = _members(document, MOST_LEVELS)
        # A text has a colon for each member, and others only in strings.
        if kept == text.count(b":") or kept == members(text):
            return None
        parse_strictly(text)
    except RecursionError:
        return TOO_DEEP
    except ValueError as error:  # that names the member
        return f"{error}: send it once"
    return None


def _long_parameter(params: Any) -> str | None:
    if type(params) is not dict:
        return None
    for name, longest in _LONGEST.items():
        value = params.get(name)
        if type(value) is str and len(value) > longest:
            return f"the parameter '{name}' has {len(value)} characters: {longest} are the most"
    arguments = params.get("arguments")
    if type(arguments) is dict and len(arguments) > MOST_ARGUMENTS:
        return f"the call has {len(arguments)} arguments: {MOST_ARGUMENTS} are the most"
    return None


def _members(values: dict[str, Any] | list[Any], levels: int) -> int:
    """How many members the objects here have together; raises RecursionError if they nest too deeply."""
    if not levels:
        raise RecursionError
    count = 0
    if type(values) is dict:
        count, values = len(values), list(values.values())
    for value in values:
        if type(value) is dict or type(value) is list:
            count += _members(value, levels - 1)
    return count


Message: TypeAlias = (
    types.JSONRPCRequest | types.JSONRPCNotification | types.JSONRPCResponse | types.JSONRPCError
)

_ID_TYPES: Final = frozenset({int, str})
_BATCH: Final = "batches are not supported: send one message at a time"
_SPACE: Final = b" \t\r\n"
_WRONG: Final = {"id": "should be an integer or a string"}  # where the models' words don't help
_RECURSION: Final = "recursion limit"  # as the JSON parser words it; its limit is about 200 levels
_LOOKED_AT: Final = 2048  # bytes
_SHORT: Final = rb'\s*"(?:jsonrpc|method)"\s*:\s*"[\w/.]*"\s*'  # the members that are beside an id
_ID: Final = rb'\s*"id"\s*:\s*(\d{1,18}|"[\w-]{1,128}")\s*'
_FIRST: Final = re.compile(rb"\s*\{(?:%b,)*%b," % (_SHORT, _ID))
_LAST: Final = re.compile(rb"\},(?:%b,)*%b(?:,%b)*\}\s*$" % (_SHORT, _ID, _SHORT))  # behind the params


@dataclass(eq=False)
class RefusedMessage(ValueError):
    """A message that is refused, or a text that is none: the error to answer it with, and how over HTTP."""

    code: int
    reason: str
    request_id: types.RequestId | None = None
    status: int = 400
    counted: str = "body"  # the reason, for counters; empty where it is not counted
    data: Any = None
    headers: HeaderList = ()

    def __post_init__(self) -> None:
        super().__init__(self.reason)

    @property
    def payload(self) -> bytes:
        """The error as it is sent; without an id it answers something that had none to read."""
        return error_payload(self.request_id, self.code, self.reason, self.data)

    @property
    def answer(self) -> Answer:
        """The same over HTTP."""
        return self.status, self.payload, JSON, self.headers


def parse(text: bytes) -> Message:
    """The message in a text; RefusedMessage says why there is none."""
    return _message(_document(text))


@dataclass(slots=True)
class PlainRequest:
    """A request without the SDK's model of one, which takes longer to make than the rest of its parsing."""

    id: types.RequestId
    method: str
    params: dict[str, Any] | None


Incoming: TypeAlias = PlainRequest | Message


def parse_request(text: bytes) -> Incoming:
    """The message in a text, as parse() has it; a request that is as it should be is a plain one."""
    document = _document(text)
    if (
        document.get("jsonrpc") == "2.0"
        and type(method := document.get("method")) is str
        and "id" in document
        and type(request_id := document["id"]) in _ID_TYPES
        and ((params := document.get("params")) is None or type(params) is dict)
    ):
        return PlainRequest(request_id, method, params)
    return _message(document)


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


def _document(text: bytes) -> dict[str, Any]:
    """The object in a text, within its bounds. An array is refused by its first byte, too many values by
    their commas and too long numbers by their digits: building them would take long."""
    if text[:1] != b"{" and text.lstrip(_SPACE)[:1] == b"[":
        raise RefusedMessage(types.INVALID_REQUEST, _BATCH)
    if len(text) > SURELY_FEW and has_more_values(text, MOST_VALUES):
        raise RefusedMessage(types.INVALID_REQUEST, TOO_MANY, _id_in(text))
    if has_longer_number(text, MOST_DIGITS):
        raise RefusedMessage(types.INVALID_REQUEST, TOO_LONG_NUMBER, _id_in(text))
    try:
        document = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise RefusedMessage(types.PARSE_ERROR, _why_unreadable(text, str(error))) from None
    if type(document) is not dict:
        raise RefusedMessage(types.INVALID_REQUEST, "a message should be a JSON object")
    request_id = document.get("id")
    if (isinstance(request_id, str) and len(request_id) > LONGEST_ID) or (
        isinstance(request_id, int) and not -LARGEST_ID <= request_id < LARGEST_ID
    ):
        raise RefusedMessage(types.INVALID_REQUEST, TOO_LONG_ID)  # without the id, too long to repeat
    if (problem := _excess(document, text)) is not None:
        known = as_request_id(request_id) if "method" in document else None
        raise RefusedMessage(types.INVALID_REQUEST, problem, known)
    return document


def _id_in(text: bytes) -> types.RequestId | None:
    """The id of a request that is not parsed, if it is at the beginning or the end, as clients write it."""
    found = _FIRST.match(text[:_LOOKED_AT]) or _LAST.search(text[-_LOOKED_AT:])
    if found is None or b'"method"' not in text:
        return None
    return as_request_id(pydantic_core.from_json(found[1]))


def _why_unreadable(text: bytes, reason: str) -> str:
    if _RECURSION in reason:
        return TOO_DEEP
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"the message is not UTF-8: byte {error.start} can't be read"
    return f"the message is not JSON: {reason}"


def _message(document: dict[str, Any]) -> Message:
    # The keys decide what it is, not which model happens to fit: a request whose id is null would pass
    # as a notification and never be answered.
    kind: type[BaseModel]
    request_id = as_request_id(document.get("id"))
    if "method" in document:
        kind = types.JSONRPCRequest if "id" in document else types.JSONRPCNotification
    elif "result" in document:
        kind = types.JSONRPCResponse
    elif "error" in document:
        kind = types.JSONRPCError
    else:
        raise RefusedMessage(types.INVALID_REQUEST, "the message has no 'method'", request_id)
    try:
        message = kind.model_validate(document, by_name=False)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        field = str(wrong["loc"][0]) if wrong["loc"] else "message"
        reason = f"the message's '{field}' is wrong or missing: {_WRONG.get(field, wrong['msg'])}"
        request_id = request_id if "method" in document else None
        raise RefusedMessage(types.INVALID_REQUEST, reason, request_id) from None
    assert isinstance(message, Message)
    return message
